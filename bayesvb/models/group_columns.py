"""Which columns of a design are effects of groups, and statistics with and without columns.

No row has two groups. Statistics of effects that are columns are therefore zero but for those of
single groups, and are, in another order, those of experts with effects by group (``MixedStats``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Int

from bayesvb.data.blocks import Block
from bayesvb.data.group_rows import GROUP_ROWS
from bayesvb.data.sources import AbstractSource, InMemorySource
from bayesvb.experts.linear import LinearStats
from bayesvb.experts.linear_mixed import MixedStats
from bayesvb.numerics.linalg import lower_pairs

NOWHERE = -1
"""Group of a row in which all columns of a term are zero."""


@dataclass(frozen=True, eq=False)
class GroupedColumns:
    """Columns that are effects of groups, and the group of each row.

    Attributes
    ----------
    border : ndarray, shape (terms,)
        Columns of all rows.
    own : ndarray, shape (effects, groups)
        Columns of the groups.
    place : ndarray, shape (rows,)
        Group of each row.
    """

    border: Int[np.ndarray, " terms"]
    own: Int[np.ndarray, "effects groups"]
    place: Int[np.ndarray, " rows"]

    @classmethod
    def of(
        cls, terms: Sequence[Int[np.ndarray, " _"]], source: AbstractSource
    ) -> GroupedColumns | None:
        """Those of the term with the most columns of which each row has one at most, if any.

        Terms with as many columns, of which each row has the same one, are effects of the same
        groups.
        """
        each = [(columns, _places(columns, source)) for columns in terms]
        alone = [(columns, place) for columns, place in each if place is not None]
        if not alone:
            return None
        first, place = max(alone, key=lambda one: len(one[0]))
        own = []
        for columns, other in alone:
            both = (place != NOWHERE) & (other != NOWHERE)
            if len(columns) == len(first) and (place[both] == other[both]).all():
                own.append(columns)
                place = np.where(place == NOWHERE, other, place)
        every = np.arange(source.take(np.arange(1)).designs["mean"].shape[0])
        effects = np.stack(own)
        return cls(np.setdiff1d(every, effects), effects, np.maximum(place, 0))

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.own.shape[1])

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
        x = block.designs["mean"]
        values = [x[columns[place], np.arange(block.n_rows)] for columns in self.own]
        designs = {**block.designs, "mean": x[self.border], GROUP_ROWS: np.vstack([place, *values])}
        return replace(block, designs=designs)

    def split(self, stats: LinearStats) -> MixedStats:
        """Statistics by group of those of columns."""
        first, second = lower_pairs(len(self.own))
        effects, border = self.own[:, None, :], self.border[None, :, None]
        linear = replace(stats, xx=stats.xx[..., self._border_pairs], xy=stats.xy[..., self.border])
        return MixedStats(
            linear,
            zz=stats.xx[..., _pair(self.own[first], self.own[second])],
            zx=stats.xx[..., _pair(effects, border)],
            zy=stats.xy[..., self.own],
        )

    def joined(self, stats: MixedStats) -> LinearStats:
        """Statistics of columns of those by group."""
        n_terms, linear = len(self.border) + self.own.size, stats.linear
        first, second = lower_pairs(len(self.own))
        xx = np.zeros((*linear.weight.shape, n_terms * (n_terms + 1) // 2))
        xy = np.zeros((*linear.yy.shape, n_terms))
        xx[..., self._border_pairs], xy[..., self.border] = linear.xx, linear.xy
        xx[..., _pair(self.own[first], self.own[second])] = stats.zz
        xx[..., _pair(self.own[:, None, :], self.border[None, :, None])] = stats.zx
        xy[..., self.own] = stats.zy
        return LinearStats(linear.weight, xx, xy, linear.yy)

    @property
    def _border_pairs(self) -> Int[np.ndarray, " pairs"]:
        """Places of the products of columns of all rows."""
        first, second = lower_pairs(len(self.border))
        return _pair(self.border[first], self.border[second])


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
    columns: Int[np.ndarray, " columns"], source: AbstractSource
) -> Int[np.ndarray, " rows"] | None:
    """Which of the columns each row has; None if a row has several."""
    found = []
    for block in source.iterate():
        there = block.designs["mean"][columns] != 0.0
        count = np.count_nonzero(there, axis=0)
        if (count > 1).any():
            return None
        found.append(np.where(count > 0, there.argmax(axis=0), NOWHERE))
    return np.concatenate(found)
