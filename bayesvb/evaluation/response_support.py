"""What values a response can take, by those it has: two, whole numbers, bounded ones, heaps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtr

Values = Float[np.ndarray, " rows"]

FEWEST = 20
"""Rows from which anything is said but that there are two values."""

COARSE = 1.0 / 3.0
"""Step between values, in standard deviations, from which they are no continuum."""

SHARE, ROWS, RATIO = 0.05, 10, 4.0
"""A heap: so large a part of the rows, so many of them, and so many times more than its neighbours
on the scale."""

BEYOND, EXPECTED = 0.01, 4.0
"""A bound is crowded where a normal tail would have so large a part of the rows beyond it, and so
many rows."""

QUARTILE, TAIL = 0.25, 0.05

TOLERANCE = 1e-6
"""Part of a step by which values may miss the grid that they are on."""


@dataclass(frozen=True)
class Support:
    """What is noticed about the values of a response.

    Attributes
    ----------
    kind : {"two values", "counts", "coarse", "bound", "heap", "proportion", "positive", \
            "nonnegative"}
    words : str
        What was seen, with its numbers.
    """

    kind: str
    words: str


def response_support(values: Values) -> Support | None:
    """What keeps values from being those of a density on the real line; None if nothing does.

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
    found, counts = np.unique(values, return_counts=True)
    if len(found) == 2:
        return Support("two values", f"has two values only, {found[0]:g} and {found[1]:g}")
    if len(found) < 2 or len(values) < FEWEST:
        return None
    return _stepped(values, found) or _heaped(found, counts) or _bounded(values)


def _stepped(values: Values, found: Float[np.ndarray, " found"]) -> Support | None:
    """Values on a grid that is coarse beside their spread."""
    step = float(np.diff(found).min())
    on_grid = (found - found[0]) / step
    if step < COARSE * values.std() or np.abs(on_grid - on_grid.round()).max() > TOLERANCE:
        return None
    if found[0] >= 0.0 and bool((found == found.round()).all()):
        words = f"has whole numbers only, {len(found)} of them from {found[0]:g} to {found[-1]:g}"
        return Support("counts", words)
    spread = step / float(values.std())
    return Support("coarse", f"is on a grid of step {step:g}, {spread:.2g} standard deviations")


def _heaped(
    found: Float[np.ndarray, " found"], counts: Int[np.ndarray, " found"]
) -> Support | None:
    """A value that many rows share and few have near it."""
    n = int(counts.sum())
    for at in np.argsort(-counts, kind="stable")[:3]:
        if counts[at] < max(ROWS, SHARE * n):
            return None
        beside = [i for i in (at - 2, at - 1, at + 1, at + 2) if 0 <= i < len(found)]
        if counts[at] < RATIO * counts[beside].mean():
            continue
        words = f"is exactly {found[at]:g} in {counts[at]} of {n} rows"
        if at in (0, len(found) - 1):
            side = "smallest" if at == 0 else "largest"
            return Support("bound", f"{words}, the {side} value")
        return Support("heap", words)
    return None


def _bounded(values: Values) -> Support | None:
    """Values that crowd at 0, or between 0 and 1."""
    low, high = float(values.min()), float(values.max())
    if low < 0.0:
        return None
    n = len(values)
    below = _beyond(values)
    if high <= 1.0:
        most = max(below, _beyond(1.0 - values))
        if most >= BEYOND and most * n >= EXPECTED:
            return Support("proportion", f"lies between 0 and 1 in all of {n} rows and near an end")
        return None
    if below >= BEYOND and below * n >= EXPECTED:
        kind, seen = ("positive", "positive") if low > 0.0 else ("nonnegative", "never negative")
        words = f"is {seen} in all of {n} rows, of which about {below * n:.0f} would be negative"
        return Support(kind, f"{words} if it had no bound")
    return None


def _beyond(values: Values) -> float:
    """Part of the rows below 0 if the lower tail were normal, through its quartile and its 5 %."""
    quartile, tail = np.quantile(values, [QUARTILE, TAIL])
    if quartile <= tail:
        return 0.0
    places = -NORMAL_QUARTILE, -NORMAL_TAIL
    slope = (places[1] - places[0]) / (quartile - tail)
    return float(ndtr(-(places[0] + slope * quartile)))


NORMAL_QUARTILE, NORMAL_TAIL = -0.6744897501960817, -1.6448536269514722
"""Quantiles of the standard normal."""
