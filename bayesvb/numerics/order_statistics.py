"""Exact quantiles and distinct values of numbers that are gone over some at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

Vector = Float[np.ndarray, " _"]

Read = Callable[[], Iterator[Vector]]
"""Goes over all values from the first one."""

BINS = 4096
"""Parts into which an interval is cut in a pass."""

GATHERED = 1 << 20
"""Values that are kept and sorted."""


@dataclass(frozen=True)
class _Interval:
    """Where the value of a rank lies: ``low <= value < high``, so many values below ``low``."""

    low: float
    high: float
    below: int


def quantiles(read: Read, n_values: int, shares: Sequence[float]) -> Vector:
    """What ``numpy.quantile`` gives of all values together, at shares between 0 and 1.

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
    known = dict(zip(ranks.tolist(), _of_ranks(read, ranks).tolist(), strict=True))
    below = np.array([known[rank] for rank in lower.tolist()])
    above = np.array([known[rank] for rank in upper.tolist()])
    part, step = places - lower, above - below
    return np.asarray(np.where(part < 0.5, below + step * part, above - step * (1.0 - part)))


def _of_ranks(read: Read, ranks: Int[np.ndarray, " ranks"]) -> Float[np.ndarray, " ranks"]:
    """The values of these ranks, from 0."""
    low, high = np.inf, -np.inf
    for values in read():
        low = min(low, float(values.min(initial=np.inf)))
        high = max(high, float(values.max(initial=-np.inf)))
    intervals = [_Interval(low, float(np.nextafter(high, np.inf)), 0)] * len(ranks)
    while True:
        edges = {one: _edges(one) for one in dict.fromkeys(intervals)}
        counts = {one: np.zeros(len(own) - 1, dtype=np.int64) for one, own in edges.items()}
        for values in read():
            for one, own in edges.items():
                counts[one] += _counted(values, own)
        sizes: dict[_Interval, int] = {}
        for number, rank in enumerate(ranks.tolist()):
            one = intervals[number]
            upto = one.below + np.cumsum(counts[one])
            place = int(np.searchsorted(upto, rank, side="right"))
            size = int(counts[one][place])
            low, high = edges[one][place], edges[one][place + 1]
            intervals[number] = _Interval(float(low), float(high), int(upto[place]) - size)
            sizes[intervals[number]] = 0 if _is_point(intervals[number]) else size
        if sum(sizes.values()) <= GATHERED:
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


def _counted(values: Vector, edges: Vector) -> Int[np.ndarray, " parts"]:
    """Values within each part."""
    inside = values[(values >= edges[0]) & (values < edges[-1])]
    place = np.searchsorted(edges, inside, side="right") - 1
    return np.bincount(place, minlength=len(edges) - 1)


def _sorted_within(
    read: Read, intervals: Sequence[_Interval], ranks: Int[np.ndarray, " ranks"]
) -> Float[np.ndarray, " ranks"]:
    """The values of ranks, from all that lie in their intervals."""
    kept: dict[_Interval, list[Vector]] = {
        one: [] for one in dict.fromkeys(intervals) if not _is_point(one)
    }
    if kept:
        for values in read():
            for one, own in kept.items():
                own.append(values[(values >= one.low) & (values < one.high)])
    whole = {one: np.sort(np.concatenate(own)) for one, own in kept.items()}
    found = [
        one.low if one not in whole else float(whole[one][rank - one.below])
        for one, rank in zip(intervals, ranks.tolist(), strict=True)
    ]
    return np.array(found)


def distinct_values(read: Read, most: int) -> Vector | None:
    """All different values, ascending; None if there are more than so many.

    Examples
    --------
    >>> distinct_values(lambda: iter([np.array([5.0, 1.0]), np.array([1.0])]), 2).tolist()
    [1.0, 5.0]
    """
    found, waiting, size = np.empty(0), [np.empty(0)], 0
    for values in read():
        own = np.unique(values)
        waiting.append(own)
        size += len(own)
        if size > max(len(found) // 2, GATHERED):
            found, waiting, size = np.unique(np.concatenate([found, *waiting])), [], 0
            if len(found) > most:
                return None
    found = np.unique(np.concatenate([found, *waiting]))
    return found if len(found) <= most else None
