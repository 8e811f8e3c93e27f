"""Sums in an order that does not depend on who adds: neighbours first, then neighbours of these."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Generic, TypeVar

from bayesvb.data.statistics import SufficientStats

StatsT = TypeVar("StatsT", bound=SufficientStats)


@dataclass(frozen=True)
class PartialSum(Generic[StatsT]):
    """Sum of ``2 ** level`` consecutive terms, the first of which is ``number * 2 ** level``."""

    level: int
    number: int
    value: StatsT


Sums = list[PartialSum[StatsT]]


def partial_sums(terms: Iterable[StatsT], first: int = 0) -> list[PartialSum[StatsT]]:
    """Sums of consecutive terms, as few as there are; ``first`` is the number of the first term."""
    sums: list[PartialSum[StatsT]] = []
    for number, term in enumerate(terms, first):
        _push(sums, PartialSum(0, number, term))
    return sums


def joined(
    before: Sequence[PartialSum[StatsT]], after: Sequence[PartialSum[StatsT]]
) -> list[PartialSum[StatsT]]:
    """Sums of terms, and of those that follow them."""
    sums = list(before)
    for one in after:
        _push(sums, one)
    return sums


def total(sums: Sequence[PartialSum[StatsT]]) -> StatsT:
    """Sum of all terms; the shortest sums, which are last, are added first.

    Examples
    --------
    >>> from bayesvb.data.statistics import BoundGap
    >>> terms = [BoundGap(float(i)) for i in range(7)]
    >>> total(partial_sums(terms)).value
    21.0
    >>> total(joined(partial_sums(terms[:3]), partial_sums(terms[3:], 3))).value
    21.0
    """
    values = [one.value for one in reversed(sums)]
    return reduce(lambda right, left: left + right, values)


def _push(sums: list[PartialSum[StatsT]], one: PartialSum[StatsT]) -> None:
    """Add a sum behind others; two that are neighbours in the tree become one."""
    while sums and one.number % 2 and sums[-1].level == one.level:
        left = sums.pop()
        one = PartialSum(one.level + 1, one.number // 2, left.value + one.value)
    sums.append(one)
