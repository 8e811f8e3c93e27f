"""Data frames of any library as pandas, and their columns as numbers or as levels."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Literal

import numpy as np
import pandas as pd

from bayesvb.errors import DataError
from bayesvb.numerics.arrays import RowMask, RowVector

Kind = Literal["number", "levels"]

# pandas' names for what an object column holds -> what it is to a formula.
INFERRED: Mapping[str, Kind] = {
    "boolean": "number",
    "integer": "number",
    "floating": "number",
    "mixed-integer-float": "number",
    "decimal": "number",
    "empty": "number",
    "string": "levels",
    "categorical": "levels",
}

TEMPORAL = {
    "datetime", "datetime64", "date", "time", "timedelta", "timedelta64", "period",
}  # fmt: skip

UNSURE = {"unknown-array", "mixed"}  # a dictionary of Arrow; NaT among numbers

COLLECT = ("collect", "df")
"""Call that makes a table of a polars LazyFrame, or of a DuckDB relation where pyarrow is
absent."""

SHOWN = 8
"""Columns that a message names."""

ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?")
"""A date as ISO 8601 writes it, without a time zone."""


def as_frame(data: object) -> pd.DataFrame:
    """The data as a pandas frame with text column names; the user's object is left as it is.

    Parameters
    ----------
    data : pandas, polars or pyarrow table, mapping of columns, or structured array
        Single values of a mapping are the same in all rows, or make one row. Any eager frame
        that narwhals knows is read.

    Raises
    ------
    DataError
        If the data are not a table, or have no column.

    Examples
    --------
    >>> as_frame({"x": [1.0, 2.0]}).shape
    (2, 1)
    >>> as_frame({"x": 1.0, "site": "north"}).shape
    (1, 2)
    """
    frame = data if isinstance(data, pd.DataFrame) else _pandas(data)
    if not frame.shape[1]:
        raise DataError("the data have no columns")
    if not all(isinstance(column, str) for column in frame.columns):
        frame = frame.set_axis([str(column) for column in frame.columns], axis=1)
    return frame


def _pandas(data: object) -> pd.DataFrame:
    """A pandas frame from anything else that has named columns."""
    try:
        if isinstance(data, Mapping):
            return _of_columns(data)
        if isinstance(data, np.ndarray) and data.dtype.names:
            return pd.DataFrame(data)
        return _from_other_library(data)
    except (TypeError, ValueError, ImportError) as error:
        hint = "give a pandas, polars or pyarrow table, or a mapping of equally long columns"
        collected = [name for name in COLLECT if callable(getattr(data, name, None))]
        if collected:
            hint = f"its rows are not in memory yet: make a table of it by .{collected[0]}()"
        raise DataError(
            f"cannot read data of type {type(data).__name__}: {error}", hint=hint
        ) from error


def _of_columns(columns: Mapping[object, object]) -> pd.DataFrame:
    """A frame of columns by name; values alone are the same in all rows, or make one row."""
    if columns and all(pd.api.types.is_scalar(value) for value in columns.values()):
        return pd.DataFrame({name: [value] for name, value in columns.items()})
    return pd.DataFrame(dict(columns))


def _from_other_library(data: Any) -> pd.DataFrame:
    """Data in memory by narwhals; data in batches, such as relations of DuckDB, by Arrow."""
    import narwhals

    if hasattr(data, "__arrow_c_stream__") and not narwhals.dependencies.is_into_dataframe(data):
        import pyarrow as pa

        data = pa.table(data)
    frame: pd.DataFrame = narwhals.from_native(data, eager_only=True).to_pandas()
    return frame


def columns_of(frame: pd.DataFrame, names: Sequence[str], *, whose: str) -> dict[str, pd.Series]:
    """Columns by name, without a copy of their values; each name must occur once.

    Raises
    ------
    DataError
        If a name is absent, or belongs to several columns.
    """
    absent = [name for name in names if name not in frame.columns]
    if absent:
        listed = ", ".join(f"`{name}`" for name in absent)
        others = [one for one in map(str, frame.columns) if one not in names]
        near = _near(absent[0], others)
        hint = (
            f"rename `{near[0]}` to `{absent[0]}`"
            if near
            else (f"add {'it' if len(absent) == 1 else 'them'}; {_listed(frame.columns)}")
        )
        raise DataError(f"{whose} lack {listed}", hint=hint)
    columns = {name: frame[name] for name in names}
    double = [name for name, column in columns.items() if isinstance(column, pd.DataFrame)]
    if double:
        listed = ", ".join(f"`{name}`" for name in double)
        raise DataError(
            f"{whose} have several columns called {listed}", hint="give each its own name"
        )
    return columns


def nearest(name: str, known: Sequence[str] | pd.Index) -> str:
    """A hint for a name that is not there: those like it, or the first few there are."""
    near = _near(name, known)
    if near:
        return "did you mean " + " or ".join(f"`{option}`" for option in near) + "?"
    return _listed(known)


def _near(name: str, known: Sequence[str] | pd.Index) -> list[str]:
    """Up to three names like this one; one that differs in capitals only is all that is meant."""
    options = list(dict.fromkeys(map(str, known)))
    same = [option for option in options if option.casefold() == name.casefold()]
    return same or get_close_matches(name, options, 3, 0.5)


def _listed(known: Sequence[str] | pd.Index) -> str:
    """The first few names there are."""
    options = list(dict.fromkeys(map(str, known)))
    more = " ..." if len(options) > SHOWN else ""
    return "the columns are " + ", ".join(f"`{option}`" for option in options[:SHOWN]) + more


def kind_of(column: pd.Series, name: str) -> Kind:
    """Whether a column holds numbers (truth values included) or levels.

    Raises
    ------
    DataError
        If it holds dates, durations, complex numbers, or values of several types.
    """
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype | pd.StringDtype):
        return "levels"
    if dtype.kind in "biuf":
        return "number"
    kind = pd.api.types.infer_dtype(column, skipna=True)
    if kind in UNSURE:
        kind = pd.api.types.infer_dtype(column.dropna().astype(object), skipna=True)
    if dtype.kind in "mM" or kind in TEMPORAL:
        raise DataError(
            f"`{name}` holds dates or durations",
            hint="convert it to a number first, for example days since the first date",
        )
    if kind not in INFERRED:
        raise DataError(f"`{name}` holds {_types(column)}", hint="make it all numbers or all text")
    return INFERRED[kind]


def _types(column: pd.Series) -> str:
    """The types in an object column and how often each occurs."""
    types = column.dropna().map(lambda value: type(value).__name__).value_counts()
    counts = ", ".join(f"{name} ({count})" for name, count in types.items())
    return ("values of several types: " if len(types) > 1 else "values of type ") + counts


def missing_rows(column: pd.Series) -> RowMask:
    """Rows in which the column has no value."""
    return np.asarray(column.isna(), dtype=bool)


def numbers(column: pd.Series, name: str) -> RowVector:
    """The column as float64, NaN where it has no value; no copy if it is float64 already.

    Small integer types are widened here, before any transform could overflow in them.

    Raises
    ------
    DataError
        If a value is not a number, or too large for a double.
    """
    if kind_of(column, name) != "number":
        raise DataError(
            f"`{name}` holds text where numbers are needed, for example {_not_numbers(column)}",
            hint=made_first(name, column),
        )
    try:
        if isinstance(column.dtype, np.dtype) and column.dtype.kind != "O":
            return np.asarray(column, dtype=np.float64)
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    except (OverflowError, TypeError, ValueError) as error:
        raise DataError(f"`{name}` cannot be read as numbers: {error}") from error


def made_first(name: str, column: pd.Series) -> str:
    """Hint how to convert text to numbers: numbers that it writes, or dates, which are days."""
    what, how = ("dates", "datetime") if writes_dates(column) else ("numbers", "numeric")
    return f"make {what} of it first: pandas.to_{how}(data[{name!r}])"


def writes_dates(column: pd.Series) -> bool:
    """Whether all values are text of dates of ISO 8601, with a time or without, and there are some.

    Examples
    --------
    >>> writes_dates(pd.Series(["1990-01-31", None])), writes_dates(pd.Series(["1990-13-01"]))
    (True, False)
    """
    if isinstance(column.dtype, np.dtype) and column.dtype.kind != "O":
        return False
    words = column.dropna().astype(object)
    if words.empty or not all(isinstance(one, str) and ISO_DATE.fullmatch(one) for one in words):
        return False
    return bool(pd.to_datetime(words, errors="coerce", format="ISO8601").notna().all())


def _not_numbers(column: pd.Series) -> str:
    """Up to three values that keep a column from being numeric."""
    values = column.dropna().astype(object).drop_duplicates()
    stray = values[pd.to_numeric(values, errors="coerce").isna()]
    return ", ".join(repr(value) for value in (stray if len(stray) else values)[:3])


def levels(column: pd.Series, name: str) -> pd.Categorical:
    """The column as levels that occur in it, in their own order or else sorted."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        return pd.Categorical(column).remove_unused_categories()
    if kind_of(column, name) == "number":
        return pd.Categorical(_plain(column))
    return pd.Categorical(column.to_numpy(dtype=object))


def _plain(column: pd.Series) -> pd.Series:
    """Numbers in a numpy type: integers and truth values stay unchanged."""
    if isinstance(column.dtype, np.dtype) and column.dtype.kind != "O":
        return column
    return pd.Series(np.asarray(column.to_list())).infer_objects()
