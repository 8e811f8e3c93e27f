"""One covariate varies, the others are held or averaged over: what curves of a report show."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.data.parts import MEAN
from bayesvb.distributions.row_averages import averaged_rows, averages_of
from bayesvb.effects.covariates import Covariate as Covariate
from bayesvb.effects.covariates import covariate as known_covariate
from bayesvb.effects.covariates import crossed, held_value, quantiles
from bayesvb.effects.observed_rows import observed_rows
from bayesvb.engines.folds import DENSITY
from bayesvb.formula.group_columns import UNSEEN
from bayesvb.results.groups import predictive_of_any_group

from ..cells.names import called
from ..cells.numerals import counted, covariate_numeral, numeral, significant
from .sampling import choice_words, component_weights

if TYPE_CHECKING:
    from bayesvb.distributions.base import AbstractRowDistribution
    from bayesvb.formula.design import Design
    from bayesvb.results.base import AbstractFit

GRID = 81
"""Points of a curve."""

COARSER = 33
"""Points of a curve of averages over rows."""

AVERAGED = 200
"""Rows over which a curve is averaged."""

JUDGED = 40
"""Rows in which the covariates are compared before one is chosen."""

MOST_LEVELS = 12
"""Levels of a covariate that are drawn: the most frequent."""

COARSE = 9
"""Points at which the covariates are compared before one is chosen."""

USUAL = (0.1, 0.9)
"""Quantiles of a number between which covariates are compared."""

MOST_COMPARED = 60
"""Covariates that are compared."""

NAMED, LONGEST = 5, 90
"""Covariates held fixed that a caption names, and their signs in all."""


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
        Values of the other covariates, in words; empty if there are none.
    n_each : int
        Rows for each value, over which predictions are averaged: 1 where the others are held.
    shares : array, shape (n_each,), optional
        Of each row in an average, by case weight; None where all count alike.
    """

    covariate: Covariate
    values: list[object]
    frame: pd.DataFrame
    fixed: str
    n_each: int = 1
    shares: Float[np.ndarray, " n"] | None = None

    @property
    def x(self) -> Float[np.ndarray, " rows"]:
        """Places on the axis: the values, or 0, 1, 2, ... for levels."""
        if self.covariate.discrete:
            return np.arange(len(self.values), dtype=float)
        return np.array(self.values, dtype=float)

    def averaged(self, values: np.ndarray, axis: int = -1) -> np.ndarray:
        """Results at the rows, averaged over the rows of each value."""
        return averaged_rows(values, self.n_each, self.shares, axis)

    def moved(self, values: Float[np.ndarray, "quantities rows"]) -> Float[np.ndarray, " _"]:
        """Range of each quantity over the values of the covariate, averaged over rows."""
        each = np.ptp(values.reshape(len(values), -1, self.n_each), axis=1)
        return np.asarray(np.average(each, axis=1, weights=self.shares))

    def predictive(self, fit: AbstractFit, response: str | None = None) -> AbstractRowDistribution:
        """Predictive distribution at each value; of a group that was not there, of any one."""
        found: AbstractRowDistribution = predictive_of_any_group(fit, self.frame, response)
        return averages_of(found, self.n_each, self.shares)


def covariate(design: Design, name: str) -> Covariate:
    """A column as a covariate; of many levels the most frequent ones in their order."""
    return known_covariate(design, name, most=MOST_LEVELS)


def profile(fit: AbstractFit, name: str, values: list[object] | None = None) -> Profile:
    """Rows in which one covariate takes these values, by default a fine grid.

    The others stay at typical values. If single coefficients have no meaning, as in a network, each
    value is given to a sample of the rows instead, whose other covariates stay as observed (partial
    dependence).
    """
    design, names = fit.model.design, fit.model.design.covariates
    one = covariate(design, name)
    if len(names) > 1 and not fit.named_draws.identified:
        return _averages(fit, one, one.grid(COARSER) if values is None else values)
    values = one.grid(GRID) if values is None else values
    held = {other: held_value(design, other, centre="median") for other in names if other != name}
    rows = crossed(design.frame, {name: values}, held)[list(names)]
    return Profile(one, values, rows, _fixed(design, held) + _interactions(design, name, held))


def _averages(
    fit: AbstractFit, one: Covariate, values: list[object], most: int = AVERAGED
) -> Profile:
    """Every value in each row of a sample, whose rows count by their case weights."""
    averaged = observed_rows(fit, most)
    chosen = averaged.chosen
    n = choice_words(chosen) or f"all {counted(len(chosen.at), 'row')}"
    weighted = "" if averaged.shares is None else ", by case weight"
    return Profile(
        one,
        values,
        averaged.frame_of(one.name, values),
        f"as observed: averages over {n}{weighted}",
        len(chosen.at),
        averaged.shares,
    )


def _fixed(design: Design, held: Mapping[str, object]) -> str:
    if not held:
        return ""
    named = [f"{called(design, name)} = {_value(value)}" for name, value in held.items()]
    lengths = np.cumsum([len(text) for text in named])
    named = named[: max(int((lengths <= LONGEST).sum()), 1)][:NAMED]
    more = f" and {len(held) - len(named)} more" if len(held) > len(named) else ""
    any_group = "; a new group varies as groups do" if UNSEEN in held.values() else ""
    return f"at {', '.join(named)}{more} (medians, or the most frequent value{any_group})"


def _interactions(design: Design, name: str, held: Mapping[str, object]) -> str:
    """Words for fixed covariates on which the effect of this one depends, by a product."""
    products = [block.name.split(":") for block in design.term_blocks.get(MEAN, ())]
    factors = [set(names) for names in products if name in names]
    others = [called(design, other) for other in held if any(other in names for names in factors)]
    if not others:
        return ""
    return f"; the effect of {called(design, name)} depends on {', '.join(others[:NAMED])}"


def _value(value: object) -> str:
    if isinstance(value, bool | np.bool_):
        return numeral(bool(value))
    return labels([value])[0] if isinstance(value, float | np.floating) else str(value)


def labels(values: list[object]) -> list[str]:
    """Values as labels of an axis or of rows; numbers with as many decimals as distinguish them."""
    numbers = [float(one) for one in values if isinstance(one, float | np.floating)]
    if len(numbers) < len(values) or not numbers:
        return [_value(value) for value in values]
    decimals = significant([float(np.ptp(numbers)) or numbers[0]], 3)
    while decimals and np.array_equal(np.round(numbers, decimals - 1), numbers):
        decimals -= 1
    write = covariate_numeral(numbers)
    return [write(one, decimals) for one in numbers]


def compared(design: Design) -> tuple[str, ...]:
    """Covariates, of which the one with the largest change is shown.

    Groups and exposures, which only an offset reads, are compared if they are alone.
    """
    known = design.groupings | design.exposures
    others = tuple(name for name in design.covariates if name not in known)
    return (others or design.covariates)[:MOST_COMPARED]


Measure = Callable[["AbstractFit", Profile, str], float]
"""Fit, rows and a response -> how much the predictive distributions of the rows differ."""


def most_moving(
    fit: AbstractFit,
    measure: Measure,
    response: str | None = None,
    *,
    without: Collection[str] = (),
) -> str | None:
    """The covariate along which a measure of the predictive distributions changes most.

    The others stay as observed: if the effects of two covariates depend on one another, neither is
    judged at a typical row. None without a covariate, or no change.

    Parameters
    ----------
    fit : Fit
    measure : callable
    response : str, optional
        By default the first.
    without : collection of str
        Covariates that are chosen last.
    """
    design = fit.model.design
    response = response or design.response_names[0]
    moved = {}
    names = compared(design)
    for name in [name for name in names if name not in without] or names:
        moved[name] = moved_along(fit, name, measure, response)
    if not moved or max(moved.values()) < 1e-9:
        return None
    return str(max(moved, key=lambda name: moved[name]))


def moved_along(fit: AbstractFit, name: str, measure: Measure, response: str) -> float:
    """Measure of the predictive distributions in a sample of rows along one covariate."""
    one = covariate(fit.model.design, name)
    rows = _averages(fit, one, _usual_values(fit.model.design, one), JUDGED)
    return measure(fit, rows, response)


def _usual_values(design: Design, one: Covariate) -> list[object]:
    """Levels, or values between the quantiles that contrasts compare: extremes decide nothing."""
    low, high = (0.0, 0.0) if one.discrete else quantiles(design, one.name, USUAL).tolist()
    return list(np.linspace(low, high, COARSE)) if low < high else one.grid(COARSE)


def weights_moved(fit: AbstractFit, rows: Profile, response: str) -> float:
    """Largest change of a component's weight, on average over rows."""
    return float(rows.moved(component_weights(fit, rows.frame)).max())


def means_moved(fit: AbstractFit, rows: Profile, response: str) -> float:
    """Range of the mean, on average over rows."""
    mean = fit.predictive(rows.frame, response=response).mean()
    return float(rows.moved(np.asarray(mean)[None])[0])


def quantiles_moved(fit: AbstractFit, rows: Profile, response: str) -> float:
    """Change of the 5%, 50% and 95% quantiles, relative to the median width between them.

    Quantiles of counts and events jump or stay: for these the mean and the standard deviation.
    """
    predictive: AbstractRowDistribution = fit.predictive(rows.frame, response=response)
    if fit.model.response.is_discrete:
        moments = np.stack([predictive.mean(), predictive.sd()])
        return float(rows.moved(moments).mean()) / float(np.median(moments[1]))
    found = predictive.quantile(np.array([0.05, 0.5, 0.95]))
    width = float(np.median(found[2] - found[0]))
    return float(rows.moved(found).mean()) / width


def rough_probabilities(fit: AbstractFit, rows: pd.DataFrame) -> Float[np.ndarray, "rows classes"]:
    """Class probabilities for pictures and choices, with an error of about 0.001 in a row."""
    rough = replace(fit, core=fit.core.within(DENSITY))
    return np.asarray(rough.predict(rows, kind="probability").to_numpy())
