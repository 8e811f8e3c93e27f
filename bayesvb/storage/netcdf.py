"""One netCDF file per fit: written whole or not at all, read without executing anything."""

from __future__ import annotations

import importlib
import io
import itertools
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import xarray as xr

from bayesvb.errors import DataError, FileWarning, warn
from bayesvb.storage.arviz_objects import encode_attributes
from bayesvb.storage.column_codec import (
    check_ranges,
    decode_column,
    decode_index,
    encode_column,
    encode_index,
)
from bayesvb.storage.inspection import PlainFile, opened
from bayesvb.storage.json_schema import parsed_json
from bayesvb.storage.netcdf_groups import Scales, write_dataset
from bayesvb.storage.sealing import seal, unseal
from bayesvb.storage.whole_files import as_path, check_writable, write_whole

__all__ = [
    "check_writable", "dataset_to_frame", "decoded_frame", "frame_to_dataset", "read_plain",
    "read_tree", "write_tree",
]  # fmt: skip

FORMAT = 1  # raised when a file can no longer be read by the version before

MARK = "bayesvb_format"

SEALED = "bayesvb_sealed"
"""Says that a checksum follows the file: one without it lost its end."""

ENGINE: Literal["h5netcdf"] = "h5netcdf"

UNREADABLE = (
    ArithmeticError, AttributeError, LookupError, MemoryError, OSError, RuntimeError, TypeError,
    ValueError,
)  # fmt: skip
"""Exceptions that HDF5 and xarray raise for damaged files."""


def write_tree(tree: xr.DataTree, path: str | os.PathLike[str]) -> Path:
    """The path of the netCDF file that now holds the tree.

    The file is created in memory and its bytes replace the former content; after an error the
    former content stays.

    Raises
    ------
    DataError
        If nothing can be written there (see `check_writable`) or writing fails.
    """
    return write_whole(seal(_as_bytes(tree)), path)


def _as_bytes(tree: xr.DataTree) -> bytes:
    """The tree as a netCDF file in memory, in which HDF5 cannot meet the end of a disk."""
    attrs = {str(name): value for name, value in tree.attrs.items()}
    marks = {MARK: FORMAT, SEALED: 1}
    memory, numbers, scales = io.BytesIO(), itertools.count(), dict[str, Scales]()
    with importlib.import_module("h5py").File(memory, "w", track_order=True) as file:
        for node in tree.subtree:
            data, group = node.to_dataset(inherit=False), file
            if node.parent is None:
                data.attrs = encode_attributes(attrs) | marks
            else:
                group = file.create_group(node.path, track_order=True)
            above = {} if node.parent is None else scales[node.parent.path]
            scales[node.path] = write_dataset(group, data, above, numbers)
    return memory.getvalue()


def read_tree(path: str | os.PathLike[str]) -> xr.DataTree:
    """The tree that `write_tree` was given, in memory, with its attributes as Python values.

    Raises
    ------
    DataError
        If the file does not exist, it is damaged, not ours, or of a later format.
    """
    content, _ = _read(path)
    with _as_damage(path), xr.open_datatree(io.BytesIO(content), engine=ENGINE) as tree:
        return _as_written(tree.load())


def read_plain(path: str | os.PathLike[str]) -> PlainFile:
    """The file that `write_tree` wrote, of which nothing but plain arrays and texts can be read.

    Raises
    ------
    DataError
        If the file does not exist, it is damaged, not ours, or of a later format.

    Warns
    -----
    FileWarning
        Of a file without a checksum.
    """
    return _read(path)[1]


def _read(path: str | os.PathLike[str]) -> tuple[bytes, PlainFile]:
    """Bytes of a file of ours without the seal, and its content."""
    source = as_path(path)
    try:
        regular = source.is_file()
    except OSError as error:
        raise DataError(f"path={str(source)[:200]!r} cannot be read: {error.strerror}") from error
    if not regular:
        why = "is a folder" if source.is_dir() else "does not exist, or is not a regular file"
        raise DataError(f"path={str(source)!r} {why}", hint="give a file that fit.save() wrote")
    with _as_damage(path):
        content, sealed = unseal(source.read_bytes())
        file = opened(content)
        mark = _number(file, MARK)
        if _number(file, SEALED) and not sealed:
            raise DataError("its last bytes, which hold the checksum, are not there")
    _check_mark(path, mark)
    if not sealed:
        warn(
            f"path={str(path)!r} was saved without a checksum, by version 0.1 or another program: "
            "damage cannot be detected. Save the fit again",
            FileWarning,
        )
    return content, file


def _check_mark(path: str | os.PathLike[str], mark: int | None) -> None:
    """Refuse files that are not ours, or of a later format."""
    if mark is None:
        raise DataError(
            f"path={str(path)!r} is not a bayesvb file",
            hint="give a file that fit.save() or `bayesvb fit --save` wrote",
        )
    if mark > FORMAT:
        raise DataError(
            f"path={str(path)!r} has format {mark}, this version reads up to {FORMAT}",
            hint="pip install --upgrade bayesvb",
        )


@contextmanager
def _as_damage(path: str | os.PathLike[str]) -> Iterator[None]:
    """Whatever stops the reading of a file, as one message."""
    try:
        yield
    except UNREADABLE as error:
        said = error.why if isinstance(error, DataError) else str(error)
        raise DataError(
            f"path={str(path)!r} is not a bayesvb file, or it is damaged: {said}",
            hint="give a file that fit.save() wrote; a truncated copy cannot be read",
        ) from error


def _number(file: PlainFile, name: str) -> int | None:
    """A whole number among the attributes of the root."""
    value = file.attribute(name)
    return None if value is None else int(np.asarray(value).item())


def frame_to_dataset(frame: pd.DataFrame) -> xr.Dataset:
    """The frame as one-dimensional arrays of numbers, with everything else in one JSON text.

    Kept are values, dtypes (numbers, nullable, text, categories, dates, periods, intervals,
    objects that are text or numbers), column labels, the index with names and levels. Not kept
    is ``frame.attrs``.

    Raises
    ------
    DataError
        If a column is of a type that cannot be stored.

    Examples
    --------
    >>> frame = pd.DataFrame({"x": [1.0, 2.0], "g": pd.Categorical(["a", "b"])}, index=[7, 7])
    >>> dataset_to_frame(frame_to_dataset(frame)).equals(frame)
    True
    """
    columns = {
        f"column_{i}": encode_column(frame.iloc[:, i], name) for i, name in enumerate(frame.columns)
    }
    columns |= {"index": encode_index(frame.index), "labels": encode_index(frame.columns)}
    variables = {}
    for name, column in columns.items():
        for role, array in column.parts.items():
            dim = "row" if len(array) == len(frame) else f"{name}_{role}_entry"
            variables[f"{name}_{role}"] = (dim, array)
    schema = json.dumps({name: column.meta for name, column in columns.items()})
    return xr.Dataset(variables | {"schema": ((), np.array(schema, dtype=object))})


def dataset_to_frame(dataset: xr.Dataset) -> pd.DataFrame:
    """The frame that `frame_to_dataset` was given."""
    arrays = {str(name): dataset[name].to_numpy() for name in dataset.data_vars if name != "schema"}
    return decoded_frame(str(dataset["schema"].item()), arrays)


def decoded_frame(
    text: str, arrays: Mapping[str, np.ndarray], *, most: int | None = None
) -> pd.DataFrame:
    """The frame that `frame_to_dataset` was given, from its schema and its arrays of numbers.

    Parameters
    ----------
    text : str
        The schema.
    arrays : mapping
        Arrays by name.
    most : int, optional
        Rows that the frame can have at most.

    Raises
    ------
    DataError
        If they do not form a frame.
    """
    schema = parsed_json(text)
    if not isinstance(schema, dict) or not {"index", "labels"} <= set(schema):
        raise DataError("the description of the columns of the data is missing")
    parts = {
        name: {
            role.removeprefix(f"{name}_"): array
            for role, array in arrays.items()
            if role.startswith(f"{name}_")
        }
        for name in schema
    }
    if most is not None:
        check_ranges(schema, max(most, len(schema)))
    index = decode_index(schema["index"], parts["index"])
    labels = decode_index(schema["labels"], parts["labels"])
    if len(labels) != len(schema) - 2:
        raise DataError("there are not as many labels as columns")
    decoded = [
        decode_column(schema[f"column_{i}"], parts[f"column_{i}"]) for i in range(len(labels))
    ]
    series = {i: pd.Series(a, index=index, dtype=a.dtype) for i, a in enumerate(decoded)}
    return pd.DataFrame(series, index=index).set_axis(labels, axis="columns")


def _as_written(tree: xr.DataTree) -> xr.DataTree:
    """The tree with its attributes as they were given: a file makes scalars and lists arrays."""
    for node in tree.subtree:
        for name, value in node.attrs.items():
            if isinstance(value, np.generic | np.ndarray):
                node.attrs[name] = value.tolist()
    for name in (MARK, SEALED):
        tree.attrs.pop(name, None)
    return tree
