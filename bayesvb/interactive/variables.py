"""Columns in a line each: kind, range or levels, a small histogram, missing and odd values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from bayesvb.data.column_kinds import infinite_values, stray_text
from bayesvb.data.frames import kind_of
from bayesvb.data.line_width import number_text
from bayesvb.errors import DataError
from bayesvb.formula.formula_changes import written


@dataclass(frozen=True, kw_only=True)
class Variable:
    """A column of the data in words.

    Attributes
    ----------
    name : str
    word : str
        As formulas write it.
    kind : str
        "number", "levels", or "not usable".
    text : str
        Range, or number of levels, and how many values are missing.
    odd : str
        What may be an error in the data; empty if nothing.
    bars : tuple of float
        Heights of the histogram, the largest is 1.
    """

    name: str
    word: str
    kind: str
    text: str
    odd: str = ""
    bars: tuple[float, ...] = ()


def variables(frame: pd.DataFrame) -> list[Variable]:
    """Describe the columns of a table in their order.

    Examples
    --------
    >>> column = ["1.5", "2", "3a", "4", "5", None]
    >>> (variable,) = variables(pd.DataFrame({"dose": column}))
    >>> variable.kind, variable.text, variable.odd
    ('levels', '5 levels, 1 missing', "1 of 5 values is not a number: '3a'")
    """
    return [_described(str(name), frame[name]) for name in frame]


def _described(name: str, column: pd.Series) -> Variable:
    missing = int(column.isna().sum())
    lacking = f", {missing:,} missing" if missing else ""
    try:
        kind = kind_of(column, name)
    except DataError as error:
        odd = f"{error.why}; {error.hint}"
        return Variable(name=name, word=written(name), kind="not usable", text=lacking[2:], odd=odd)
    values = column.dropna()
    text, odd, counts = _of_numbers(values) if kind == "number" else _of_levels(values)
    heights = tuple(float(count) for count in counts / max(counts.max(initial=0.0), 1.0))
    return Variable(
        name=name, word=written(name), kind=kind, text=text + lacking, odd=odd, bars=heights
    )


def _of_numbers(values: pd.Series) -> tuple[str, str, np.ndarray]:
    numbers = values.to_numpy(dtype=float)
    finite = numbers[np.isfinite(numbers)]
    odd = infinite_values(values)
    if not len(finite):
        return "no value", odd, np.zeros(0)
    if finite.min() == finite.max():
        return f"always {number_text(finite[0])}", odd or "constant", np.zeros(0)
    # Bars of the histogram of a number.
    counts = np.histogram(finite, 18)[0].astype(float)
    return f"{number_text(finite.min())} to {number_text(finite.max())}", odd, counts


def _of_levels(values: pd.Series) -> tuple[str, str, np.ndarray]:
    counts = values.astype(str).value_counts()
    # Bars of levels, the most frequent ones.
    bars = counts.to_numpy(dtype=float)[:9]
    return f"{len(counts):,} levels", stray_text(values), bars
