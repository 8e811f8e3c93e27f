"""Rows as blocks, small enough that everything computed from one stays in cache.

Nothing per row survives a pass; the same code runs on one block, on many, and on threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np
from jaxtyping import Float, Int

from bayesvb.numerics.arrays import ExpertRows, Indices, ResponseRows, RowVector
from bayesvb.numerics.linalg import products

BLOCK_ROWS = 8192
"""Five experts x 8192 rows x 8 bytes is 320 KiB: the arrays of a step stay in a 1 MiB cache, and a
step takes long enough that threads do not wait for one another."""

PRODUCTS = " products"
"""Ending of the name under which a block keeps the products of a design."""


@dataclass(frozen=True)
class Members:
    """The rows of groups, with the rows of a group next to one another.

    Attributes
    ----------
    rows : Block
    starts : ndarray, shape (groups,)
        Where the rows of each group begin; none is empty.
    """

    rows: Block
    starts: Int[np.ndarray, " groups"]

    @property
    def sizes(self) -> Int[np.ndarray, " groups"]:
        """Rows of each group."""
        return np.diff(self.starts, append=self.rows.n_rows)

    def take(self, groups: Indices) -> Members:
        """The rows of these groups, copied."""
        sizes = self.sizes[groups]
        starts = np.cumsum(sizes) - sizes
        rows = np.repeat(self.starts[groups] - starts, sizes) + np.arange(sizes.sum())
        return Members(self.rows.take(rows), starts)

    @staticmethod
    def joined(parts: Sequence[Members]) -> Members:
        """Groups of all parts, in their order."""
        before = accumulate((part.rows.n_rows for part in parts), initial=0)
        starts = [part.starts + first for part, first in zip(parts, before, strict=False)]
        return Members(Block.joined([part.rows for part in parts]), np.concatenate(starts))

    def repeated(self, values: Float[np.ndarray, "*axes _"]) -> Float[np.ndarray, "*axes rows"]:
        """Values of the groups, the same for all rows of a group.

        Values on an axis of length one are shared by all groups.
        """
        whole = np.broadcast_to(values, (*values.shape[:-1], len(self.starts)))
        return np.repeat(whole, self.sizes, axis=-1)


@dataclass(frozen=True)
class Block:
    """Rows of the standardised design, rows on the last axis.

    If rows belong together and are one case, such as a subject's, a "row" is such a group: designs
    hold covariates of the group, the response is absent, and ``members`` has its rows.

    Attributes
    ----------
    designs : Mapping of str to ndarray, shape (terms, rows)
        Design matrix of every part of the formula.
    response : ndarray, shape (responses, rows)
        Responses; no rows on the first axis for a model without response.
    weight : ndarray, shape (rows,), or None
        Case weights; None stands for ones.
    offset : ndarray, shape (rows,), or None
        Offset, subtracted from the response before it was standardised, in the units of the data.
    members : Members or None
        Rows of groups; None where every row is a case of its own.
    """

    designs: Mapping[str, Float[np.ndarray, "_ rows"]]
    response: ResponseRows
    weight: RowVector | None = None
    offset: RowVector | None = None
    members: Members | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.response.shape[1])

    def products(self, name: str) -> Float[np.ndarray, "pairs rows"]:
        """Distinct products of two terms of a part's design, computed unless they were kept."""
        kept = self.designs.get(name + PRODUCTS)
        return products(self.designs[name]) if kept is None else kept

    def with_products(self) -> Block:
        """Block with the products of all designs stored, one copy for equal designs."""
        designs = {name: x for name, x in self.designs.items() if not name.endswith(PRODUCTS)}
        kept = {name + PRODUCTS: pairs for name, pairs in _of_each(designs, products).items()}
        return replace(self, designs=designs | kept)

    def part(self, start: int, stop: int) -> Block:
        """Rows ``start`` to ``stop`` as a block of their own (views; rows of groups are copied)."""
        if self.members is not None:
            return self.take(np.arange(start, min(stop, self.n_rows)))
        return self._at(slice(start, stop))

    def split(self, n_rows: int) -> Iterator[Block]:
        """Consecutive blocks of at most ``n_rows`` rows."""
        if self.n_rows <= n_rows:
            yield self
            return
        for start in range(0, self.n_rows, n_rows):
            yield self.part(start, start + n_rows)

    def take(self, rows: Indices) -> Block:
        """Copy of the rows with these indices."""
        return self._at(rows)

    def _at(self, rows: slice | Indices) -> Block:
        weight = None if self.weight is None else self.weight[rows]
        offset = None if self.offset is None else self.offset[rows]
        designs = _of_each(self.designs, lambda matrix: matrix[:, rows])
        members = None
        if self.members is not None:
            members = self.members.take(np.arange(self.n_rows)[rows])
        return Block(designs, self.response[:, rows], weight, offset, members)

    @staticmethod
    def joined(blocks: Sequence[Block]) -> Block:
        """Rows of all blocks as one; designs that are one array stay one array.

        Blocks without weights count ones where others have weights. One block is that block.
        """
        if len(blocks) == 1:
            return blocks[0]
        weighted = any(block.weight is not None for block in blocks)
        weights = [np.ones(b.n_rows) if b.weight is None else b.weight for b in blocks]
        offsets = [block.offset for block in blocks if block.offset is not None]
        # Kept products save time only, and new rows have none.
        names = [
            name
            for name in blocks[0].designs
            if not name.endswith(PRODUCTS) or all(name in block.designs for block in blocks)
        ]
        matrices = {name: [block.designs[name] for block in blocks] for name in names}
        place = {name: tuple(map(id, parts)) for name, parts in matrices.items()}
        distinct = {place[name]: parts for name, parts in matrices.items()}
        whole = {at: np.concatenate(parts, axis=1) for at, parts in distinct.items()}
        members = [block.members for block in blocks if block.members is not None]
        return Block(
            {name: whole[at] for name, at in place.items()},
            np.concatenate([block.response for block in blocks], axis=1),
            np.concatenate(weights) if weighted else None,
            np.concatenate(offsets) if len(offsets) == len(blocks) else None,
            Members.joined(members) if members else None,
        )

    def ungrouped(self) -> Block:
        """Rows of the groups as separate cases, with the covariates of their group."""
        if self.members is None:
            return self
        rows = self.members.rows
        given = {name: self.members.repeated(matrix) for name, matrix in self.designs.items()}
        weight = None if self.weight is None else self.members.repeated(self.weight)
        return Block({**given, **rows.designs}, rows.response, weight, rows.offset)

    def weighted(self, values: ExpertRows) -> ExpertRows:
        """Values times the case weights."""
        return values if self.weight is None else values * self.weight


def _of_each(
    designs: Mapping[str, Float[np.ndarray, "_ rows"]],
    function: Callable[[Float[np.ndarray, "_ rows"]], Float[np.ndarray, "_ _"]],
) -> dict[str, Float[np.ndarray, "_ _"]]:
    """Function of every design; designs that are one array stay one array."""
    distinct = {id(matrix): matrix for matrix in designs.values()}
    results = {number: function(matrix) for number, matrix in distinct.items()}
    return {name: results[id(matrix)] for name, matrix in designs.items()}
