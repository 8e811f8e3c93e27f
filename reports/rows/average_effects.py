"""Average effects of one covariate over the observed rows: the numbers of the table of effects.

The first sentence of a report shows one line of that table, so both are computed here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from scipy.special import ndtri

from bayesvb.data.parts import SIGMA
from bayesvb.distributions.draw_summaries import summarised
from bayesvb.distributions.intervals import PROB
from bayesvb.effects.average_predictions import average_predictions, row_predictions
from bayesvb.effects.covariates import is_number, is_numeric, levels_from_reference, quantiles
from bayesvb.effects.observed_rows import ObservedRows, observed_rows
from bayesvb.results.base import AbstractFit, linear_dof
from bayesvb.results.named_draws import count
from bayesvb.results.summary import empty_components

from ..cells.numerals import counted, significant
from .profiles import MOST_LEVELS, Covariate, Profile, compared, covariate
from .sampling import choice_words
from .unseen import unseen_shares

if TYPE_CHECKING:
    from bayesvb.formula.design import Design

ROWS = 1000
"""Most rows over which effects are averaged: the standard error of the average is then 3% of the
standard deviation of the effect between rows."""

PROBABILITIES = 4e7
"""Draws x components x levels x rows of all averages, two seconds of a processor."""

FEWEST_ROWS = 100
"""Rows that are averaged whatever it takes."""

ENDS = (0.1, 0.9)
"""Quantiles of a numeric covariate that are compared."""

ROWS_AT_ONCE = 100
"""Rows whose draws are held in memory together."""

FEWEST_SHARE = 0.01
"""Share of rows from which their sign is stated."""

Reach = Literal["all", "shortened", "extrapolated"]
"""Whether a contrast goes as far as it should, less far, or to values without rows nearby."""

MOST_FAR = 1.0 / 3.0
"""Share of the averaged rows that may be extrapolations at an end of a contrast."""

BETWEEN = 17
"""Values between the ends at which extrapolations are looked for."""

SHORTEST = 0.25
"""Part of a contrast that is worth stating."""

MOST_EXPLAINED, FIFTHS = 0.5, 5
"""Share of the variance of the changes of rows from which a covariate is named as their reason, and
groups into which a number is divided for it."""

CONSTANT = 0.01
"""Relative change of a standard deviation below which the model keeps it constant by construction.

Components that nearly coincide leave less than this.
"""


@dataclass(frozen=True)
class Change:
    """Average change of one quantity of the response between two values of a covariate.

    Attributes
    ----------
    target : str
        ``"mean"``, ``"sd"`` or ``"probability"``.
    level : str
        Level of a categorical response; empty for a numeric one.
    estimate, lower, upper : float
        Centre of the draws and ends of their interval, as ``bvb.effects.comparisons`` has them.
    draws : array, shape (draws,)
    """

    target: str
    level: str
    estimate: float
    lower: float
    upper: float
    draws: Float[np.ndarray, " draws"]

    @property
    def is_clear(self) -> bool:
        """Whether the interval excludes zero."""
        return not self.lower <= 0.0 <= self.upper

    @property
    def decimals(self) -> int:
        """Decimals that show the width of the interval to two significant digits."""
        return significant([self.upper - self.lower or abs(self.estimate)], 2)


def rows_averaged(fit: AbstractFit) -> ObservedRows:
    """Observed rows over which a report averages, each by its case weight."""
    design = fit.model.design
    each = count(fit.draws) * fit.core.n_components * max(len(fit.model.response.level_names), 1)
    n_averages = sum(_n_compared(design, name) for name in compared(design))
    return observed_rows(fit, int(np.clip(PROBABILITIES / (each * n_averages), FEWEST_ROWS, ROWS)))


def rows_words(fit: AbstractFit, rows: ObservedRows) -> str:
    """Words for the rows that are averaged."""
    which = choice_words(rows.chosen) or f"the {counted(len(rows.chosen.at), 'row')}"
    return which if rows.shares is None else f"{which}, by case weight"


def targets_of(fit: AbstractFit) -> tuple[str, ...]:
    """Quantities of the response that a report compares."""
    return fit.model.response.targets


def _n_compared(design: Design, name: str) -> int:
    """Values of a covariate that are compared with one another."""
    return len(covariate(design, name).values) if compares_levels(design, name) else 2


def compares_levels(design: Design, name: str) -> bool:
    """Whether each value of a covariate is compared with the first, as of levels, or of 0 and 1."""
    one = covariate(design, name)
    return one.discrete and (len(one.values) <= 2 or not is_number(design, name))


def compared_values(fit: AbstractFit, name: str) -> list[object]:
    """Values of a covariate that are compared: levels, or two round values of a number.

    They are near its 10% and 90% quantiles, and observed ones of a number with few values; where
    they coincide, the extremes are compared.
    """
    design = fit.model.design
    one = covariate(design, name)
    if compares_levels(design, name):
        return levels_from_reference(design, name, most=MOST_LEVELS)
    least, low, high, most = quantiles(design, name, (0.0, *ENDS, 1.0)).tolist()
    if one.discrete:
        known = [float(str(value)) for value in one.values]
        low, high = (min(known, key=lambda value: abs(value - end)) for end in (low, high))
        return [low, high] if low < high else [known[0], known[-1]]
    if low == high:
        return list(one.values)
    if name in design.dates:
        return [low, high]
    return rounded_ends(least, low, high, most, is_whole=holds_whole_numbers(design, name))


def holds_whole_numbers(design: Design, name: str) -> bool:
    """Whether all values of a number are whole, as of counts and years."""
    values = design.frame[name].to_numpy(dtype=float)
    return bool((values == np.round(values)).all())


def rounded_ends(
    least: float, low: float, high: float, most: float, *, is_whole: bool = False
) -> list[object]:
    """Two values rounded to a step of 1, 2 or 5 times a power of ten, inside the observed range.

    The step is at most a fifth of their distance, which rounding changes by at most a fifth; of
    whole numbers it is at least 1.

    Examples
    --------
    >>> rounded_ends(20.0, 37.0, 98.0, 160.0), rounded_ends(0.0, 0.031, 0.179, 0.18)
    ([40.0, 100.0], [0.04, 0.18])
    """
    step, decimals = _round_step(high - low, is_whole=is_whole)
    near = [round(round(end / step) * step, decimals) for end in (low, high)]
    if near[0] == near[1]:  # whole numbers of which nearly all rows have one
        return [low, high]
    return [
        value if least <= value <= most else end
        for value, end in zip(near, (low, high), strict=True)
    ]


def _inner_ends(low: float, high: float, *, is_whole: bool = False) -> list[object]:
    """Two round values, neither outside of the range.

    Examples
    --------
    >>> _inner_ends(37.0, 98.0)
    [40.0, 90.0]
    """
    step, decimals = _round_step(high - low, is_whole=is_whole)
    within = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    if within[0] >= within[1]:
        return [low, high]
    return [round(end * step, decimals) for end in within]


def _round_step(width: float, *, is_whole: bool) -> tuple[float, int]:
    """Largest step of at most a fifth of a width, and its decimals."""
    if is_whole and width < 5.0:
        return 1.0, 0
    power = 10.0 ** math.floor(math.log10(width / 5.0))
    step = max(size for size in (1.0, 2.0, 5.0) if size * power <= width / 5.0 * (1.0 + 1e-9))
    return step * power, max(0, -math.floor(math.log10(power)))


def reached_values(fit: AbstractFit, name: str) -> tuple[list[object], Reach]:
    """The values that are compared, nearer to the middle where rows there are extrapolations.

    If more than a third of the averaged rows would be extrapolations, the contrast has the longest
    range without such values; if that is too short, the whole range.
    """
    values, one = compared_values(fit, name), covariate(fit.model.design, name)
    if one.discrete or len(values) != 2 or extrapolated(fit, one, values).max() <= MOST_FAR:
        return values, "all"
    low, high = (float(str(value)) for value in values)
    grid = np.linspace(low, high, BETWEEN)
    near = extrapolated(fit, one, grid.tolist()) <= MOST_FAR
    edges = np.flatnonzero(np.diff(np.concatenate([[0], near.astype(int), [0]])))
    runs = [(start, stop - 1) for start, stop in edges.reshape(-1, 2).tolist()]
    first, last = max(runs, key=lambda run: run[1] - run[0], default=(0, 0))
    if last - first < SHORTEST * (BETWEEN - 1):
        return values, "extrapolated"
    ends = [float(grid[first]), float(grid[last])]
    if name in fit.model.design.dates:
        return list(ends), "shortened"
    is_whole = holds_whole_numbers(fit.model.design, name)
    return _inner_ends(*ends, is_whole=is_whole), "shortened"


def extrapolated(
    fit: AbstractFit, one: Covariate, values: Sequence[object]
) -> Float[np.ndarray, " values"]:
    """Share of the rows that are extrapolations at each value of a covariate."""
    rows, given = observed_rows(fit, FEWEST_ROWS), list(values)
    frame = rows.frame_of(one.name, given)
    return unseen_shares(fit, Profile(one, given, frame, "", len(rows.frame), rows.shares))


def average_draws(
    fit: AbstractFit, name: str, values: Sequence[object], targets: Sequence[str]
) -> Mapping[str, Float[np.ndarray, "draws values responses entries"]]:
    """Draws of average predictions; no standard deviations that are constant by construction."""
    draws = dict(average_predictions(fit, rows_averaged(fit), name, values, targets))
    if "sd" in draws and (has_one_occupied(fit) or is_constant(draws["sd"])):
        del draws["sd"]
    return draws


def has_one_occupied(fit: AbstractFit) -> bool:
    """Whether all components but one are empty, so that noise alone moves the spread.

    Where the part sigma moves it this is not asked.
    """
    occupied: int = fit.core.n_components - len(empty_components(fit))
    return occupied == 1 and SIGMA not in fit.model.design.terms


def is_constant(sd: Float[np.ndarray, "draws values responses entries"]) -> bool:
    """Whether a standard deviation changes by less than 1% with all but certainty."""
    changes = np.ptp(sd, axis=1) / sd.mean(axis=1)
    return bool(np.quantile(changes, 0.95, axis=0).max() < CONSTANT)


def changes(
    fit: AbstractFit,
    draws: Mapping[str, Float[np.ndarray, "draws values responses entries"]],
    pair: tuple[int, int],
    response: int,
) -> list[Change]:
    """Changes of every quantity of one response between two of the values."""
    levels = fit.model.design.class_labels or ("",)
    found = []
    for target, each in draws.items():
        differences = each[:, pair[1], response] - each[:, pair[0], response]
        summary = summarised(differences, PROB, dof=linear_dof(fit, target))
        found += [
            Change(
                target,
                str(level),
                float(summary.centre[k]),
                float(summary.lower[k]),
                float(summary.upper[k]),
                differences[:, k],
            )
            for k, level in enumerate(levels)
        ]
    return found


def clear_signs(draws: Float[np.ndarray, "draws ..."], error: float) -> Int[np.ndarray, "..."]:
    """Signs of quantities whose interval of probability ``1 - error`` excludes 0; 0 of others.

    The ends are the ends of the 89% interval, moved away from the median as for a normal
    distribution: few draws lie beyond them, and with linear response these are unreliable.

    Examples
    --------
    >>> draws = np.random.default_rng(1).normal([0.0, 2.2, -3.5], 1.0, (4000, 3))
    >>> clear_signs(draws, 0.05).tolist(), clear_signs(draws, 0.01).tolist()
    ([0, 1, -1], [0, 0, -1])
    """
    outside = (1.0 - PROB) / 2.0
    low, middle, high = np.quantile(draws, [outside, 0.5, 1.0 - outside], axis=0)
    wider = ndtri(error / 2.0) / ndtri(outside)
    above = middle - wider * (middle - low) > 0.0
    below = middle + wider * (high - middle) < 0.0
    return np.asarray(above.astype(int) - below.astype(int))


@dataclass(frozen=True)
class SignShares:
    """Shares of the rows in which a quantity rises and in which it falls.

    Attributes
    ----------
    rising, falling : float
        Means over the draws.
    by : str
        The other covariate on which the change of a row depends most; empty if on none alone.
    """

    rising: float
    falling: float
    by: str


def probabilities_by_row(
    fit: AbstractFit, name: str, values: Sequence[object], error: float
) -> tuple[Float[np.ndarray, "draws values 1 entries"], Float[np.ndarray, "4 values rows entries"]]:
    """Draws of average probabilities, and ``row_signs`` of the changes from the first value.

    From one evaluation: probabilities of classes take longer than their quantiles.
    """
    whole, each = 0.0, []
    for share, draws in _by_row(fit, name, values, "probability"):
        whole = whole + np.einsum("dvrie,r->dvie", draws, share)
        each.append(row_signs((draws - draws[:, :1])[:, :, :, 0], error))
    return np.asarray(whole), np.concatenate(each, axis=2)


def changes_by_row(
    fit: AbstractFit, name: str, ends: Sequence[object], quantity: tuple[str, int], error: float
) -> Float[np.ndarray, "4 rows entries"]:
    """``row_signs`` of the change of a target of a response between two values of a covariate."""
    target, response = quantity
    pieces = (draws[:, :, :, response] for _, draws in _by_row(fit, name, ends, target))
    return np.concatenate([row_signs(one[:, 1] - one[:, 0], error) for one in pieces], axis=1)


def _by_row(
    fit: AbstractFit, name: str, values: Sequence[object], target: str
) -> Iterator[
    tuple[Float[np.ndarray, " rows"], Float[np.ndarray, "draws values rows responses entries"]]
]:
    """Shares and draws of some rows at a time."""
    rows = rows_averaged(fit)
    n = len(rows.frame)
    share = np.full(n, 1.0 / n) if rows.shares is None else rows.shares
    for start in range(0, n, ROWS_AT_ONCE):
        at = slice(start, start + ROWS_AT_ONCE)
        part = ObservedRows(rows.frame.iloc[at], None, rows.chosen)
        yield share[at], row_predictions(fit, part, name, values, target)


def row_signs(
    differences: Float[np.ndarray, "draws ..."], error: float
) -> Float[np.ndarray, "4 ..."]:
    """Probabilities that a change is positive and negative, its clear sign, and its mean."""
    rising, falling = (differences > 0.0).mean(axis=0), (differences < 0.0).mean(axis=0)
    return np.stack([rising, falling, clear_signs(differences, error), differences.mean(axis=0)])


def shares_by_sign(
    fit: AbstractFit, name: str, changes: Float[np.ndarray, "4 rows"]
) -> SignShares | None:
    """Shares of the rows by the sign of the change of a quantity; None if not both occur.

    Both are stated if each sign is clear in at least 1% of the rows.

    Parameters
    ----------
    fit : Fit
    name : str
        The covariate.
    changes : array, shape (4, rows)
        ``row_signs`` of the averaged rows.
    """
    rows, (rising, falling, signs, mean) = rows_averaged(fit), changes
    share = np.full(len(mean), 1.0 / len(mean)) if rows.shares is None else rows.shares
    clear = [float(share[signs == sign].sum()) for sign in (1, -1)]
    shares = float(share @ rising), float(share @ falling)
    if min(*clear, *shares) < FEWEST_SHARE:
        return None
    return SignShares(*shares, by=_explaining(fit, rows.frame.drop(columns=name), mean))


def _explaining(
    fit: AbstractFit, frame: pd.DataFrame, differences: Float[np.ndarray, " rows"]
) -> str:
    """Covariate whose value explains most of the differences between rows, if it does half."""
    explained = {
        name: _variance_between(frame[name], differences)
        for name in compared(fit.model.design)
        if name in frame
    }
    best = max(explained, key=lambda name: explained[name], default="")
    return best if best and explained[best] >= MOST_EXPLAINED else ""


def _variance_between(column: pd.Series, values: Float[np.ndarray, " rows"]) -> float:
    """Share of the variance of values between levels of a column, or fifths of a number."""
    if column.nunique() > FIFTHS and is_numeric(column, str(column.name)):
        column = pd.qcut(column, FIFTHS, labels=False, duplicates="drop")
    means = pd.Series(values).groupby(column.to_numpy(), observed=True).transform("mean")
    return float(means.var(ddof=0)) / float(values.var() or 1.0)
