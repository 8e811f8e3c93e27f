"""Which columns of a design are effects of groups, and statistics with and without columns.

No row has two groups. Statistics of effects that are columns are therefore zero but for those of
single groups: in another order, they are those of a design with groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from bayesvb.data.blocks import PRODUCTS, Block
from bayesvb.data.group_rows import GATE_GROUPS, GROUP_ROWS
from bayesvb.data.parts import GATING, MEAN
from bayesvb.data.sources import AbstractSource, InMemorySource
from bayesvb.experts.linear import LinearStats
from bayesvb.gates.logit_stats import LogitStats
from bayesvb.linear.arrow_precisions import ArrowPrecision
from bayesvb.numerics.linalg import lower_pairs

Packed = Float[np.ndarray, "*batch _"]
Linear = Float[np.ndarray, "*vectors terms"]

NOWHERE = -1
"""Group of a row in which all columns of a term are zero."""


@dataclass(frozen=True, eq=False)
class OwnColumns:
    """Columns of a design that are effects of groups, and the others.

    Attributes
    ----------
    border : ndarray, shape (terms,)
        Columns of all rows.
    own : ndarray, shape (effects, groups)
        Columns of the groups.
    """

    border: Int[np.ndarray, " terms"]
    own: Int[np.ndarray, "effects groups"]

    @classmethod
    def among(
        cls, n_terms: int, effects: Sequence[Int[np.ndarray, " groups"]], n_groups: int
    ) -> OwnColumns:
        """These columns of groups, if any, among so many."""
        own = np.array(effects, dtype=int).reshape(len(effects), n_groups)
        return cls(np.setdiff1d(np.arange(n_terms), own), own)

    @property
    def n_terms(self) -> int:
        """Number of all columns."""
        return len(self.border) + self.own.size

    @cached_property
    def order(self) -> Int[np.ndarray, " columns"]:
        """Columns of all rows, then those of each effect: the order without columns of groups."""
        return np.concatenate([self.border, self.own.ravel()])

    @cached_property
    def packed_order(self) -> Int[np.ndarray, " packed"]:
        """Places of products of two columns, as sums without columns of groups pack them."""
        first, second = lower_pairs(len(self.border))
        one, other = lower_pairs(len(self.own))
        parts = (
            _pair(self.border[first], self.border[second]),
            _pair(self.own[one], self.own[other]),
            _pair(self.own[:, None, :], self.border[None, :, None]),
        )
        return np.concatenate([part.ravel() for part in parts])

    def operator(self, entries: Float[np.ndarray, " columns"]) -> ArrowPrecision:
        """Precision of independent coefficients, by group, with these of the columns."""
        return ArrowPrecision.from_entries(
            entries[self.border], entries[self.own[:, 0]], self.own.shape[1]
        )

    def split(self, products: Packed, linear: Linear) -> tuple[Packed, Linear]:
        """Return packed sums and linear sums by group of those of columns."""
        return products[..., self.packed_order], linear[..., self.order]

    def joined(self, products: Packed, linear: Linear) -> tuple[Packed, Linear]:
        """Return packed sums and linear sums of columns of those by group."""
        n_pairs = self.n_terms * (self.n_terms + 1) // 2
        whole = np.zeros((*products.shape[:-1], n_pairs)), np.zeros(linear.shape)
        whole[0][..., self.packed_order], whole[1][..., self.order] = products, linear
        return whole

    def values(
        self, design: Float[np.ndarray, "_ rows"], place: Int[np.ndarray, " rows"]
    ) -> Float[np.ndarray, "_ rows"]:
        """Design of the groups of rows: their numbers, and what effects are multiplied by."""
        rows = np.arange(len(place))
        return np.vstack(
            [place.astype(float), *(design[columns[place], rows] for columns in self.own)]
        )


@dataclass(frozen=True, eq=False)
class GroupedColumns:
    """Columns of experts and gate that are effects of the same groups, and the group of each row.

    Attributes
    ----------
    experts : OwnColumns
        There may be none of groups.
    gate : OwnColumns or None
        None where no column of the weights is of a group.
    place : ndarray, shape (rows,)
        Group of each row.
    """

    experts: OwnColumns
    gate: OwnColumns | None
    place: Int[np.ndarray, " rows"]

    @classmethod
    def of(
        cls,
        terms: Sequence[Int[np.ndarray, " _"]],
        source: AbstractSource,
        of_gate: Sequence[Int[np.ndarray, " _"]] = (),
    ) -> GroupedColumns | None:
        """Those of the term with the most columns of which each row has one at most, if any.

        Terms with as many columns, of which each row has the same one, are effects of the same
        groups.
        """
        parts = [(MEAN, columns) for columns in terms]
        parts += [(GATING, columns) for columns in of_gate]
        each = [(part, columns, _places(columns, source, part)) for part, columns in parts]
        alone = [(part, columns, place) for part, columns, place in each if place is not None]
        if not alone:
            return None
        _, first, place = max(alone, key=lambda one: len(one[1]))
        own: dict[str, list[Int[np.ndarray, " groups"]]] = {MEAN: [], GATING: []}
        for part, columns, other in alone:
            both = (place != NOWHERE) & (other != NOWHERE)
            if len(columns) == len(first) and (place[both] == other[both]).all():
                own[part].append(columns)
                place = np.where(place == NOWHERE, other, place)
        designs = source.take(np.arange(1)).designs
        experts = OwnColumns.among(len(designs[MEAN]), own[MEAN], len(first))
        if not own[GATING]:
            return cls(experts, None, np.maximum(place, 0))
        gate = OwnColumns.among(len(designs[GATING]), own[GATING], len(first))
        return cls(experts, gate, np.maximum(place, 0))

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.experts.own.shape[1])

    def source(self, source: AbstractSource) -> InMemorySource:
        """The same rows with effects apart from the columns."""
        found, first = [], 0
        for block in source.iterate():
            place = self.place[first : first + block.n_rows]
            found.append(self._apart(block, place))
            first += block.n_rows
        return InMemorySource(tuple(found), workers=source.workers)

    def _apart(self, block: Block, place: Int[np.ndarray, " rows"]) -> Block:
        """Rows of a block with effects apart."""
        x = block.designs[MEAN]
        own = {MEAN: x[self.experts.border], GROUP_ROWS: self.experts.values(x, place)}
        if self.gate is not None:
            x = block.designs[GATING]
            own |= {GATING: x[self.gate.border], GATE_GROUPS: self.gate.values(x, place)}
        kept = {name: x for name, x in block.designs.items() if not name.endswith(PRODUCTS)}
        return replace(block, designs={**kept, **own})

    def split(self, stats: LinearStats) -> LinearStats:
        """Statistics of experts by group of those of columns."""
        xx, xy = self.experts.split(stats.xx, stats.xy)
        return replace(stats, xx=xx, xy=xy)

    def joined(self, stats: LinearStats) -> LinearStats:
        """Statistics of columns of those by group."""
        xx, xy = self.experts.joined(stats.xx, stats.xy)
        return replace(stats, xx=xx, xy=xy)

    def split_logits(self, stats: Any) -> Any:
        """Statistics of the gate by group of those of columns."""
        if self.gate is None:
            return stats
        return LogitStats(*self.gate.split(stats.curvature, stats.linear))

    def joined_logits(self, stats: Any) -> Any:
        """Statistics of the gate's columns of those by group."""
        if self.gate is None:
            return stats
        return LogitStats(*self.gate.joined(stats.curvature, stats.linear))


def _pair(
    first: Int[np.ndarray, "*one"], second: Int[np.ndarray, "*other"]
) -> Int[np.ndarray, "*both"]:
    """Places of products of two columns each in a packed triangle.

    Examples
    --------
    >>> _pair(np.array([0, 1, 2]), np.array([0, 0, 3]))
    array([0, 1, 8])
    """
    low, high = np.minimum(first, second), np.maximum(first, second)
    return np.asarray(high * (high + 1) // 2 + low)


def _places(
    columns: Int[np.ndarray, " columns"], source: AbstractSource, part: str
) -> Int[np.ndarray, " rows"] | None:
    """Which of the columns each row has; None if a row has several."""
    found = []
    for block in source.iterate():
        there = block.designs[part][columns] != 0.0
        count = np.count_nonzero(there, axis=0)
        if (count > 1).any():
            return None
        found.append(np.where(count > 0, there.argmax(axis=0), NOWHERE))
    return np.concatenate(found)
