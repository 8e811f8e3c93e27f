"""Rows behind a curve: one covariate varies, the others are held, or averaged over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.argument_checks import check_choice
from bayesvb.data.frames import nearest
from bayesvb.distributions.row_averages import averaged_rows, averages_of
from bayesvb.effects.covariates import column_like, crossed, held_value, value_text
from bayesvb.effects.observed_rows import observed_rows
from bayesvb.errors import DataError
from bayesvb.results.groups import predictive_of_any_group
from bayesvb.results.limits import LIMITS

if TYPE_CHECKING:
    from bayesvb.distributions.base import AbstractRowDistribution
    from bayesvb.results.base import AbstractFit

OTHERS = ("average", "hold")
"""Treatment of the other covariates."""


@dataclass(frozen=True)
class CurveRows:
    """New rows for the values of a covariate, and how they are averaged.

    Attributes
    ----------
    frame : pandas.DataFrame
        Rows of the first value first.
    words : str
        Description of the other covariates; empty if there are none.
    n_each : int
        Rows of each value: 1 where the others are held.
    shares : array, shape (n_each,), optional
        Of each row in an average, by case weight; None where all count alike.
    """

    frame: pd.DataFrame
    words: str
    n_each: int = 1
    shares: Float[np.ndarray, " n"] | None = None

    def averaged(self, values: np.ndarray, axis: int = -1) -> np.ndarray:
        """Results at the rows, averaged over the rows of each value."""
        return averaged_rows(values, self.n_each, self.shares, axis)

    def predictive(self, fit: AbstractFit, response: str | None) -> AbstractRowDistribution:
        """Predictive distribution at each value; of a group that was not there, of any one."""
        predictive: AbstractRowDistribution = predictive_of_any_group(fit, self.frame, response)
        return averages_of(predictive, self.n_each, self.shares)


def curve_rows(
    fit: AbstractFit,
    along: str,
    values: Sequence[object],
    at: Mapping[str, object] | None,
    others: str | None,
) -> CurveRows:
    """Rows with these values of one covariate, and given values of the others.

    Parameters
    ----------
    fit : Fit
    along : str
    values : sequence
    at : mapping, optional
        Values of other covariates.
    others : {"average", "hold"}, optional
        Values of the remaining covariates: observed ones, over which is averaged, or typical ones.
        By default observed ones if single coefficients have no meaning, as in networks.

    Raises
    ------
    DataError
        If ``at`` names something else, or ``others`` is neither.
    """
    design, known = fit.model.design, fit.model.design.covariates
    if others is not None:
        check_choice("others", others, OTHERS)
    for name in at or {}:
        if name not in known or name == along:
            raise DataError(
                f"at= names {name!r}, which is not a covariate other than along={along!r}",
                hint=nearest(str(name), [other for other in known if other != along]),
            )
    given = {name: design.in_days(name, [value])[0] for name, value in (at or {}).items()}
    rest = [name for name in known if name != along and name not in given]
    if rest and (others == "average" or (others is None and not fit.named_draws.identified)):
        return _averages(fit, along, values, given)
    held = {
        name: given[name] if name in given else held_value(design, name, centre="mean")
        for name in known
        if name != along
    }
    return CurveRows(crossed(design.frame, {along: list(values)}, held), _words(held))


def _averages(
    fit: AbstractFit, along: str, values: Sequence[object], given: Mapping[str, object]
) -> CurveRows:
    """Every value in each row of a sample, whose rows count by their case weights."""
    rows = observed_rows(fit, LIMITS.printed_rows)
    frame = rows.frame_of(along, values)
    for name, value in given.items():
        frame[name] = column_like(frame[name], [value] * len(frame))
    chosen = rows.chosen
    which = f"all {len(chosen.at)}" if chosen.whole else f"{len(chosen.at)} of {chosen.n_all}"
    held = [_words(given)] if given else []
    words = ", ".join([*held, f"averages over {which} rows as observed"])
    return CurveRows(frame, words, len(chosen.at), rows.shares)


def _words(held: Mapping[str, object]) -> str:
    return ", ".join(f"{name} = {value_text(value)}" for name, value in held.items())
