"""One covariate varies, the others stay at typical values: what the curves of a report show."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.effects.covariates import Covariate as Covariate
from bayesvb.effects.covariates import covariate as known_covariate
from bayesvb.effects.covariates import crossed, held_value

from ..cells.numerals import numeral, significant
from .sampling import component_weights

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

GRID = 81
"""Points of a curve."""

MOST_LEVELS = 12
"""Levels of a covariate that are drawn: the most frequent."""

COARSE = 9
"""Points at which the covariates are compared before one is chosen."""

MOST_COMPARED = 60
"""Covariates that are compared."""

NAMED = 5
"""Covariates held fixed that a caption names."""


@dataclass(frozen=True)
class Profile:
    """Rows of new data in which one covariate varies.

    Attributes
    ----------
    covariate : Covariate
    values : list
        Its value in each row.
    frame : pandas.DataFrame
        The rows.
    fixed : str
        What the other covariates are held at, in words.
    """

    covariate: Covariate
    values: list[object]
    frame: pd.DataFrame
    fixed: str

    @property
    def x(self) -> Float[np.ndarray, " rows"]:
        """Places on the axis: the values, or 0, 1, 2, ... for levels."""
        if self.covariate.discrete:
            return np.arange(len(self.values), dtype=float)
        return np.array(self.values, dtype=float)


def covariate(frame: pd.DataFrame, name: str) -> Covariate:
    """A column as a covariate; of many levels the most frequent ones in their order."""
    return known_covariate(frame, name, most=MOST_LEVELS)


def profile(fit: AbstractFit, name: str, values: list[object] | None = None) -> Profile:
    """Rows in which one covariate takes these values, or those of a fine grid."""
    frame, names = fit.model.design.frame, fit.model.design.covariates
    one = covariate(frame, name)
    values = one.grid(GRID) if values is None else values
    held = {other: held_value(frame, other, centre="median") for other in names if other != name}
    rows = crossed(frame, {name: values}, held)[list(names)]
    return Profile(one, values, rows, _fixed(frame, held))


def _fixed(frame: pd.DataFrame, held: Mapping[str, object]) -> str:
    if not held:
        return ""
    named = [f"{name} = {_value(value)}" for name, value in list(held.items())[:NAMED]]
    more = f" and {len(held) - NAMED} more" if len(held) > NAMED else ""
    return f"at {', '.join(named)}{more} (medians, or the most frequent value)"


def _value(value: object) -> str:
    if isinstance(value, bool | np.bool_):
        return numeral(bool(value))
    return numeral(float(value)) if isinstance(value, float | np.floating) else str(value)


def labels(values: list[object]) -> list[str]:
    """Values as labels of an axis or of rows; numbers with as many decimals as tell them apart."""
    numbers = [float(one) for one in values if isinstance(one, float | np.floating)]
    if len(numbers) < len(values) or not numbers:
        return [_value(value) for value in values]
    decimals = significant([float(np.ptp(numbers)) or numbers[0]], 3)
    while decimals and np.array_equal(np.round(numbers, decimals - 1), numbers):
        decimals -= 1
    return [numeral(one, decimals) for one in numbers]


Measure = Callable[["AbstractFit", pd.DataFrame, str], float]
"""Fit, rows and a response -> how much the predictive distributions of the rows differ."""


def most_moving(fit: AbstractFit, measure: Measure, response: str | None = None) -> str | None:
    """The covariate along which a measure of the predictive distributions changes most.

    None if there is no covariate, or nothing moves.
    """
    design = fit.model.design
    response = response or design.response_names[0]
    moved = {}
    for name in design.covariates[:MOST_COMPARED]:
        one = covariate(design.frame, name)
        rows = profile(fit, name, one.grid(COARSE))
        moved[name] = measure(fit, rows.frame, response)
    if not moved or max(moved.values()) < 1e-9:
        return None
    return str(max(moved, key=lambda name: moved[name]))


def weights_moved(fit: AbstractFit, frame: pd.DataFrame, response: str) -> float:
    """Largest change of a component's weight."""
    return float(np.ptp(component_weights(fit, frame), axis=1).max())


def quantiles_moved(fit: AbstractFit, frame: pd.DataFrame, response: str) -> float:
    """Change of the 5 %, 50 % and 95 % quantiles, relative to the median width between them."""
    found = fit.predictive(frame, response=response).quantile(np.array([0.05, 0.5, 0.95]))
    width = float(np.median(found[2] - found[0]))
    return float(np.ptp(found, axis=1).mean()) / width
