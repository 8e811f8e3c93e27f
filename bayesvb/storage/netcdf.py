"""One netCDF file per fit: written whole or not at all, read without executing anything."""

from __future__ import annotations

import importlib
import json
import os
import secrets
import tempfile
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import xarray as xr

from bayesvb.errors import DataError
from bayesvb.storage.arviz_objects import encode_attributes
from bayesvb.storage.column_codec import decode_column, decode_index, encode_column, encode_index

__all__ = ["check_writable", "dataset_to_frame", "frame_to_dataset", "read_tree", "write_tree"]

FORMAT = 1  # raised when a file can no longer be read by the version before

MARK = "bayesvb_format"

ENGINE: Literal["h5netcdf"] = "h5netcdf"

UNREADABLE = (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError)


def check_writable(path: str | os.PathLike[str]) -> Path:
    """The path as a Path, if a file can be written there; ask before a long computation.

    Raises
    ------
    DataError
        If the folder does not exist or takes no files, or the path is a folder or read-only.
    """
    target = Path(path)
    folder = target.resolve().parent
    if target.is_dir():
        raise DataError(f"path={str(target)!r} is a folder", hint="add the name of a file")
    if not folder.is_dir():
        raise DataError(
            f"path={str(target)!r}: the folder {str(folder)!r} does not exist",
            hint=f"create it: mkdir -p {folder}",
        )
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise DataError(
            f"path={str(target)!r}: no file can be written in {str(folder)!r} ({error.strerror})",
            hint="choose another folder",
        ) from error
    if target.exists() and not os.access(target, os.W_OK):
        raise DataError(f"path={str(target)!r} is read-only", hint="choose another name")
    return target


def write_tree(tree: xr.DataTree, path: str | os.PathLike[str]) -> Path:
    """The path of the netCDF file that now holds the tree.

    The file is written under a temporary name beside it and then renamed, so that a failure
    leaves what was there before.

    Raises
    ------
    DataError
        If nothing can be written there (see `check_writable`) or writing fails.
    """
    target = check_writable(path)
    final = target.resolve()  # a link stays a link
    partial = final.with_name(f".{final.name}.{secrets.token_hex(4)}.part")
    marked = tree.copy()
    attrs = {str(name): value for name, value in tree.attrs.items()}
    marked.attrs = encode_attributes(attrs) | {MARK: FORMAT}
    try:
        marked.to_netcdf(partial, engine=ENGINE)
        os.replace(partial, final)
    except OSError as error:
        raise DataError(
            f"path={str(target)!r} could not be written: {error}", hint="is the disk full?"
        ) from error
    finally:
        partial.unlink(missing_ok=True)
    return target


def read_tree(path: str | os.PathLike[str]) -> xr.DataTree:
    """The tree that `write_tree` was given, in memory, with its attributes as Python values.

    Raises
    ------
    DataError
        If there is no such file, it is damaged, not ours, or of a later format.
    """
    source = Path(path)
    if not source.is_file():
        why = "is a folder" if source.is_dir() else "does not exist"
        raise DataError(f"path={str(source)!r} {why}", hint="give a file that fit.save() wrote")
    try:
        mark = _format_of(source)
        if mark is not None and mark <= FORMAT:
            with xr.open_datatree(source, engine=ENGINE) as opened:
                return _as_written(opened.load())
    except UNREADABLE as error:
        raise DataError(
            f"path={str(source)!r} is not a bayesvb file, or it is damaged: {error}",
            hint="give a file that fit.save() wrote; a truncated copy cannot be read",
        ) from error
    if mark is None:
        raise DataError(
            f"path={str(source)!r} is not a bayesvb file",
            hint="give a file that fit.save() or `bayesvb fit --save` wrote",
        )
    raise DataError(
        f"path={str(source)!r} has format {mark}, this version reads up to {FORMAT}",
        hint="pip install --upgrade bayesvb",
    )


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
    schema = json.loads(str(dataset["schema"].item()))
    parts = {
        name: {
            str(role).removeprefix(f"{name}_"): dataset[role].to_numpy()
            for role in dataset.data_vars
            if str(role).startswith(f"{name}_")
        }
        for name in schema
    }
    index = decode_index(schema["index"], parts["index"])
    labels = decode_index(schema["labels"], parts["labels"])
    arrays = [
        decode_column(schema[f"column_{i}"], parts[f"column_{i}"]) for i in range(len(labels))
    ]
    series = {i: pd.Series(a, index=index, dtype=a.dtype) for i, a in enumerate(arrays)}
    return pd.DataFrame(series, index=index).set_axis(labels, axis="columns")


def _format_of(source: Path) -> int | None:
    """Format of a file of ours, None for any other HDF5 file, OSError for what is not HDF5."""
    with importlib.import_module("h5py").File(source, "r") as opened:
        mark = opened.attrs.get(MARK)
    return None if mark is None else int(np.asarray(mark).item())


def _as_written(tree: xr.DataTree) -> xr.DataTree:
    """The tree with its attributes as they were given: a file makes scalars and lists arrays."""
    for node in tree.subtree:
        for name, value in node.attrs.items():
            if isinstance(value, np.generic | np.ndarray):
                node.attrs[name] = value.tolist()
    del tree.attrs[MARK]
    return tree
