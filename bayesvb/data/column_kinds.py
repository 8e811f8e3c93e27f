"""Kinds of the columns of a table, and reasons why a column has an unexpected kind."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bayesvb.data.frames import TEMPORAL, Kind, as_frame, kind_of
from bayesvb.data.labels import FIRST
from bayesvb.errors import DataError


def column_kinds(data: object) -> pd.DataFrame:
    """Describe the columns of a table: their kind in a formula, and possible errors.

    Parameters
    ----------
    data : table
        In memory: pandas, polars, pyarrow, or a mapping of columns.

    Returns
    -------
    pandas.DataFrame
        Index column. ``kind``: ``"number"``, ``"levels"``, ``"date"``, or ``"unusable"``;
        ``n_missing``; ``n_distinct``; ``reason``: what may be an error, such as text among
        numbers, empty if nothing.

    Raises
    ------
    DataError
        If the data are not a table.

    Examples
    --------
    >>> column_kinds({"dose": ["1", "2", "3a", "4", "5"]}).loc["dose", "reason"]
    "1 of 5 values is not a number: '3a'"
    """
    frame = as_frame(data)
    rows = {str(name): _described(frame[name], str(name)) for name in frame}
    columns = ["kind", "n_missing", "n_distinct", "reason"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("column")


def _described(column: pd.Series, name: str) -> tuple[str, int, int, str]:
    """Kind, missing and distinct values, and the reason."""
    kind: Kind | str
    values = column.dropna()
    try:
        kind = kind_of(column, name)
        reason = infinite_values(values) if kind == "number" else stray_text(values)
    except DataError as error:
        is_date = column.dtype.kind in "mM" or pd.api.types.infer_dtype(values) in TEMPORAL
        kind, reason = ("date", "") if is_date else ("unusable", f"{error.why}; {error.hint}")
    return kind, int(column.isna().sum()), len({*map(str, values)}), reason


def infinite_values(values: pd.Series) -> str:
    """Sentence on the number of infinite values; empty if there are none."""
    n_infinite = int(np.isinf(values.to_numpy(dtype=float)).sum())
    return f"{n_infinite:,} infinite" if n_infinite else ""


def stray_text(values: pd.Series) -> str:
    """Why a column of text is none of numbers, if most of its values are; empty otherwise.

    Examples
    --------
    >>> stray_text(pd.Series(["1", "2"])), stray_text(pd.Series(["a", "b"]))
    ('numbers written as text', '')
    """
    words = values.astype(str)
    stray = words[pd.to_numeric(words, errors="coerce").isna()]
    # Share of numbers from which on a column of text is meant to be one of numbers.
    if not len(words) or len(words) - len(stray) < 0.8 * len(words):
        return ""
    if not len(stray):
        return "numbers written as text"
    named = ", ".join(repr(word) for word in stray.unique()[:FIRST])
    verb = "is" if len(stray) == 1 else "are"
    return f"{len(stray):,} of {len(words):,} values {verb} not a number: {named}"
