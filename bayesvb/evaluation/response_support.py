"""Support of a response, from its values: two values, whole numbers, bounds, repeated values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtr, ndtri

from bayesvb.evaluation.normal_scores import FEWEST_ROWS
from bayesvb.numerics.arrays import RowVector


@dataclass(frozen=True, kw_only=True)
class ResponseLimits:
    """Limits from which values of a response are not continuous; see `response_support`."""

    coarse: float = 1.0 / 3.0
    """Step between values, in standard deviations, from which they are not continuous."""

    heap_share: float = 0.05
    """Part of the rows that share one value, from which it is a heap."""

    heap_rows: int = 10
    """Fewest rows of a repeated value."""

    heap_ratio: float = 4.0
    """Smallest ratio of the rows of a repeated value to the rows of neighbouring values."""

    beyond: float = 0.01
    """Smallest share of rows that a normal tail would have beyond a crowded bound."""

    expected: float = 4.0
    """Number of these rows, at least."""

    quartile: float = 0.25
    """Upper of the two quantiles by which a normal tail is fitted."""

    tail: float = 0.05
    """Lower of the two quantiles."""

    tolerance: float = 1e-6
    """Part of a step by which values may miss the grid that they are on."""


LIMITS = ResponseLimits()


@dataclass(frozen=True)
class Support:
    """Unusual property of the values of a response.

    Attributes
    ----------
    kind : {"two values", "counts", "coarse", "bound", "heap", "proportion", "positive", \
            "nonnegative"}
    words : str
        Description, with its numbers.
    """

    kind: str
    words: str


def response_support(values: RowVector) -> Support | None:
    """Property that excludes a density on the real line; None if there is none.

    One thing only, the one that matters most. Thresholds were chosen on some laws; how often they
    are wrong on others is in ``docs/benchmarks/response_support.csv``.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> response_support(rng.normal(size=500)) is None
    True
    >>> response_support(rng.poisson(2.0, size=500).astype(float)).kind
    'counts'
    >>> response_support(np.maximum(rng.normal(size=500), 0.0)).kind
    'bound'
    >>> response_support(rng.exponential(size=500)).kind
    'positive'
    """
    support, counts = np.unique(values, return_counts=True)
    if len(support) == 2:
        return Support("two values", f"has two values only, {support[0]:g} and {support[1]:g}")
    if len(support) < 2 or len(values) < FEWEST_ROWS:
        return None
    return _stepped(values, support) or _heaped(support, counts) or _bounded(values)


def _stepped(values: RowVector, distinct: Float[np.ndarray, " found"]) -> Support | None:
    """Values on a grid that is coarse relative to their spread."""
    step = float(np.diff(distinct).min())
    on_grid = (distinct - distinct[0]) / step
    if (
        step < LIMITS.coarse * values.std()
        or np.abs(on_grid - on_grid.round()).max() > LIMITS.tolerance
    ):
        return None
    if distinct[0] >= 0.0 and bool((distinct == distinct.round()).all()):
        ends = f"{distinct[0]:g} to {distinct[-1]:g}"
        words = f"has whole numbers only, {len(distinct)} of them from {ends}"
        return Support("counts", words)
    spread = step / float(values.std())
    return Support("coarse", f"is on a grid of step {step:g}, {spread:.2g} standard deviations")


def _heaped(
    distinct: Float[np.ndarray, " found"], counts: Int[np.ndarray, " found"]
) -> Support | None:
    """A value that many rows share and few have near it."""
    n = int(counts.sum())
    for at in np.argsort(-counts, kind="stable")[:3]:
        if counts[at] < max(LIMITS.heap_rows, LIMITS.heap_share * n):
            return None
        neighbours = [i for i in (at - 2, at - 1, at + 1, at + 2) if 0 <= i < len(distinct)]
        if counts[at] < LIMITS.heap_ratio * counts[neighbours].mean():
            continue
        words = f"is exactly {distinct[at]:g} in {counts[at]} of {n} rows"
        if at in (0, len(distinct) - 1):
            side = "smallest" if at == 0 else "largest"
            return Support("bound", f"{words}, the {side} value")
        return Support("heap", words)
    return None


def _bounded(values: RowVector) -> Support | None:
    """Values that crowd at 0, or between 0 and 1."""
    low, high = float(values.min()), float(values.max())
    if low < 0.0:
        return None
    n = len(values)
    below = _beyond(values)
    if high <= 1.0:
        most = max(below, _beyond(1.0 - values))
        if most >= LIMITS.beyond and most * n >= LIMITS.expected:
            return Support("proportion", f"lies between 0 and 1 in all of {n} rows and near an end")
        return None
    if below >= LIMITS.beyond and below * n >= LIMITS.expected:
        kind, seen = ("positive", "positive") if low > 0.0 else ("nonnegative", "never negative")
        words = f"is {seen} in all of {n} rows, of which about {below * n:.0f} would be negative"
        return Support(kind, f"{words} if it had no bound")
    return None


def _beyond(values: RowVector) -> float:
    """Proportion of rows below 0 if the lower tail were normal, through its quartile and its 5%."""
    quartile, tail = np.quantile(values, [LIMITS.quartile, LIMITS.tail])
    if quartile <= tail:
        return 0.0
    places = -ndtri(LIMITS.quartile), -ndtri(LIMITS.tail)
    slope = (places[1] - places[0]) / (quartile - tail)
    return float(ndtr(-(places[0] + slope * quartile)))
