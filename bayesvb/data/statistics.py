"""Result of one pass over rows: a record of arrays that can be added and scaled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Float

from bayesvb.numerics.arrays import EntryVector, Floats

StatsT = TypeVar("StatsT", bound="SufficientStats")


@dataclass(frozen=True)
class SufficientStats:
    """Base of every record of sums over rows.

    Subclasses declare float arrays or other records. Sums add over any split of the rows, and a
    record is one point of a vector space (``to_vector``, ``with_vector``), which is what lets one
    engine accelerate, blend or stream every model. The base itself is the record without entries,
    of a part that learns nothing.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Counts(SufficientStats):
    ...     weight: np.ndarray
    >>> (Counts(np.ones(2)) + 2.0 * Counts(np.ones(2))).weight
    array([3., 3.])
    """

    def __add__(self: StatsT, other: StatsT) -> StatsT:
        """Sum of two records of the same kind."""
        mine, theirs = vars(self), vars(other)
        return replace(self, **{name: mine[name] + theirs[name] for name in mine})

    def __mul__(self: StatsT, factor: float) -> StatsT:
        """Record scaled by a number."""
        return replace(self, **{name: factor * value for name, value in vars(self).items()})

    __rmul__ = __mul__

    def leaves(self, prefix: str = "") -> Iterator[tuple[str, Float[np.ndarray, ...]]]:
        """Names (``"gate.linear"``) and arrays, in the order of ``to_vector``."""
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, SufficientStats):
                yield from value.leaves(f"{prefix}{field.name}.")
            else:
                yield prefix + field.name, value

    def to_vector(self) -> EntryVector:
        """Every number of the record, in one row."""
        return np.concatenate([np.empty(0), *self._rows()])

    def to_vectors(self) -> Float[np.ndarray, "many entries"]:
        """Numbers of a record of many, whose axis is the first of every array."""
        each = [values.reshape(len(values), -1) for _, values in self.leaves()]
        return np.concatenate(each, axis=1)

    def _rows(self) -> Iterator[Float[np.ndarray, " _"]]:
        """The numbers of each array, without the names."""
        for value in vars(self).values():
            if isinstance(value, SufficientStats):
                yield from value._rows()
            else:
                yield np.ravel(value)

    def with_vector(self: StatsT, vector: Float[np.ndarray, "*many entries"]) -> StatsT:
        """Record of the same shapes with the numbers of ``vector``.

        Of many vectors at once a record of many, which their axes lead.
        """
        return self._from(vector, 0)[0]

    def _from(
        self: StatsT, vector: Float[np.ndarray, "*many entries"], at: int
    ) -> tuple[StatsT, int]:
        """The record whose numbers begin at this place, and where they end."""
        changes: dict[str, object] = {}
        for name, value in vars(self).items():
            if isinstance(value, SufficientStats):
                changes[name], at = value._from(vector, at)
            else:
                size, shape = np.size(value), (*vector.shape[:-1], *np.shape(value))
                changes[name] = vector[..., at : at + size].reshape(shape)
                at += size
        return replace(self, **changes), at

    def with_leaves(self: StatsT, leaves: Mapping[str, Floats], prefix: str = "") -> StatsT:
        """Record of the same names with other arrays, by the names of ``leaves``."""
        changes: dict[str, object] = {}
        for field in fields(self):
            value, name = getattr(self, field.name), prefix + field.name
            nested = isinstance(value, SufficientStats)
            changes[field.name] = value.with_leaves(leaves, f"{name}.") if nested else leaves[name]
        return replace(self, **changes)

    def permuted(self: StatsT, order: Sequence[int]) -> StatsT:
        """Record with the first axis of every array in another order: ``order[0]`` comes first."""
        index, changes = list(order), dict[str, object]()
        for name, value in vars(self).items():
            nested = isinstance(value, SufficientStats)
            changes[name] = value.permuted(index) if nested else value[index]
        return replace(self, **changes)


def with_known(stats: Any, before: StatsT | None) -> StatsT:
    """Statistics of some rows, and of known rows if there are any."""
    total: StatsT = stats if before is None else before + stats
    return total


@dataclass(frozen=True)
class LocalStep(SufficientStats):
    """Result of one pass: the statistics, and the rows' part of the lower bound."""

    bound: float
    stats: SufficientStats


@dataclass(frozen=True)
class BoundGap(SufficientStats):
    """Amount by which a tighter bound on the same posterior exceeds the maximised one."""

    value: float
