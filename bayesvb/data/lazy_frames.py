"""Rows of queries that other libraries answer: a DuckDB relation, a polars LazyFrame."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

import pandas as pd

from bayesvb.data.frame_streams import FRAME_ROWS, AbstractFrames
from bayesvb.errors import DataError

if TYPE_CHECKING:
    import duckdb
    import polars as pl


@final
@dataclass(frozen=True, eq=False)
class DuckDBFrames(AbstractFrames):
    """Rows of a DuckDB relation, which is executed in each pass.

    Attributes
    ----------
    relation : duckdb.DuckDBPyRelation
    """

    relation: duckdb.DuckDBPyRelation

    @property
    def words(self) -> str:
        return "a DuckDB relation"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(map(str, self.relation.columns))

    def each(self, names: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Iterate over these columns of all rows; other columns are not computed."""
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
        try:
            query = self.relation.project(quoted)
            newer = hasattr(query, "to_arrow_reader")
            read = query.to_arrow_reader if newer else query.fetch_arrow_reader
            for batch in read(FRAME_ROWS):
                if batch.num_rows:
                    yield batch.to_pandas()
        except Exception as error:
            raise _failed(error, self.words, "duckdb") from error


@final
@dataclass(frozen=True, eq=False)
class PolarsFrames(AbstractFrames):
    """Rows of a polars LazyFrame, which is collected in pieces in each pass.

    Attributes
    ----------
    query : polars.LazyFrame
    """

    query: pl.LazyFrame

    @property
    def words(self) -> str:
        return "a polars LazyFrame"

    @property
    def names(self) -> tuple[str, ...]:
        try:
            return tuple(self.query.collect_schema().names())
        except Exception as error:
            raise _failed(error, self.words, "polars") from error

    def each(self, names: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Iterate over these columns of all rows; other columns are not computed."""
        try:
            for piece in self._pieces(self.query.select(list(names))):
                if piece.height:
                    yield piece.to_pandas()
        except Exception as error:
            raise _failed(error, self.words, "polars") from error

    @staticmethod
    def _pieces(query: pl.LazyFrame) -> Iterator[pl.DataFrame]:
        """The rows in pieces, read in sequence if polars cannot stream the query."""
        if hasattr(query, "collect_batches"):
            yield from query.collect_batches(chunk_size=FRAME_ROWS, maintain_order=True)
            return
        start, piece = 0, None
        while piece is None or piece.height == FRAME_ROWS:
            piece = query.slice(start, FRAME_ROWS).collect()
            start += FRAME_ROWS
            yield piece


def _failed(error: Exception, words: str, module: str) -> Exception:
    """Error with another library's message on its query; any other error unchanged."""
    if not type(error).__module__.lstrip("_").startswith(module):
        return error
    message = " ".join(str(error).split())
    return DataError(
        f"data: {words} cannot be computed: {message}",
        hint="run this query alone to find the error",
    )
