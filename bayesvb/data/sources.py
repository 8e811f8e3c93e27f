"""Sources: all rows of a model, a block at a time, and what may be asked of them.

Models, engines and results know ``AbstractSource`` only, and never which blocks there are. Work per
row streams over the blocks; work that needs a few rows asks for a sample. A source of another kind
says how to go over its rows and how many there are; everything else is derived here.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import TypeVar, final

import numpy as np
from jaxtyping import Float, Int

from bayesvb.data.blocks import BLOCK_ROWS, Block
from bayesvb.data.dyadic_sums import partial_sums, total
from bayesvb.data.forked_rows import ForkedRows
from bayesvb.data.statistics import SufficientStats
from bayesvb.numerics.arrays import Indices, RowIntegers, RowMask, RowVector
from bayesvb.numerics.forking import can_fork, forked

StatsT = TypeVar("StatsT", bound=SufficientStats)
ResultT = TypeVar("ResultT")
SourceT = TypeVar("SourceT", bound="AbstractSource")


GATHERED_ROWS = 1 << 15
"""Rows in random order that are gathered from all blocks together: one at a time takes longer."""

MIXED_ROWS = 1 << 17
"""Consecutive rows among which minibatches are drawn at random if rows are read in blocks: rows of
few blocks may be similar, from one file or one level, and steps would follow them."""


@dataclass(frozen=True)
class AbstractSource(abc.ABC):
    """All rows in a fixed order, the same in every pass.

    Attributes
    ----------
    workers : int
        Processors that go over the rows; no bit of any result depends on it.
    """

    workers: int = field(default=1, kw_only=True)

    @abc.abstractmethod
    def iterate(self) -> Iterator[Block]:
        """Blocks in the order of the rows, the same ones at each call; at least one."""

    @property
    @abc.abstractmethod
    def n_rows(self) -> int:
        """Number of rows of all blocks."""

    @property
    @abc.abstractmethod
    def total_weight(self) -> float:
        """Sum of the case weights; the number of rows without weights."""

    def with_workers(self: SourceT, workers: int) -> SourceT:
        """Source of the same rows, processed by this number of processors."""
        return replace(self, workers=workers)

    @property
    def in_memory(self) -> bool:
        """Whether all rows are in memory, where a forked process has them at once."""
        return False

    @contextmanager
    def shared(self: SourceT) -> Iterator[SourceT]:
        """Context in which several processes share the rows."""
        yield self

    @property
    def rows_at_hand(self) -> bool:
        """Whether single rows can be read here, and not only sums over all."""
        return True

    def map_reduce(self, function: Callable[[Block], StatsT]) -> StatsT:
        """Sum of ``function(block)`` over the blocks, neighbours first.

        The order makes the result the same to the last bit for any number of workers; another
        block size changes it by rounding only.
        """
        return total(partial_sums(self._results(function)))

    def map_reduce_all(self, functions: Sequence[Callable[[Block], StatsT]]) -> list[StatsT]:
        """Sums of several functions, none of which depends on another's sum.

        Sources whose rows are elsewhere ask for all of them at once.
        """
        return [self.map_reduce(function) for function in functions]

    def map_rows(
        self, function: Callable[[Block], Float[np.ndarray, "*axes _"]]
    ) -> Float[np.ndarray, "*axes rows"]:
        """Values of every row, on the last axis, in the order of the rows."""
        return np.concatenate(list(self._results(function)), axis=-1)

    def weights(self) -> RowVector | None:
        """Case weights of all rows; None if every row counts once."""
        weights = [(block.n_rows, block.weight) for block in self.iterate()]
        if all(weight is None for _, weight in weights):
            return None
        return np.concatenate([np.ones(n) if weight is None else weight for n, weight in weights])

    def sample(self, n_rows: int, rng: np.random.Generator) -> Block:
        """Rows drawn without replacement, in their order; all rows if there are not more."""
        if self.n_rows <= n_rows:
            return self.whole()
        return self.take(np.sort(rng.choice(self.n_rows, n_rows, replace=False)))

    def standing_for_all(self, n_rows: int, rng: np.random.Generator) -> InMemorySource:
        """A sample of ``n_rows`` rows whose weights add up to the total weight."""
        sample = self.sample(n_rows, rng)
        weight = np.ones(sample.n_rows) if sample.weight is None else sample.weight
        weight = weight * (self.total_weight / weight.sum())
        return InMemorySource.of(replace(sample, weight=weight), workers=self.workers)

    def thinned(self, n_rows: int) -> Block:
        """About this many rows, at even distances within each block."""
        step = max(self.n_rows // n_rows, 1)
        every = (block.take(np.arange(0, block.n_rows, step)) for block in self.iterate())
        return Block.joined(list(every))

    def whole(self) -> Block:
        """All rows, as one block."""
        return self.take(np.arange(self.n_rows))

    def take(self, rows: Indices) -> Block:
        """Rows at these positions, in the requested order."""
        if (rows[1:] < rows[:-1]).any():
            order = np.argsort(rows, kind="stable")
            return self.take(rows[order]).take(np.argsort(order))
        pieces: list[Block] = []
        first = 0
        for block in self.iterate():
            start, stop = np.searchsorted(rows, (first, first + block.n_rows))
            if stop > start:
                pieces.append(block.take(rows[start:stop] - first))
            if stop == len(rows):
                break
            first += block.n_rows
        return Block.joined(pieces or [block.part(0, 0)])

    def without(self, rows: Int[np.ndarray, " left_out"]) -> AbstractSource:
        """All rows but those at these positions."""
        return RemainingRows(self, ~np.isin(np.arange(self.n_rows), rows), workers=self.workers)

    def minibatches(self, n_rows: int, rng: np.random.Generator) -> Iterator[AbstractSource]:
        """All rows once, about ``n_rows`` of them at a time and nearly as many each time.

        In the order of the blocks, and at random among the rows that are in memory together:
        ``MIXED_ROWS``, or as many as make a minibatch. All rows at once are the source itself.
        """
        if self.n_rows < 2 * n_rows:
            yield self
            return
        for group in _grouped(self.iterate(), max(n_rows, MIXED_ROWS)):
            whole = Block.joined(group)
            yield from self._batches(whole, rng.permutation(whole.n_rows), n_rows)

    def _batches(self, block: Block, order: RowIntegers, n_rows: int) -> Iterator[InMemorySource]:
        """Rows of a block in this order, in parts of nearly equal size."""
        for rows in np.array_split(order, max(len(order) // n_rows, 1)):
            yield InMemorySource.of(block.take(rows), workers=self.workers)

    def empty(self) -> Block:
        """No rows, in blocks' shapes: sums of it are zeros of the right shapes."""
        return self.take(np.arange(0))

    def _results(self, function: Callable[[Block], ResultT]) -> Iterator[ResultT]:
        """Results in block order; one block alone needs no threads."""
        waiting = self.iterate()
        if self.workers == 1 or forked():
            yield from map(function, waiting)
            return
        ahead = list(islice(waiting, 2))
        if len(ahead) == 1:
            yield function(ahead[0])
            return
        with ThreadPoolExecutor(self.workers) as pool:
            yield from _in_order(pool, function, chain(ahead, waiting), 4 * self.workers)


@final
@dataclass(frozen=True)
class InMemorySource(AbstractSource):
    """Rows that are all in memory, as a sequence of blocks.

    Attributes
    ----------
    blocks : tuple of Block
    processes : ForkedRows, optional
        Processes that go over the rows for sums.
    """

    blocks: tuple[Block, ...]
    processes: ForkedRows | None = field(default=None, kw_only=True, compare=False, repr=False)

    @classmethod
    def of(cls, whole: Block, *, workers: int = 1) -> InMemorySource:
        """Rows of one block, cut into blocks of the size that is fastest."""
        return cls(tuple(whole.split(BLOCK_ROWS)), workers=workers)

    @property
    def in_memory(self) -> bool:
        return True

    def iterate(self) -> Iterator[Block]:
        return iter(self.blocks)

    @contextmanager
    def shared(self) -> Iterator[InMemorySource]:
        """Context in which as many processes as there are workers share the rows.

        By threads as before where processes cannot be made safely, and where one block is all.
        """
        places = min(self.workers, len(self.blocks))
        if places < 2 or not can_fork():
            yield self
            return
        processes = ForkedRows(self.blocks, places)
        try:
            yield replace(self, processes=processes)
        finally:
            processes.close()

    def map_reduce(self, function: Callable[[Block], StatsT]) -> StatsT:
        """Sum of ``function(block)`` over the blocks; see ``AbstractSource``."""
        sums = None if self.processes is None else self.processes.sums(function)
        return super().map_reduce(function) if sums is None else total(sums)

    @property
    def n_rows(self) -> int:
        return sum(block.n_rows for block in self.blocks)

    @property
    def total_weight(self) -> float:
        return float(sum(b.n_rows if b.weight is None else b.weight.sum() for b in self.blocks))

    def without(self, rows: Int[np.ndarray, " left_out"]) -> InMemorySource:
        """All rows but those at these positions, copied into one block."""
        rest = np.delete(np.arange(self.n_rows), rows)
        return InMemorySource((self.take(rest),), workers=self.workers)

    def minibatches(self, n_rows: int, rng: np.random.Generator) -> Iterator[AbstractSource]:
        """All rows once in random order, about ``n_rows`` at a time; see ``AbstractSource``."""
        if self.n_rows < 2 * n_rows:
            yield self
            return
        order = rng.permutation(self.n_rows)
        together = max(GATHERED_ROWS // n_rows, 1) * n_rows
        for rows in np.array_split(order, max(self.n_rows // together, 1)):
            block = self.take(np.sort(rows))
            yield from self._batches(block, rng.permutation(len(rows)), n_rows)

    def with_rows(self, other: InMemorySource) -> InMemorySource:
        """Source of these rows, then of the other source's rows."""
        return InMemorySource((*self.blocks, *other.blocks), workers=self.workers)

    def each(self, function: Callable[[Block], Block]) -> InMemorySource:
        """Source of the same rows, with the function applied to each block."""
        return InMemorySource(tuple(map(function, self.blocks)), workers=self.workers)


@final
@dataclass(frozen=True)
class RemainingRows(AbstractSource):
    """Some of the rows of another source, copied a block at a time in each pass.

    Attributes
    ----------
    source : AbstractSource
    kept : ndarray, shape (rows of the source,)
    """

    source: AbstractSource
    kept: RowMask

    def iterate(self) -> Iterator[Block]:
        """Iterate over the remainder of each block, if it has any."""
        first = 0
        for block in self.source.iterate():
            remaining = np.flatnonzero(self.kept[first : first + block.n_rows])
            first += block.n_rows
            if len(remaining):
                yield block.take(remaining)

    @property
    def n_rows(self) -> int:
        """Number of rows that are kept."""
        return int(self.kept.sum())

    @property
    def total_weight(self) -> float:
        weight = self.source.weights()
        return float(self.n_rows if weight is None else weight[self.kept].sum())


def _grouped(blocks: Iterator[Block], n_rows: int) -> Iterator[list[Block]]:
    """Consecutive blocks in groups of at least ``n_rows`` rows, a remainder with the last group."""
    ahead: list[Block] = []
    group: list[Block] = []
    for block in blocks:
        group.append(block)
        if sum(one.n_rows for one in group) >= n_rows:
            if ahead:
                yield ahead
            ahead, group = group, []
    if ahead or group:
        yield ahead + group


def _in_order(
    pool: ThreadPoolExecutor,
    function: Callable[[Block], ResultT],
    waiting: Iterator[Block],
    ahead: int,
) -> Iterator[ResultT]:
    """Results in block order, with only a few blocks in flight so that memory stays bounded.

    The context goes with each block: ``numpy.errstate`` holds in threads as it does without.
    """

    def submit(block: Block) -> Future[ResultT]:
        return pool.submit(copy_context().run, function, block)

    running = [submit(block) for block in islice(waiting, ahead)]
    while running:
        yield running.pop(0).result()
        running.extend(submit(block) for block in islice(waiting, 1))
