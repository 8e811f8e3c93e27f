"""Rows that are read, encoded and standardised a block at a time in each pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import final

import numpy as np

from bayesvb.data.blocks import BLOCK_ROWS, Block
from bayesvb.data.group_rows import GROUP_ROWS, rows_at_once
from bayesvb.data.sources import AbstractSource, InMemorySource
from bayesvb.errors import DataError
from bayesvb.numerics.arrays import Floats, RowColumns, RowVector


@dataclass(frozen=True, eq=False)
class EncodedRows:
    """Some rows in the units of the data, rows on the first axis.

    Attributes
    ----------
    matrices : mapping of str to ndarray, shape (rows, terms)
        Design matrix of every part of the formula; parts with one text have one array.
    response : ndarray, shape (rows, responses), or None
        None for a model without response.
    weight : ndarray, shape (rows,), or None
        Case weights.
    offset : ndarray, shape (rows,), or None
        Known summand of the response.
    """

    matrices: Mapping[str, RowColumns]
    response: RowColumns | None
    weight: RowVector | None = None
    offset: RowVector | None = None

    def __len__(self) -> int:
        return len(next(iter(self.matrices.values())))

    def part(self, start: int, stop: int) -> EncodedRows:
        """Rows ``start`` to ``stop``."""
        response, weight, offset = (
            None if values is None else values[start:stop]
            for values in (self.response, self.weight, self.offset)
        )
        slices = {id(matrix): matrix[start:stop] for matrix in self.matrices.values()}
        matrices = {name: slices[id(matrix)] for name, matrix in self.matrices.items()}
        return EncodedRows(matrices, response, weight, offset)

    def before(self, other: EncodedRows) -> EncodedRows:
        """Rows of this table, followed by the rows of another."""

        def both(mine: Floats | None, theirs: Floats | None) -> Floats | None:
            return None if mine is None or theirs is None else np.concatenate([mine, theirs])

        whole = {
            id(matrix): np.concatenate([matrix, other.matrices[name]])
            for name, matrix in self.matrices.items()
        }
        return EncodedRows(
            {name: whole[id(matrix)] for name, matrix in self.matrices.items()},
            both(self.response, other.response),
            both(self.weight, other.weight),
            both(self.offset, other.offset),
        )


@final
@dataclass(frozen=True)
class StreamedRows(AbstractSource):
    """Blocks that are rebuilt from the rows read, of the size of blocks in memory.

    Attributes
    ----------
    read : callable
        Goes over all rows from the first one.
    standardise : callable
        Makes a block of rows.
    counted : tuple of int and float
        Number of rows, and sum of their case weights.
    """

    read: Callable[[], Iterator[EncodedRows]] = field(repr=False)
    standardise: Callable[[EncodedRows], Block] = field(repr=False)
    counted: tuple[int, float]

    def iterate(self) -> Iterator[Block]:
        """The blocks.

        Raises
        ------
        DataError
            If there are more rows than there were, or fewer.
        """
        seen = 0
        for rows in recut(self.read(), BLOCK_ROWS):
            seen += len(rows)
            yield self.standardise(rows)
        if seen != self.n_rows:
            raise DataError(
                f"the data had {self.n_rows} rows that can be used, and now have {seen}",
                hint="rows must stay the same during a fit: work on a copy that nobody writes to",
            )

    @property
    def n_rows(self) -> int:
        return self.counted[0]

    @property
    def total_weight(self) -> float:
        return self.counted[1]


def in_memory_source(
    standardise: Callable[[EncodedRows], Block], rows: EncodedRows
) -> InMemorySource:
    """Rows in memory as blocks, each one contiguous."""
    size = BLOCK_ROWS
    if GROUP_ROWS in rows.matrices:
        size = rows_at_once(int(rows.matrices[GROUP_ROWS][:, 0].max()) + 1)
    return InMemorySource(tuple(map(standardise, recut(iter([rows]), size))))


def recut(pieces: Iterator[EncodedRows], size: int) -> Iterator[EncodedRows]:
    """Iterate over the rows in pieces of this size, fewer in the last one."""
    rest: EncodedRows | None = None
    for piece in pieces:
        whole = piece if rest is None else rest.before(piece)
        end = len(whole) - len(whole) % size
        for start in range(0, end, size):
            yield whole.part(start, start + size)
        rest = whole.part(end, len(whole)) if end < len(whole) else None
    if rest is not None:
        yield rest
