"""Covariates of a formula as columns of data: their grids, and the values they are held at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import pandas as pd

from bayesvb.data.frames import kind_of
from bayesvb.errors import DataError

FEW_VALUES = 5
"""A number with at most so many different values is treated as levels."""


@dataclass(frozen=True)
class Covariate:
    """A column that the formula reads, and the values at which curves are drawn.

    Attributes
    ----------
    name : str
    discrete : bool
        Levels, truth values, or a number with few different values.
    values : tuple
        All levels, or the smallest and the largest number.
    """

    name: str
    discrete: bool
    values: tuple[object, ...]

    def grid(self, points: int) -> list[object]:
        """Values between the extremes, or the levels."""
        if self.discrete:
            return list(self.values)
        low, high = (float(str(value)) for value in self.values)
        return list(np.linspace(low, high, points))


def covariate(frame: pd.DataFrame, name: str, *, most: int | None = None) -> Covariate:
    """A column as a covariate; of more than ``most`` levels the frequent ones, in their order."""
    column = frame[name]
    numeric = is_numeric(column, name)
    numbers = column.astype(float) if numeric else column
    different = numbers.drop_duplicates()
    if numeric and len(different) > FEW_VALUES:
        return Covariate(name, False, (float(numbers.min()), float(numbers.max())))
    counts = numbers.value_counts(sort=False)
    often = counts[counts > 0].sort_values(ascending=False, kind="stable").index[:most]
    ordered = isinstance(column.dtype, pd.CategoricalDtype)
    known = [one for one in column.cat.categories if one in often] if ordered else sorted(often)
    return Covariate(name, True, tuple(known))


def is_numeric(column: pd.Series, name: str) -> bool:
    """Whether a column holds numbers; truth values are levels here."""
    return kind_of(column, name) == "number" and column.dtype.kind != "b"


def held_value(frame: pd.DataFrame, name: str, *, centre: str) -> object:
    """``"mean"`` or ``"median"`` of a number; of a covariate with levels the most frequent one."""
    column = frame[name]
    if not is_numeric(column, name):
        return column.mode().iloc[0]
    numbers = column.astype(float)
    discrete = covariate(frame, name).discrete
    return float(numbers.mode().iloc[0] if discrete else getattr(numbers, centre)())


def column_like(column: pd.Series, values: Sequence[object]) -> pd.Series:
    """Values of the type of a column; whole numbers may become fractions, levels may be new."""
    if column.dtype.kind in "iuf":
        return _floats(column, values)
    if isinstance(column.dtype, pd.CategoricalDtype):
        if not set(values) <= set(column.cat.categories):  # would become missing, not unseen
            return pd.Series(list(values), dtype=object)
    return pd.Series(list(values), dtype=column.dtype)


def _floats(column: pd.Series, values: Sequence[object]) -> pd.Series:
    try:
        return pd.Series(list(values), dtype=float)
    except (TypeError, ValueError):
        raise DataError(
            f"{next(iter(values))!r} is no value of `{column.name}`, which holds numbers"
        ) from None


def crossed(
    frame: pd.DataFrame, grids: Mapping[str, Sequence[object]], held: Mapping[str, object]
) -> pd.DataFrame:
    """Rows with every combination of the values, the first covariate slowest; others are held."""
    rows = list(product(*grids.values()))
    columns = {
        name: column_like(frame[name], [row[place] for row in rows])
        for place, name in enumerate(grids)
    }
    for name, value in held.items():
        columns[name] = column_like(frame[name], [value] * len(rows))
    return pd.DataFrame(columns, index=pd.RangeIndex(len(rows)))


def value_text(value: object) -> str:
    """A value of a covariate, in few digits."""
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)
