"""Columns and indexes of a data frame as numbers and JSON, and back, without loss."""

from __future__ import annotations

import json
import re
import zoneinfo
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from bayesvb.errors import DataError

Values = pd.Series | pd.Index

Meta = Mapping[str, Any]

Parts = Mapping[str, np.ndarray]

ColumnArray = np.ndarray | pd.api.extensions.ExtensionArray
"""The array behind a column."""

MISSING = {"NA": pd.NA, "NaT": pd.NaT}  # the missing values that JSON has no word for

WHOLE = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")

# netCDF has no half precision; dates and spans are counts of their unit
STORED_AS = {"e": np.float32, "M": np.int64, "m": np.int64}

MASKED = (*WHOLE, "Float32", "Float64", "boolean")

NUMBER = re.compile(r"[<>=|][biuf][1248]|[<>=][mM]8\[\d{0,6}[A-Za-z]{1,2}\]")
"""Types of numbers, dates and spans, as numpy writes them."""

TEXT = re.compile(r"str|string(\[\w{1,20}\])?")

OFFSET = re.compile(r"UTC|UTC[+-]\d\d:\d\d(:\d\d)?")
"""Time zones without a name."""

UNITS = ("s", "ms", "us", "ns")

EXTENSIONS = {
    "category": pd.CategoricalDtype,
    "text": pd.StringDtype,
    "zoned": pd.DatetimeTZDtype,
    "period": pd.PeriodDtype,
    "interval": pd.IntervalDtype,
}


@dataclass(frozen=True)
class Column:
    """One column, or one index, as a file holds it.

    Attributes
    ----------
    meta : dict
        What JSON can say: the kind (a key of `CODECS`), the dtype, the labels.
    parts : dict
        One-dimensional arrays of numbers, by role.
    """

    meta: dict[str, object]
    parts: dict[str, np.ndarray] = field(default_factory=dict)


def encode_column(values: Values, name: object) -> Column:
    """The values as numbers and JSON.

    Raises
    ------
    DataError
        If they are of a type that cannot be stored; the message calls them `name`.
    """
    try:
        kind = _kind(values.dtype)
        column = CODECS[kind][0](values)
    except TypeError as error:  # no codec for the dtype, or no JSON for an object
        raise DataError(
            f"column {name!r} cannot be stored: {error}",
            hint="convert it with astype() to numbers, text, categories or dates",
        ) from error
    return Column({"kind": kind} | column.meta, column.parts)


def decode_column(meta: Meta, parts: Parts) -> ColumnArray:
    """The array behind the values that `encode_column` was given."""
    kind = meta["kind"]
    if kind not in CODECS or any(array.ndim != 1 for array in parts.values()):
        raise DataError(f"a column is of kind {kind!r}, or has rows of rows")
    return CODECS[kind][1](meta, parts)


def check_ranges(meta: object, most: int) -> None:
    """Refuse ranges, anywhere in the meta data of columns, that are longer than a number of rows.

    Raises
    ------
    DataError
        A range takes no place in a file, and any amount of memory.
    """
    if isinstance(meta, dict):
        span = meta.get("range")
        if span is not None:
            whole = isinstance(span, list) and all(type(end) is int for end in span)
            if not whole or len(span) != 3 or not span[2] or len(range(*span)) > most:
                raise DataError(f"an index is the range {str(span)[:60]}")
        meta = list(meta.values())
    if isinstance(meta, list):
        for item in meta:
            check_ranges(item, most)


def encode_index(index: pd.Index) -> Column:
    """Any index as numbers and JSON.

    Examples
    --------
    >>> encode_index(pd.RangeIndex(2, 10, 4, name="id")).meta
    {'names': ['"id"'], 'range': [2, 10, 4]}
    """
    names = [_to_json(name) for name in index.names]
    if isinstance(index, pd.RangeIndex):
        return Column({"names": names, "range": [index.start, index.stop, index.step]})
    if isinstance(index, pd.MultiIndex):
        levels = [encode_index(level) for level in index.levels]
        parts = {f"{i}_codes": np.asarray(codes) for i, codes in enumerate(index.codes)}
        for i, level in enumerate(levels):
            parts |= _prefixed(f"{i}_level_", level.parts)
        return Column({"names": names, "levels": [level.meta for level in levels]}, parts)
    column = encode_column(index, "index")
    freq = getattr(index, "freqstr", None)
    return Column({"names": names, "freq": freq, "values": column.meta}, column.parts)


def decode_index(meta: Meta, parts: Parts) -> pd.Index:
    """The index that `encode_index` was given."""
    names = [_from_json(name) for name in meta["names"]]
    if "range" in meta:
        start, stop, step = meta["range"]
        return pd.RangeIndex(start, stop, step, name=names[0])
    if "levels" in meta:
        inner = (_only(f"{i}_level_", parts) for i in range(len(names)))
        levels: Any = [decode_index(*level) for level in zip(meta["levels"], inner, strict=True)]
        codes: Any = [parts[f"{i}_codes"] for i in range(len(names))]
        return pd.MultiIndex(levels, codes, names=names)
    array = decode_column(meta["values"], parts)
    index: pd.Index = pd.Index(array, dtype=array.dtype, name=names[0], tupleize_cols=False)
    if isinstance(index, pd.DatetimeIndex):
        return pd.DatetimeIndex(index, freq=meta["freq"])
    if isinstance(index, pd.TimedeltaIndex):
        return pd.TimedeltaIndex(index, freq=meta["freq"])
    return index


def _kind(dtype: object) -> str:
    """Name of the codec that holds this dtype; TypeError if none does."""
    if isinstance(dtype, np.dtype):
        numeric = dtype.kind in "biufMm" and dtype.itemsize <= 8
        kind = "object" if dtype.kind == "O" else "number" if numeric else None
    elif str(dtype) in MASKED:
        kind = "masked"
    else:
        kind = next((kind for kind, cls in EXTENSIONS.items() if isinstance(dtype, cls)), None)
    if kind is None:
        raise TypeError(f"its dtype is {dtype}")
    return kind


def _prefixed(prefix: str, parts: Parts) -> dict[str, np.ndarray]:
    """The parts under longer names, for storage with others."""
    return {prefix + role: array for role, array in parts.items()}


def _only(prefix: str, parts: Parts) -> dict[str, np.ndarray]:
    """The parts with this prefix, without it."""
    return {k.removeprefix(prefix): array for k, array in parts.items() if k.startswith(prefix)}


def _to_json(value: object) -> str:
    """One label or cell as JSON; TypeError unless it is text, number, missing or tuple."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, tuple):
        return json.dumps({"tuple": [_to_json(item) for item in value]})
    word = next((word for word, missing in MISSING.items() if value is missing), None)
    if word is None and not isinstance(value, str | bool | int | float | None):
        raise TypeError(f"it holds {value!r}, a {type(value).__name__}")
    return json.dumps(value if word is None else {"missing": word})


def _from_json(text: str) -> Hashable:
    """The label or cell that `_to_json` was given."""
    value = json.loads(text)
    if isinstance(value, dict):
        missing = "missing" in value
        return MISSING[value["missing"]] if missing else tuple(map(_from_json, value["tuple"]))
    label: Hashable = value
    return label


def _encode_number(values: Values) -> Column:
    array = values.to_numpy()
    stored = array.astype(STORED_AS.get(array.dtype.char, array.dtype))
    return Column({"dtype": array.dtype.str}, {"values": stored})


def _decode_number(meta: Meta, parts: Parts) -> ColumnArray:
    if not (isinstance(meta["dtype"], str) and NUMBER.fullmatch(meta["dtype"])):
        raise DataError(f"a column holds numbers of type {meta['dtype']!r}")
    return parts["values"].astype(meta["dtype"])


@cache
def _zones() -> frozenset[str]:
    """Names of the time zones that are known here."""
    return frozenset(zoneinfo.available_timezones())


def _is_zone(name: object) -> bool:
    """Whether it is a zone by name or a fixed offset: a name can also be the path of a file."""
    return isinstance(name, str) and (OFFSET.fullmatch(name) is not None or name in _zones())


def _encode_zoned(values: Values) -> Column:
    index = pd.DatetimeIndex(values)
    if not _is_zone(str(index.tz)):
        raise TypeError(f"its time zone is {index.tz}, which has no name")
    return Column({"zone": str(index.tz), "unit": index.unit}, {"values": index.asi8})


def _decode_zoned(meta: Meta, parts: Parts) -> ColumnArray:
    if not _is_zone(meta["zone"]) or meta["unit"] not in UNITS:
        raise DataError(f"a column has the time zone {str(meta['zone'])[:60]!r}")
    instants = parts["values"].astype(np.int64).view(f"M8[{meta['unit']}]")
    return pd.DatetimeIndex(instants).tz_localize("UTC").tz_convert(meta["zone"]).array


def _encode_period(values: Values) -> Column:
    index = pd.PeriodIndex(values)
    return Column({"freq": index.freqstr}, {"values": index.asi8})


def _decode_period(meta: Meta, parts: Parts) -> ColumnArray:
    make: Any = pd.PeriodIndex  # the stubs lack from_ordinals
    array: ColumnArray = make.from_ordinals(parts["values"], freq=meta["freq"]).array
    return array


def _encode_masked(values: Values) -> Column:
    dtype: Any = values.dtype
    filled = values.to_numpy(dtype=dtype.numpy_dtype, na_value=0)
    return Column({"dtype": str(dtype)}, {"values": filled, "missing": np.asarray(values.isna())})


def _decode_masked(meta: Meta, parts: Parts) -> ColumnArray:
    dtype = meta["dtype"]
    if str(dtype) not in MASKED:
        raise DataError(f"a column holds numbers of type {dtype!r}")
    array: pd.api.extensions.ExtensionArray = pd.array(parts["values"], dtype=dtype)
    array[parts["missing"].astype(bool)] = pd.NA
    return array


def _encode_text(values: Values) -> Column:
    codes, levels = pd.factorize(values)
    return Column({"dtype": str(values.dtype), "levels": list(levels)}, {"codes": codes})


def _decode_text(meta: Meta, parts: Parts) -> ColumnArray:
    dtype = meta["dtype"]
    if TEXT.fullmatch(str(dtype)) is None:
        raise DataError(f"a saved column of text has the unknown type {dtype!r}")
    levels = np.array([*meta["levels"], None], dtype=object)  # code -1 is the missing value
    array: ColumnArray = pd.array(levels[parts["codes"]], dtype=dtype)
    return array


def _encode_object(values: Values) -> Column:
    cells = np.array([_to_json(cell) for cell in values], dtype=object)
    codes, levels = pd.factorize(cells)
    return Column({"levels": list(levels)}, {"codes": codes})


def _decode_object(meta: Meta, parts: Parts) -> ColumnArray:
    cells = np.empty(len(parts["codes"]), dtype=object)
    levels = [_from_json(text) for text in meta["levels"]]
    for i, code in enumerate(parts["codes"]):  # one by one: numpy would unpack tuples
        cells[i] = levels[code]
    return cells


def _encode_category(values: Values) -> Column:
    array: Any = values.array
    levels = encode_index(array.categories)
    parts = {"codes": array.codes} | _prefixed("level_", levels.parts)
    return Column({"ordered": bool(array.ordered), "categories": levels.meta}, parts)


def _decode_category(meta: Meta, parts: Parts) -> ColumnArray:
    categories = decode_index(meta["categories"], _only("level_", parts))
    return pd.Categorical.from_codes(parts["codes"], categories, ordered=meta["ordered"])


def _encode_interval(values: Values) -> Column:
    array: Any = values.array
    ends = {side: encode_column(getattr(array, side), side) for side in ("left", "right")}
    parts = {f"{side}_{k}": a for side, end in ends.items() for k, a in end.parts.items()}
    return Column({"closed": array.closed} | {side: e.meta for side, e in ends.items()}, parts)


def _decode_interval(meta: Meta, parts: Parts) -> ColumnArray:
    left, right = (decode_column(meta[s], _only(f"{s}_", parts)) for s in ("left", "right"))
    return pd.arrays.IntervalArray.from_arrays(left, right, closed=meta["closed"])


CODECS: dict[str, tuple[Callable[[Values], Column], Callable[[Meta, Parts], ColumnArray]]] = {
    "number": (_encode_number, _decode_number),
    "masked": (_encode_masked, _decode_masked),
    "text": (_encode_text, _decode_text),
    "category": (_encode_category, _decode_category),
    "zoned": (_encode_zoned, _decode_zoned),
    "period": (_encode_period, _decode_period),
    "interval": (_encode_interval, _decode_interval),
    "object": (_encode_object, _decode_object),
}
