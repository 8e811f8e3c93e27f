"""Tables that are not all in memory: their rows as frames, some at a time, as often as asked."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar, final

import pandas as pd

from bayesvb.data.blocks import Block
from bayesvb.data.frames import as_frame, nearest
from bayesvb.data.sources import AbstractSource
from bayesvb.data.streamed_rows import EncodedRows, StreamedRows
from bayesvb.errors import DataError

ResultT = TypeVar("ResultT")

FRAME_ROWS = 1 << 17
"""Rows of a frame: of ten columns of numbers they are ten megabytes."""


@dataclass
class ReadCount:
    """Number of complete passes over a table."""

    times: int = 0


@dataclass(frozen=True, eq=False)
class AbstractFrames(abc.ABC):
    """Rows of a table in an order that stays the same, as frames of some rows.

    Attributes
    ----------
    count : ReadCount
        Number of passes over them.
    """

    count: ReadCount = field(default_factory=ReadCount, kw_only=True)

    @property
    @abc.abstractmethod
    def words(self) -> str:
        """Name of the source, for the middle of a sentence."""

    @property
    @abc.abstractmethod
    def names(self) -> tuple[str, ...]:
        """Names of all columns."""

    @abc.abstractmethod
    def each(self, names: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Iterate over frames of these columns of all rows."""

    def read(self, names: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Iterate over frames of these columns of all rows, and count the pass.

        Raises
        ------
        DataError
            If the rows cannot be read.
        """
        self.count.times += 1
        for frame in self.each(names):
            yield checked_columns(frame, names, self.words)

    def map(
        self, function: Callable[[int, pd.DataFrame], ResultT], names: Sequence[str]
    ) -> Iterator[ResultT]:
        """Results of a function of each frame's number and the frame, in their order."""
        for number, frame in enumerate(self.read(names)):
            yield function(number, frame)

    def source(
        self,
        encode: Callable[[int, pd.DataFrame], EncodedRows],
        names: Sequence[str],
        standardise: Callable[[EncodedRows], Block],
        counted: tuple[int, float],
    ) -> AbstractSource:
        """Standardised blocks of all rows, of which number and sum of weights are known."""
        return StreamedRows(partial(self.map, encode, names), standardise, counted)

    @property
    def remote(self) -> bool:
        """Whether rows stay remote, and only results are sent."""
        return False


def checked_columns(frame: pd.DataFrame, names: Sequence[str], words: str) -> pd.DataFrame:
    """The columns of a frame, which must have all of them.

    Raises
    ------
    DataError
        Naming the first that is not there.
    """
    absent = [name for name in names if name not in frame.columns]
    if absent:
        raise DataError(
            f"a block of rows of {words} lacks `{absent[0]}`",
            hint=nearest(absent[0], frame.columns),
        )
    return frame[list(names)]


@final
@dataclass(frozen=True, eq=False)
class CalledFrames(AbstractFrames):
    """Tables that a function yields, the same ones at each call.

    Attributes
    ----------
    make : callable
        Returns an iterable of tables.
    """

    make: Callable[[], Iterable[object]]

    @property
    def words(self) -> str:
        return "a function"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of the first table."""
        for frame in self._tables():
            return tuple(map(str, as_frame(frame).columns))
        raise DataError("data: the function yields no table", hint="it must yield one or more")

    def each(self, names: Sequence[str]) -> Iterator[pd.DataFrame]:
        """The tables that have rows, large ones cut."""
        for table in self._tables():
            frame = as_frame(table)
            for start in range(0, len(frame), FRAME_ROWS):
                yield frame.iloc[start : start + FRAME_ROWS]

    def _tables(self) -> Iterator[object]:
        tables = self.make()
        if not isinstance(tables, Iterable) or hasattr(tables, "columns"):
            raise DataError(
                f"data is a function that returns {type(tables).__name__}",
                hint="it must return or yield tables: def blocks(): yield table",
            )
        return iter(tables)


def in_pieces(tables: Iterable[object]) -> CalledFrames:
    """Tables of a collection, which can be gone over again.

    Raises
    ------
    DataError
        If they can be gone over once only.
    """
    if isinstance(tables, Iterator):
        raise DataError(
            f"data is an iterator ({type(tables).__name__}), and rows are read several times",
            hint="pass a function that returns one: data=lambda: pandas.read_csv(path, "
            "chunksize=100_000)",
        )
    return CalledFrames(partial(iter, tables))
