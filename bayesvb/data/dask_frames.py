"""Rows of a Dask DataFrame, read a partition at a time: here, or where a cluster has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar, final

import pandas as pd

from bayesvb.data.blocks import BLOCK_ROWS, Block
from bayesvb.data.dask_rows import TOGETHER, DaskRows
from bayesvb.data.frame_streams import AbstractFrames, checked_columns
from bayesvb.data.sources import AbstractSource
from bayesvb.data.streamed_rows import EncodedRows, recut

if TYPE_CHECKING:
    import dask.dataframe as dd
    import distributed
ResultT = TypeVar("ResultT")


@final
@dataclass(frozen=True, eq=False)
class DaskFrames(AbstractFrames):
    """Partitions of a Dask DataFrame.

    Attributes
    ----------
    table : dask.dataframe.DataFrame
    client : distributed.Client or None
        The cluster in use; without one partitions are computed in this process.
    """

    table: dd.DataFrame
    client: distributed.Client | None = field(repr=False)

    @classmethod
    def of(cls, table: dd.DataFrame) -> DaskFrames:
        """Partitions of a table, on the cluster of the current client if there is one."""
        return cls(table, current_client())

    @property
    def words(self) -> str:
        return "a Dask DataFrame"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(map(str, self.table.columns))

    @property
    def remote(self) -> bool:
        return self.client is not None

    def each(self, names: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Iterate over these columns of each partition, computed on demand."""
        columns = self.table[list(names)]
        for number in range(columns.npartitions):
            yield columns.partitions[number].compute()

    def map(
        self, function: Callable[[int, pd.DataFrame], ResultT], names: Sequence[str]
    ) -> Iterator[ResultT]:
        """Results of a function of each partition, computed where it is stored; in their order."""
        if self.client is None:
            yield from super().map(function, names)
            return
        self.count.times += 1
        asked = partial(_asked, function, tuple(names), self.words)
        waiting: list[distributed.Future] = []
        for number, table in enumerate(self._tables(names)):
            waiting.append(self.client.submit(asked, number, table, pure=False))
            if len(waiting) == TOGETHER:
                yield waiting.pop(0).result()
        for one in waiting:
            yield one.result()

    def source(
        self,
        encode: Callable[[int, pd.DataFrame], EncodedRows],
        names: Sequence[str],
        standardise: Callable[[EncodedRows], Block],
        counted: tuple[int, float],
    ) -> AbstractSource:
        """Blocks in the memory of the workers; without a cluster, read again in every pass."""
        if self.client is None:
            return super().source(encode, names, standardise, counted)
        self.count.times += 1
        make = partial(_blocks, encode, standardise)
        return DaskRows.of(self.client, self._tables(names), make, counted[1])

    def _tables(self, names: Sequence[str]) -> list[distributed.Future]:
        """A future for each partition."""
        assert self.client is not None
        tables: list[distributed.Future] = self.client.compute(self.table[list(names)].to_delayed())
        return tables


def _asked(
    function: Callable[[int, pd.DataFrame], ResultT],
    names: tuple[str, ...],
    words: str,
    number: int,
    table: pd.DataFrame,
) -> ResultT:
    """Result of a function of a partition, on a worker."""
    return function(number, checked_columns(table, names, words))


def _blocks(
    encode: Callable[[int, pd.DataFrame], EncodedRows],
    standardise: Callable[[EncodedRows], Block],
    number: int,
    table: pd.DataFrame,
) -> tuple[Block, ...]:
    """Blocks of a partition, on a worker."""
    rows = encode(number, table)
    return tuple(map(standardise, recut(iter([rows] if len(rows) else []), BLOCK_ROWS)))


def current_client() -> object:
    """The client of the Dask cluster in use; None if there is none."""
    try:
        from distributed import get_client
    except ImportError:
        return None
    try:
        return get_client()
    except ValueError:
        return None
