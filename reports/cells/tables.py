"""Tables of a report: frames as captions, titles and rows of plain cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import pandas as pd

from .numerals import PROBABILITY, Decimals, significant
from .plain import Summary

MOST_ROWS = 150
"""Rows of one table that a page shows; the caption says how many more there are."""

LONG = 24
"""A longer table is folded."""

WIDEST_HEAD = 16
"""Characters of the first of several row heads; longer ones are broken into lines."""

SHORT = 30
"""Characters up to which text stays on one line."""

ColumnDecimals = Mapping[str, Literal["probability"] | int | Sequence[int]]


def table(
    frame: pd.DataFrame,
    caption: str,
    *,
    titles: Mapping[str, str] | None = None,
    decimals: ColumnDecimals | None = None,
    rest: str = "",
) -> Summary:
    """A frame as a table whose row headers are the index.

    Parameters
    ----------
    frame : pandas.DataFrame
        Its index has one or several named levels.
    caption : str
        Content of the table, with units or scale.
    titles : mapping, optional
        Titles of columns and index levels that differ from their names.
    decimals : mapping, optional
        Decimals of a column, or of each of its cells; otherwise three significant digits of the
        column's median.
    rest : str
        How to see the rows that are not shown, if there are too many.
    """
    titles, decimals = titles or {}, decimals or {}
    shown = frame.iloc[:MOST_ROWS]
    columns = [str(name) for name in frame.columns]
    by_column = [_decimals(shown.iloc[:, i], decimals.get(name)) for i, name in enumerate(columns)]
    names = [str(name or "") for name in frame.index.names]
    labels = shown.index.to_list()
    rows = [
        {
            "heads": list(label) if isinstance(label, tuple) else [label],
            "cells": [shown.iloc[i, j] for j in range(len(columns))],
            "decimals": [column[i] for column in by_column],
        }
        for i, label in enumerate(labels)
    ]
    heads = [titles.get(name, name) for name in names]
    return {
        "caption": caption,
        "heads": heads,
        "titles": [titles.get(name, name) for name in columns],
        "text": [_text_class(shown.iloc[:, i]) for i in range(len(columns))],
        "rows": rows,
        "n_rows": len(frame),
        "left_out": len(frame) - len(shown),
        "rest": rest,
        "folded": len(shown) > LONG,
        "head_width": _head_width(heads, labels),
    }


def _head_width(names: Sequence[str], labels: Sequence[object]) -> int:
    """Characters of the first of several row heads, next to which the second stays; else zero."""
    if len(names) < 2:
        return 0
    firsts = [names[0], *(str(label[0]) for label in labels if isinstance(label, tuple))]
    return min(max(len(one) for one in firsts), WIDEST_HEAD)


def shaded(counts: pd.DataFrame, caption: str, *, corner: str, across: str) -> Summary:
    """A table of counts whose cells are the darker the larger their part of the row.

    Parameters
    ----------
    counts : pandas.DataFrame
        Whole numbers, or expected ones.
    caption : str
    corner, across : str
        Meaning of the rows, and of the columns.
    """
    values = counts.to_numpy(dtype=float)
    totals = values.sum(axis=1)
    shares = values / np.where(totals > 0.0, totals, 1.0)[:, None]
    return {
        "caption": caption,
        "corner": corner,
        "across": across,
        "columns": [str(name) for name in counts.columns],
        "lines": [
            {"name": str(name), "counts": counts.iloc[i].tolist(), "shares": shares[i],
             "total": counts.iloc[i].sum()}
            for i, name in enumerate(counts.index)
        ],
    }  # fmt: skip


def _decimals(
    column: pd.Series, given: Literal["probability"] | int | Sequence[int] | None
) -> Sequence[Decimals]:
    """Decimals of each cell."""
    if isinstance(given, int) or given == PROBABILITY:
        return [given] * len(column)
    if given is not None:
        return list(given[: len(column)])
    if column.dtype.kind != "f":
        return [None] * len(column)
    return [significant(column.to_numpy())] * len(column)


def _text_class(column: pd.Series) -> str:
    """Style of a column that is to be read; none for numbers, which are compared."""
    lengths = [len(one) for one in column if isinstance(one, str)]
    return "" if not lengths else "text" if max(lengths) <= SHORT else "text long"


def after_uncertainty(sd: np.ndarray, values: np.ndarray) -> list[int]:
    """Decimals that show two significant digits of each standard deviation.

    Where there is none, as a value is known, they show three digits of the value.

    Examples
    --------
    >>> after_uncertainty(np.array([22.1, 0.0767, 0.0]), np.array([314.1, 3.141, 3.141]))
    [0, 3, 2]
    """
    pairs = zip(np.asarray(sd, dtype=float), np.asarray(values, dtype=float), strict=True)
    return [significant([one], 2) if one else significant([value], 3) for one, value in pairs]
