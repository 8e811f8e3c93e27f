"""Exact quantiles, medians and distinct values of numbers that are read in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from bayesvb.numerics import medians
from bayesvb.numerics.pieces import PER_PASS
from bayesvb.numerics.special import ROUNDING

Vector = Float[np.ndarray, " _"]

Read = Callable[[], Iterator[Vector]]
"""Iterates over all values from the first one."""

Weighted = tuple[Vector, Vector | None]
"""Values, and the weight of each; None stands for ones."""

NORMAL_MAD = 1.482602218505602
"""Standard deviation of a normal distribution over its median absolute deviation."""

BINS = 4096
"""Parts into which an interval is cut in a pass."""


@dataclass(frozen=True)
class _Interval:
    """Interval of a rank: ``low <= value < high``; ``below`` is the weight of values < ``low``."""

    low: float
    high: float
    below: float


def mid_ranks(values: Vector) -> Vector:
    """Rank of each value from one; values that are equal have the mean of their ranks.

    Examples
    --------
    >>> mid_ranks(np.array([3.0, 1.0, 3.0]))
    array([2.5, 1. , 2.5])
    """
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(count) - 0.5 * (count - 1))[place])


def median(read: Callable[[], Iterator[Weighted]]) -> float:
    """Median of values of which one of weight w counts as w; see ``medians.median``.

    Few values are sorted after one pass. Of more, values are counted as by ``quantiles``.

    Parameters
    ----------
    read : callable
        Iterates over all values, with their weights.

    Examples
    --------
    >>> blocks = [(np.array([3.0, 1.0]), np.ones(2)), (np.array([8.0]), np.full(1, 2.0))]
    >>> median(lambda: iter(blocks))
    5.5
    """
    blocks: list[Weighted] = []
    size, total = 0, 0.0
    for values, weight in read():
        size += len(values)
        total += len(values) if weight is None else float(weight.sum())
        blocks = [*blocks, (values, weight)] if size <= PER_PASS else []
    if size <= PER_PASS:
        values, weight = _joined(blocks)
        return medians.median(values, weight)
    # The least value up to which there is half of the weight, and the least beyond: they differ
    # where half lies between two values. A rank is passed by more weight than it has, not by as
    # much, so the first one is moved down by one double.
    half = 0.5 * total
    slack = half * ROUNDING
    low, high = _of_ranks(read, np.array([np.nextafter(half - slack, 0.0), half + slack]))
    return float(low + 0.5 * (high - low))


def quantiles(read: Read, n_values: int, shares: Sequence[float]) -> Vector:
    """Quantiles of all values together, equal to ``numpy.quantile``, at shares from 0 to 1.

    Values are counted in ever smaller intervals around the ranks that are needed, until those
    within can be sorted: three passes as a rule.

    Parameters
    ----------
    read : callable
    n_values : int
        How many there are, one or more.
    shares : sequence of float

    References
    ----------
    Munro, Paterson (1980), Selection and sorting with limited storage, Theoretical Computer
    Science 12(3).

    Examples
    --------
    >>> quantiles(lambda: iter([np.array([5.0, 1.0]), np.array([2.0])]), 3, [0.25, 0.5]).tolist()
    [1.5, 2.0]
    """
    places = np.asarray(shares) * (n_values - 1)
    lower = np.floor(places).astype(np.int64)
    upper = np.minimum(lower + 1, n_values - 1)
    ranks = np.unique(np.concatenate([lower, upper]))
    every = _of_ranks(lambda: ((values, None) for values in read()), ranks)
    known = dict(zip(ranks.tolist(), every.tolist(), strict=True))
    below = np.array([known[rank] for rank in lower.tolist()])
    above = np.array([known[rank] for rank in upper.tolist()])
    part, step = places - lower, above - below
    return np.asarray(np.where(part < 0.5, below + step * part, above - step * (1.0 - part)))


def _of_ranks(
    read: Callable[[], Iterator[Weighted]],
    ranks: Float[np.ndarray, " ranks"] | Int[np.ndarray, " ranks"],
) -> Float[np.ndarray, " ranks"]:
    """Least values up to which there is more weight than each rank; from 0 without weights."""
    low, high = np.inf, -np.inf
    for values, _ in read():
        low = min(low, float(values.min(initial=np.inf)))
        high = max(high, float(values.max(initial=-np.inf)))
    intervals = [_Interval(low, float(np.nextafter(high, np.inf)), 0.0)] * len(ranks)
    while True:
        edges = {one: _edges(one) for one in dict.fromkeys(intervals)}
        counts = {one: np.zeros((2, len(interval) - 1)) for one, interval in edges.items()}
        for values, weight in read():
            for one, interval in edges.items():
                counts[one] += _counted(values, weight, interval)
        sizes: dict[_Interval, float] = {}
        for number, rank in enumerate(ranks.tolist()):
            one = intervals[number]
            size, mass = counts[one]
            upto = one.below + np.cumsum(mass)
            place = min(int(np.searchsorted(upto, rank, side="right")), len(upto) - 1)
            low, high = edges[one][place], edges[one][place + 1]
            before = one.below if place == 0 else float(upto[place - 1])
            intervals[number] = _Interval(float(low), float(high), before)
            sizes[intervals[number]] = 0 if _is_point(intervals[number]) else size[place]
        if sum(sizes.values()) <= PER_PASS:
            return _sorted_within(read, intervals, ranks)


def _edges(one: _Interval) -> Vector:
    """Ends of the parts of an interval, ascending, each once."""
    steps = np.linspace(0.0, 1.0, BINS + 1)
    inner = one.low * (1.0 - steps) + one.high * steps
    inner[0], inner[-1] = one.low, one.high
    return np.unique(np.clip(inner, one.low, one.high))


def _is_point(one: _Interval) -> bool:
    """Whether there is one double in an interval."""
    return bool(np.nextafter(one.low, np.inf) >= one.high)


def _counted(values: Vector, weight: Vector | None, edges: Vector) -> Float[np.ndarray, "2 parts"]:
    """Number and weight of the values within each part."""
    inside = (values >= edges[0]) & (values < edges[-1])
    place = np.searchsorted(edges, values[inside], side="right") - 1
    size = np.bincount(place, minlength=len(edges) - 1)
    mass = size if weight is None else np.bincount(place, weight[inside], len(edges) - 1)
    return np.stack([size, mass]).astype(float)


def _joined(blocks: Sequence[Weighted]) -> Weighted:
    """Values of all blocks, and their weights."""
    values = np.concatenate([part for part, _ in blocks])
    if all(weight is None for _, weight in blocks):
        return values, None
    return values, np.concatenate([np.ones(len(part)) if w is None else w for part, w in blocks])


def _sorted_within(
    read: Callable[[], Iterator[Weighted]],
    intervals: Sequence[_Interval],
    ranks: Float[np.ndarray, " ranks"] | Int[np.ndarray, " ranks"],
) -> Float[np.ndarray, " ranks"]:
    """The values of ranks, from all that lie in their intervals."""
    kept: dict[_Interval, list[Weighted]] = {
        one: [] for one in dict.fromkeys(intervals) if not _is_point(one)
    }
    if kept:
        for values, weight in read():
            for one, blocks in kept.items():
                inside = (values >= one.low) & (values < one.high)
                blocks.append((values[inside], None if weight is None else weight[inside]))
    pieces = []
    for one, rank in zip(intervals, ranks.tolist(), strict=True):
        if one not in kept:
            pieces.append(one.low)
            continue
        values, weight = _joined(kept[one])
        order = np.argsort(values, kind="stable")
        mass = np.ones(len(values)) if weight is None else weight[order]
        place = int(np.searchsorted(one.below + np.cumsum(mass), rank, side="right"))
        pieces.append(float(values[order[min(place, len(order) - 1)]]))
    return np.array(pieces)


def distinct_values(read: Read, most: int) -> Vector | None:
    """All different values, ascending; None if there are more than ``most``.

    Examples
    --------
    >>> distinct_values(lambda: iter([np.array([5.0, 1.0]), np.array([1.0])]), 2).tolist()
    [1.0, 5.0]
    """
    distinct, waiting, size = np.empty(0), [np.empty(0)], 0
    for values in read():
        distinct_here = np.unique(values)
        waiting.append(distinct_here)
        size += len(distinct_here)
        if size > max(len(distinct) // 2, PER_PASS):
            distinct, waiting, size = np.unique(np.concatenate([distinct, *waiting])), [], 0
            if len(distinct) > most:
                return None
    distinct = np.unique(np.concatenate([distinct, *waiting]))
    return distinct if len(distinct) <= most else None
