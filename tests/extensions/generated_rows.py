# bayesvb/data/generated_rows.py
"""Rows that are read or made a block at a time, whenever they are gone over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import final

from bayesvb.data.blocks import Block
from bayesvb.data.sources import AbstractSource


@final
@dataclass(frozen=True)
class GeneratedRows(AbstractSource):
    """Blocks that a function makes: the same ones, in the same order, at each call."""

    make: Callable[[], Iterable[Block]]
    counted: tuple[int, float]

    @classmethod
    def of(cls, make: Callable[[], Iterable[Block]], *, workers: int = 1) -> GeneratedRows:
        """Source of these blocks, whose rows are counted in one pass."""
        n_rows, weight = 0, 0.0
        for block in make():
            n_rows += block.n_rows
            weight += float(block.n_rows if block.weight is None else block.weight.sum())
        return cls(make, (n_rows, weight), workers=workers)

    def iterate(self) -> Iterator[Block]:
        """The blocks, made anew."""
        yield from self.make()

    @property
    def n_rows(self) -> int:
        """Number of rows of all blocks."""
        return self.counted[0]

    @property
    def total_weight(self) -> float:
        """Sum of the case weights; the number of rows without weights."""
        return self.counted[1]
