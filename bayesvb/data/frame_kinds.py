"""Kinds of tables that are read in blocks, and their readers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from bayesvb.data.dask_frames import DaskFrames
from bayesvb.data.frame_streams import AbstractFrames, CalledFrames, in_pieces
from bayesvb.data.lazy_frames import DuckDBFrames, PolarsFrames
from bayesvb.data.parquet_frames import ParquetFrames

QUERIES: Mapping[tuple[str, str], Callable[[Any], AbstractFrames]] = {
    ("duckdb", "DuckDBPyRelation"): lambda data: DuckDBFrames(data),
    ("polars", "LazyFrame"): lambda data: PolarsFrames(data),
    ("dask", "DataFrame"): lambda data: DaskFrames.of(data),
}
"""Module and name of the types of queries, and how their rows are read."""


def frames_of(data: object) -> AbstractFrames | None:
    """Rows of a table that is not in memory, as frames; None of any other.

    Parameters
    ----------
    data : path, query, function or iterable of tables
        Parquet files (one, a folder's, or a pattern's), a DuckDB relation, a polars LazyFrame, a
        Dask DataFrame, a function that yields tables, or a list of tables.

    Raises
    ------
    DataError
        If the files do not exist, or rows can be read once only.

    Examples
    --------
    >>> frames_of({"x": [1.0, 2.0]}) is None
    True
    >>> frames_of(lambda: [{"x": [1.0, 2.0]}]).names
    ('x',)
    """
    if isinstance(data, AbstractFrames):
        return data
    if isinstance(data, str | os.PathLike):
        return ParquetFrames.of(data)
    kind = type(data)
    make = QUERIES.get((kind.__module__.split(".")[0].lstrip("_"), kind.__name__))
    if make is not None:
        return make(data)
    if isinstance(data, Iterator):
        return in_pieces(data)
    if isinstance(data, list | tuple) and data and all(map(_is_table, data)):
        return in_pieces(data)
    if callable(data) and not isinstance(data, type) and not hasattr(data, "columns"):
        return CalledFrames(data)
    return None


def _is_table(data: object) -> bool:
    """Whether it has named columns."""
    return hasattr(data, "columns") or isinstance(data, Mapping)
