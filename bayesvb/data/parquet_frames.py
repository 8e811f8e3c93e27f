"""Rows of Parquet files: of one, of a folder, or of file names with a pattern."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, final

import pandas as pd

from bayesvb.data.frame_streams import FRAME_ROWS, AbstractFrames
from bayesvb.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

ENDINGS = (".parquet", ".pq", ".parq")


@final
@dataclass(frozen=True, eq=False)
class ParquetFrames(AbstractFrames):
    """Rows of files in the order of their names.

    Attributes
    ----------
    path : str
        As it was given.
    files : tuple of str
    schemas : tuple of pyarrow.Schema
        Columns of each.
    """

    path: str
    files: tuple[str, ...]
    schemas: tuple[pa.Schema, ...]

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> ParquetFrames:
        """The files of a path, the columns of each read from its end.

        Raises
        ------
        DataError
            If no file exists, or one is not a Parquet file.
        """
        files = parquet_files(os.fspath(path))
        return cls(os.fspath(path), files, tuple(map(_schema, files)))

    @property
    def words(self) -> str:
        return f"{self.path!r}"

    @property
    def names(self) -> tuple[str, ...]:
        """Columns of the first file."""
        return tuple(self.schemas[0].names)

    def each(self, names: Sequence[str]) -> Iterator[pd.DataFrame]:
        """Iterate over these columns of all rows; no other column is read."""
        dataset = _arrow("pyarrow.dataset")
        self._check_columns(names)
        for file in self.files:
            try:
                # Batches and files that are read ahead.
                batches = dataset.dataset(file, format="parquet").to_batches(
                    columns=list(names),
                    batch_size=FRAME_ROWS,
                    batch_readahead=2,
                    fragment_readahead=1,
                )
                for batch in batches:
                    if batch.num_rows:
                        yield batch.to_pandas().reset_index(drop=True)
            except (OSError, ValueError) as error:
                raise DataError(
                    f"data: {file!r} cannot be read: {' '.join(str(error).split())}",
                    hint="the file is damaged: write it again, or remove it",
                ) from error

    def _check_columns(self, names: Sequence[str]) -> None:
        """Refuse files that lack a column of the first one, or hold something else in it."""
        first = self.schemas[0]
        for file, schema in zip(self.files, self.schemas, strict=True):
            for name in names:
                if name not in schema.names:
                    raise DataError(
                        f"data: {file!r} has no column `{name}`, which {self.files[0]!r} has",
                        hint="files that are read together have the same columns",
                    )
                if _kind(schema, name) != _kind(first, name):
                    raise DataError(
                        f"data: `{name}` is {schema.field(name).type} in {file!r} and "
                        f"{first.field(name).type} in {self.files[0]!r}",
                        hint="all files need the same type in a column",
                    )


def _kind(schema: pa.Schema, name: str) -> str:
    """Kind of a column's values: numbers of all sizes are one kind, and so are texts."""
    types = _arrow("pyarrow").types
    kind = schema.field(name).type
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    if types.is_string(kind) or types.is_large_string(kind):
        return "text"
    return "anything" if types.is_null(kind) else str(kind)


def parquet_files(path: str) -> tuple[str, ...]:
    """Files of a folder or a pattern in the order of their names; one file as it is.

    Raises
    ------
    DataError
        If there is none.
    """
    if glob.has_magic(path) and not os.path.exists(path):
        files = sorted(one for one in glob.glob(path, recursive=True) if os.path.isfile(one))
        if not files:
            raise DataError(
                f"data={path!r} matches no file", hint="correct the folder or the pattern"
            )
        return tuple(files)
    if os.path.isdir(path):
        files = sorted(str(one) for one in Path(path).rglob("*") if one.suffix in ENDINGS)
        if not files:
            raise DataError(
                f"data={path!r} is a folder without Parquet files",
                hint=f"their names end with {' or '.join(ENDINGS)}",
            )
        return tuple(files)
    if not os.path.exists(path):
        raise DataError(f"data={path!r} does not exist", hint="give the path of a Parquet file")
    return (path,)


def _schema(file: str) -> object:
    """Columns of a file."""
    try:
        return _arrow("pyarrow.parquet").read_schema(file)
    except (OSError, ValueError) as error:
        raise DataError(
            f"data: {file!r} is not a Parquet file, or damaged: {' '.join(str(error).split())}",
            hint="read tables of other formats first: data=pandas.read_csv(path)",
        ) from error


def _arrow(name: str) -> ModuleType:
    """A module of pyarrow.

    Raises
    ------
    DataError
        If it is not installed.
    """
    from importlib import import_module

    try:
        import_module("pyarrow.dataset")
        return import_module(name)
    except ImportError as error:
        raise DataError(
            "Parquet files are read by pyarrow, which is not installed",
            hint="pip install 'bayesvb[parquet]'",
        ) from error
