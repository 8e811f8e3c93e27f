"""Covariates of a formula as columns of data: their grids, and the values they are held at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.data.frames import kind_of
from bayesvb.effects.curve_settings import CURVES
from bayesvb.errors import DataError
from bayesvb.formula.group_columns import UNSEEN
from bayesvb.formula.limits import LIMITS

if TYPE_CHECKING:
    from bayesvb.formula.design import Design


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

    @property
    def ends(self) -> tuple[float, float]:
        """Smallest and largest value of a number."""
        low, high = (float(str(value)) for value in self.values)
        return low, high

    def grid(self, points: int) -> list[object]:
        """Values between the extremes, or the levels."""
        if self.discrete:
            return list(self.values)
        return list(np.linspace(*self.ends, points))


def covariate(design: Design, name: str, *, most: int | None = None) -> Covariate:
    """A column as a covariate; of more than ``most`` levels the frequent ones.

    Levels of a ``Categorical`` keep their order, numbers and truth values ascend, other levels
    descend by frequency. Rows of weight zero do not count, others by their weight.
    """
    column, weights = _counted(design, name)
    numbers = column.astype(float) if is_numeric(column, name) else column
    if is_number(design, name) and numbers.nunique(dropna=False) > LIMITS.few_levels:
        return Covariate(name, False, (float(numbers.min()), float(numbers.max())))
    counts = _frequencies(numbers, weights)
    often = list(counts.sort_values(ascending=False, kind="stable").index[:most])
    if isinstance(column.dtype, pd.CategoricalDtype):
        often = [level for level in column.cat.categories if level in often]
    elif kind_of(column, name) == "number":
        often = sorted(often)
    return Covariate(name, True, tuple(often))


def levels_from_reference(design: Design, name: str, *, most: int | None = None) -> list[object]:
    """At most ``most`` levels, first the most frequent one, with which the others are compared.

    Numbers, truth values, and levels of an ordered ``Categorical`` ascend: 1 is compared with 0,
    however many rows have it.
    """
    levels, dtype = list(covariate(design, name, most=most).values), design.frame[name].dtype
    if is_number(design, name) or dtype.kind == "b" or getattr(dtype, "ordered", False):
        return levels
    reference = _most_frequent(design, name)
    return [reference, *(level for level in levels if level != reference)]


def quantiles(
    design: Design, name: str, q: float | Sequence[float]
) -> Float[np.ndarray, "*quantiles"]:
    """Return quantiles of a number over the rows, as if a row of weight two were two rows.

    Between the values of two rows they are interpolated, as ``numpy.quantile`` does. Rows without
    a value, which joint models keep, do not count.
    """
    column, weights = _counted(design, name)
    values = column.to_numpy(dtype=float)
    known = np.isfinite(values)
    values = values[known]
    if weights is None:
        return np.asarray(np.quantile(values, q))
    weights = weights[known]
    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[order]
    last = np.minimum(weights, 1.0)  # a row of weight w stands at w - 1 and all places before
    ends = np.cumsum(weights) - last
    places = np.column_stack([np.cumsum(weights) - weights, ends]).ravel()
    return np.asarray(np.interp(np.asarray(q) * ends[-1], places, np.repeat(values, 2)))


def average(design: Design, name: str) -> float:
    """Return the mean of a number over the rows by their case weights."""
    column, weights = _counted(design, name)
    return float(np.average(column.to_numpy(dtype=float), weights=weights))


def _counted(design: Design, name: str) -> tuple[pd.Series, Float[np.ndarray, " rows"] | None]:
    """A column in the rows that count, and their weights where they do not count alike."""
    column, weights = design.frame[name], design.weights
    if weights is None:
        return column, None
    return column[weights > 0.0], weights[weights > 0.0]


def _frequencies(column: pd.Series, weights: Float[np.ndarray, " rows"] | None) -> pd.Series:
    """Rows of each value that occurs, by their weights; values in order of appearance."""
    if weights is None:
        counts = column.value_counts(sort=False)
    else:
        totals = pd.Series(weights, index=column.index)
        counts = totals.groupby(column, sort=False, observed=True).sum()
    return counts[counts > 0]


def _most_frequent(design: Design, name: str) -> object:
    """The value with most rows by weight; of several the first, of numbers one near the mean."""
    column, weights = _counted(design, name)
    if weights is None:
        values = column.mode()
    else:
        counts = _frequencies(column, weights)
        values = counts[counts == counts.max()].sort_index().index.to_series()
    if is_number(design, name):  # of repeated measurements at equal times not the first time
        return values.iloc[int((values - average(design, name)).abs().argmin())]
    return values.iloc[0]


def is_numeric(column: pd.Series, name: str) -> bool:
    """Whether a column holds numbers; truth values are levels here."""
    return kind_of(column, name) == "number" and column.dtype.kind != "b"


def is_number(design: Design, name: str) -> bool:
    """Whether a covariate is a number that every term takes as one, unlike ``x`` of ``C(x)``."""
    return name not in design.by_levels and is_numeric(design.frame[name], name)


def held_value(design: Design, name: str, *, centre: str) -> object:
    """``"mean"`` or ``"median"`` of a number; of a covariate with levels the most frequent one.

    For a column of groups, a new group: the typical group, whose effect is zero.
    """
    column = design.frame[name]
    if name in design.groupings:
        return UNSEEN
    if not is_numeric(column, name):
        return _most_frequent(design, name)
    if covariate(design, name).discrete:
        return float(_most_frequent(design, name))  # type: ignore[arg-type]
    return average(design, name) if centre == "mean" else float(quantiles(design, name, 0.5))


def column_like(column: pd.Series, values: Sequence[object]) -> pd.Series:
    """Values of the type of a column; whole numbers may become fractions, levels may be new."""
    if any(isinstance(one, str) and one == UNSEEN for one in values):
        return pd.Series(list(values), dtype=object)
    if column.dtype.kind in "iuf":
        return _floats(column, values)
    if isinstance(column.dtype, pd.CategoricalDtype):
        if not set(values) <= set(column.cat.categories):  # would become missing, not unseen
            return pd.Series(list(values), dtype=object)
    return pd.Series(list(values), dtype=column.dtype)


def _floats(column: pd.Series, values: Sequence[object]) -> pd.Series:
    try:
        numbers = pd.Series(list(values), dtype=float)
    except (TypeError, ValueError):
        raise DataError(
            f"{next(iter(values))!r} is not a value of `{column.name}`, which holds numbers"
        ) from None
    whole = column.dtype.kind in "iu" and (numbers == numbers.round()).all()
    return numbers.astype(column.dtype) if whole else numbers


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
        columns[name] = column_like(frame[name], [value]).repeat(len(rows)).reset_index(drop=True)
    return pd.DataFrame(columns, index=pd.RangeIndex(len(rows)))


def value_text(value: object) -> str:
    """A value of a covariate: in four digits, of larger numbers all before the point."""
    if isinstance(value, pd.Timestamp):
        value = value.round("min")
        return str(value.date()) if value == value.normalize() else f"{value:%Y-%m-%d %H:%M}"
    if not isinstance(value, float | np.floating):
        return str(value)
    number = float(value)
    least, beyond = CURVES.whole_numbers
    return f"{number:.0f}" if least <= abs(number) < beyond else f"{number:.4g}"
