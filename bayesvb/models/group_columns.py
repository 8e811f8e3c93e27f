"""Which columns of a design are effects of groups, and statistics with and without columns.

No row has two groups. Statistics of effects that are columns are therefore zero but for those of
single groups, and are, in another order, those of experts with effects by group (``MixedStats``)
and of logits with such effects (``GroupedLogitStats``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from bayesvb.data.blocks import PRODUCTS, Block
from bayesvb.data.group_rows import GATE_GROUPS, GROUP_ROWS
from bayesvb.data.parts import GATING, MEAN
from bayesvb.data.sources import AbstractSource, InMemorySource
from bayesvb.experts.linear import LinearStats
from bayesvb.experts.linear_mixed import MixedStats
from bayesvb.gates.logit_stats import LogitStats
from bayesvb.gates.logits_by_group import GroupedLogitStats
from bayesvb.numerics.linalg import lower_pairs

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

    @property
    def border_pairs(self) -> Int[np.ndarray, " pairs"]:
        """Places of the products of columns of all rows."""
        first, second = lower_pairs(len(self.border))
        return _pair(self.border[first], self.border[second])

    @property
    def pairs(self) -> Int[np.ndarray, "pairs groups"]:
        """Places of the products of two columns of a group."""
        first, second = lower_pairs(len(self.own))
        return _pair(self.own[first], self.own[second])

    @property
    def cross(self) -> Int[np.ndarray, "effects terms groups"]:
        """Places of the products of a column of a group and one of all rows."""
        return _pair(self.own[:, None, :], self.border[None, :, None])

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

    def split(self, stats: LinearStats) -> MixedStats:
        """Statistics of experts by group of those of columns."""
        at, xx = self.experts, stats.xx
        linear = replace(stats, xx=xx[..., at.border_pairs], xy=stats.xy[..., at.border])
        return MixedStats(linear, xx[..., at.pairs], xx[..., at.cross], stats.xy[..., at.own])

    def joined(self, stats: MixedStats) -> LinearStats:
        """Statistics of columns of those by group."""
        at, n_terms, linear = self.experts, self.experts.n_terms, stats.linear
        xx = np.zeros((*linear.weight.shape, n_terms * (n_terms + 1) // 2))
        xy = np.zeros((*linear.yy.shape, n_terms))
        xx[..., at.border_pairs], xy[..., at.border] = linear.xx, linear.xy
        xx[..., at.pairs], xx[..., at.cross], xy[..., at.own] = stats.zz, stats.zx, stats.zy
        return LinearStats(linear.weight, xx, xy, linear.yy)

    def split_logits(self, stats: Any) -> Any:
        """Statistics of the gate by group of those of columns."""
        if self.gate is None:
            return stats
        at, xx, linear = self.gate, stats.curvature, stats.linear
        border = xx[..., at.border_pairs], linear[..., at.border]
        return GroupedLogitStats(*border, xx[..., at.pairs], xx[..., at.cross], linear[..., at.own])

    def joined_logits(self, stats: Any) -> Any:
        """Statistics of the gate's columns of those by group."""
        if self.gate is None:
            return stats
        at, n_terms = self.gate, self.gate.n_terms
        xx = np.zeros((len(stats.linear), n_terms * (n_terms + 1) // 2))
        linear = np.zeros((len(stats.linear), n_terms))
        xx[..., at.border_pairs], linear[..., at.border] = stats.curvature, stats.linear
        xx[..., at.pairs], xx[..., at.cross], linear[..., at.own] = stats.zz, stats.zx, stats.zl
        return LogitStats(xx, linear)


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
