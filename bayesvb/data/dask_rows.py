"""Rows that lie on the workers of a Dask cluster, as blocks: functions go there, sums come back."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeVar, final

import numpy as np

from bayesvb.data.blocks import BLOCK_ROWS, Block
from bayesvb.data.dyadic_sums import PartialSum, joined, partial_sums, total
from bayesvb.data.sources import AbstractSource
from bayesvb.data.statistics import SufficientStats
from bayesvb.numerics.arrays import Indices
from bayesvb.numerics.runtime import single_threaded_blas

if TYPE_CHECKING:
    import distributed
    import pandas as pd

StatsT = TypeVar("StatsT", bound=SufficientStats)
ResultT = TypeVar("ResultT")

TOGETHER = 8
"""Partial sums that are put together at a time, and results that are waited for."""

Blocks = tuple[Block, ...]


@final
@dataclass(frozen=True)
class DaskRows(AbstractSource):
    """Blocks of the partitions of a table, each in the memory of a worker.

    Blocks lost with a worker are computed again by others, from the table.

    Attributes
    ----------
    client : distributed.Client
    partitions : tuple of distributed.Future
        Blocks of each partition.
    sizes : tuple of int
        Rows of each.
    weight : float
        Sum of the case weights.
    """

    client: distributed.Client = field(repr=False)
    partitions: tuple[distributed.Future, ...] = field(repr=False)
    sizes: tuple[int, ...]
    weight: float

    @classmethod
    def of(
        cls,
        client: distributed.Client,
        tables: Sequence[distributed.Future],
        encode: Callable[[int, pd.DataFrame], Blocks],
        weight: float,
    ) -> DaskRows:
        """Rows of tables that are on the cluster, or are sent there on demand."""
        made = tuple(
            client.submit(encode, number, table, pure=False) for number, table in enumerate(tables)
        )
        sizes = client.gather([client.submit(_n_rows, one, pure=False) for one in made])
        return cls(client, made, tuple(sizes), weight)

    def iterate(self) -> Iterator[Block]:
        """The blocks, which travel here: for what cannot be done where they are."""
        for one in self.partitions:
            yield from map(_aligned, one.result())

    @property
    def n_rows(self) -> int:
        return sum(self.sizes)

    @property
    def total_weight(self) -> float:
        return self.weight

    def map_reduce(self, function: Callable[[Block], StatsT]) -> StatsT:
        """Sum of ``function(block)`` over the blocks; only sums travel, and they do as a tree.

        Received sums are copied, so that their arrays are aligned as local ones.
        """
        n_blocks = [-(-size // BLOCK_ROWS) for size in self.sizes]
        firsts = list(accumulate(n_blocks, initial=0))
        sent = _whole(function)
        sums = [
            self.client.submit(_sums, sent, one, first, pure=False)
            for one, first in zip(self.partitions, firsts, strict=False)
        ]
        while len(sums) > 1:
            sums = [
                self.client.submit(_joined, *sums[start : start + TOGETHER], pure=False)
                for start in range(0, len(sums), TOGETHER)
            ]
        whole: list[PartialSum[StatsT]] = pickle.loads(pickle.dumps(sums[0].result()))
        return total(whole)

    def take(self, rows: Indices) -> Block:
        if (rows[1:] < rows[:-1]).any():
            order = np.argsort(rows, kind="stable")
            return self.take(rows[order]).take(np.argsort(order))
        firsts = list(accumulate(self.sizes, initial=0))
        ends = np.searchsorted(rows, firsts)
        asked = [
            self.client.submit(_taken, one, rows[start:stop] - first, pure=False)
            for one, first, start, stop in zip(
                self.partitions, firsts, ends, ends[1:], strict=False
            )
            if stop > start
        ]
        if not asked:
            full = int(np.argmax(self.sizes))
            asked = [self.client.submit(_taken, self.partitions[full], rows[:0], pure=False)]
        return Block.joined(self.client.gather(asked))

    def thinned(self, n_rows: int) -> Block:
        step = max(self.n_rows // n_rows, 1)
        every = self._results(partial(_every, step))
        return Block.joined(list(every))

    def _results(self, function: Callable[[Block], ResultT]) -> Iterator[ResultT]:
        """Results in block order, made where the blocks are."""
        sent = _whole(function)
        waiting: list[distributed.Future] = []
        for one in self.partitions:
            waiting.append(self.client.submit(_each, sent, one, pure=False))
            if len(waiting) == TOGETHER:
                yield from waiting.pop(0).result()
        for one in waiting:
            yield from one.result()


def _n_rows(blocks: Blocks) -> int:
    """Rows of blocks."""
    return sum(block.n_rows for block in blocks)


def _whole(function: Callable[[Block], ResultT]) -> bytes:
    """The function and its arrays in one piece.

    Arrays sent separately are not aligned in the receiver's memory, and NumPy sums them in another
    order.
    """
    from distributed.protocol.pickle import dumps

    return bytes(dumps(function))


def _each(sent: bytes, blocks: Blocks) -> list[object]:
    """Results of a function of blocks, on a worker."""
    function = pickle.loads(sent)
    with single_threaded_blas(), np.errstate(all="ignore"):
        return [function(_aligned(block)) for block in blocks]


def _aligned(block: Block) -> Block:
    """The block with its arrays where those made here would be.

    Received arrays are not aligned in memory, and the order in which an array is summed depends on
    its alignment.
    """
    copies: dict[int, object] = {}

    def own(array: Any) -> Any:
        # Bytes of which the address of every array is a multiple that NumPy allocates.
        if array is None or array.ctypes.data % 16 == 0:
            return array
        return copies.setdefault(id(array), array.copy(order="K"))

    designs = {name: own(design) for name, design in block.designs.items()}
    return replace(
        block,
        designs=designs,
        response=own(block.response),
        weight=own(block.weight),
        offset=own(block.offset),
    )


def _sums(sent: bytes, blocks: Blocks, first: int) -> list[PartialSum[Any]]:
    """Sums over the blocks of a partition, whose first block has this number among all."""
    return partial_sums(_each(sent, blocks), first)


def _joined(*sums: list[PartialSum[StatsT]]) -> list[PartialSum[StatsT]]:
    """Sums of consecutive partitions."""
    return reduce(joined, sums)


def _taken(blocks: Blocks, rows: Indices) -> Block:
    """Rows at these positions of the blocks."""
    return Block.joined(blocks).take(rows)


def _every(step: int, block: Block) -> Block:
    """Rows at this distance from one another."""
    return block.take(np.arange(0, block.n_rows, step))
