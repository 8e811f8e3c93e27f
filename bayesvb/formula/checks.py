"""Stage 3, encode: checks of matrices: finite values, constant and collinear columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from bayesvb.data.frames import made_first, writes_dates
from bayesvb.data.labels import first_labels
from bayesvb.errors import DataError, DesignWarning, FormulaError, warn
from bayesvb.formula.binding import BoundFormula
from bayesvb.formula.columns import ColumnRole
from bayesvb.formula.dot import hardly_repeat
from bayesvb.formula.limits import LIMITS
from bayesvb.formula.parser import RESPONSE
from bayesvb.formula.special_terms import OFFSET
from bayesvb.numerics.arrays import RowColumns, RowVector, TermVector
from bayesvb.numerics.rank import dependent_columns
from bayesvb.numerics.special import ROUNDING

LARGEST = 1e152
"""Largest number, and reciprocal of the least difference: their squares are doubles."""

SIDE_BY_SIDE = 64
"""Rows that are reduced together: numpy is slow on short rows."""

DATE = re.compile(r"\s*\d{1,4}[/.-]\d{1,2}[/.-]\d{1,4}(\s.*)?")
"""Dates as people write them, day or month first."""


@dataclass(frozen=True)
class Ranges:
    """Smallest and largest value of each column of a matrix."""

    lowest: TermVector
    highest: TermVector

    @property
    def constant(self) -> Bool[np.ndarray, " terms"]:
        """Whether a column has one value only, up to rounding."""
        size = np.maximum(np.abs(self.lowest), np.abs(self.highest))
        return np.asarray(self.highest / 2 - self.lowest / 2 <= ROUNDING * (size / 2))


def check_matrices(
    bound: BoundFormula,
    matrices: Mapping[str, RowColumns],
    names: Mapping[str, Sequence[str]],
    *,
    warn: bool,
    plain: Mapping[str, Sequence[int]],
) -> None:
    """Check that each matrix of the first rows is finite; warn of probable errors.

    Parameters
    ----------
    bound : BoundFormula
    matrices : mapping of str to array
    names : mapping of str to sequence of str
    warn : bool
    plain : mapping of str to sequence of int
        Columns of each part that the data must identify; a prior identifies the others.

    Raises
    ------
    DataError, FormulaError
        Naming the column.
    """
    for part, matrix in matrices.items():
        if bound.keeps_missing:
            _require_values(matrix, names[part])
            continue
        limits = ranges(matrix, names[part])
        if part == OFFSET:
            _check_offset(bound, names[part])
            continue
        if part == RESPONSE:
            _check_width(bound, names[part])
            _check_response(limits, names[part])
            continue
        twins = [other for other, first in bound.same_as.items() if first == part]
        if warn:
            kept = list(plain[part])
            kept_columns = matrix if len(kept) == len(names[part]) else matrix[:, kept]
            listed = [names[part][j] for j in kept]
            of_kept = Ranges(limits.lowest[kept], limits.highest[kept])
            _warn_of_part(" and ".join(twins), kept_columns, listed, of_kept)


def ranges(
    matrix: Float[np.ndarray, "rows terms"], names: Sequence[str], index: pd.Index | None = None
) -> Ranges:
    """Smallest and largest values; refuses a column that is not finite.

    Raises
    ------
    DataError
        Naming the column, how many of its rows are not finite, and the first of them.
    """
    lowest, highest = _by_column(np.minimum, matrix), _by_column(np.maximum, matrix)
    for j in np.flatnonzero(~np.isfinite(lowest) | ~np.isfinite(highest)).tolist():
        require_finite(matrix[:, j], names[j], index)
    return Ranges(lowest, highest)


def _by_column(smaller: np.ufunc, matrix: Float[np.ndarray, "rows terms"]) -> TermVector:
    """Reduction of each column; rows are taken side by side, since numpy is slow on short rows."""
    rows, terms = matrix.shape
    whole = rows // SIDE_BY_SIDE
    ends = [matrix[whole * SIDE_BY_SIDE :]]
    if whole:
        wide = matrix[: whole * SIDE_BY_SIDE].reshape(whole, SIDE_BY_SIDE * terms)
        ends.append(smaller.reduce(wide, axis=0).reshape(SIDE_BY_SIDE, terms))
    return np.asarray(smaller.reduce(np.vstack(ends), axis=0))


def require_finite(values: RowVector, name: str, index: pd.Index | None = None) -> None:
    """Refuse infinite and undefined values.

    Raises
    ------
    DataError
        Naming the column, how many of its rows are not finite, and the first row of an index.
    """
    finite = np.isfinite(values)
    bad = int(values.size - finite.sum())
    if bad:
        first = "" if index is None else f", first in row {index[finite.argmin()]}"
        raise DataError(
            f"`{name}` is not finite in {bad} of {values.size} rows{first}",
            hint="remove these rows; a transform may be undefined there, as log() of 0 is",
        )


def require_squares(
    matrix: Float[np.ndarray, "rows terms"], names: Sequence[str], index: pd.Index | None = None
) -> None:
    """Refuse columns whose squares leave the range of double precision; NaN are ignored.

    Raises
    ------
    DataError
        Naming the column, its largest value, and the row of an index that has it.
    """
    size = np.maximum(-_by_column(np.fmin, matrix), _by_column(np.fmax, matrix))
    for j in np.flatnonzero(size > LARGEST).tolist():
        row = "" if index is None else f" (row {index[int(np.nanargmax(np.abs(matrix[:, j])))]})"
        raise DataError(
            f"`{names[j]}` has values up to {size[j]:g} in size{row}, whose squares leave the "
            "range of double precision",
            hint="correct them, or remove these rows",
        )


def check_squares(lowest: TermVector, highest: TermVector, names: Sequence[str]) -> None:
    """Refuse columns whose values, or differences between them, have no square in doubles.

    Raises
    ------
    DataError
        Naming the column.
    """
    size = np.maximum(np.abs(lowest), np.abs(highest))
    with np.errstate(over="ignore"):
        spread = highest - lowest
    small = (spread > 0.0) & (spread < 1.0 / LARGEST)
    for j in np.flatnonzero((size > LARGEST) | small).tolist():
        what = f"differences of {spread[j]:g}" if small[j] else f"values of {size[j]:g}"
        raise DataError(
            f"`{names[j]}` has {what}, whose squares leave the range of double precision",
            hint="give it in another unit",
        )


def _check_response(limits: Ranges, names: Sequence[str]) -> None:
    """Refuse a response that never varies."""
    for j in np.flatnonzero(limits.constant).tolist():
        raise DataError(
            f"the response `{names[j]}` is {limits.lowest[j]:g} in every row",
            hint="choose a response that varies",
        )


def _check_width(bound: BoundFormula, names: Sequence[str]) -> None:
    """Refuse a term of the response that is several columns."""
    if bound.call is None and len(names) != len(bound.parts[RESPONSE].terms):
        formula = bound.formula
        why = "a response has one column per term"
        raise FormulaError(formula.text, why, formula.place(formula.response or ""))


def _check_offset(bound: BoundFormula, names: Sequence[str]) -> None:
    """Refuse an offset that is several columns, or one of several responses."""
    formula = bound.formula
    place = formula.place(OFFSET)
    if len(names) != len(bound.parts[OFFSET].factors):
        why = "an offset is one number per row, and this one is several columns"
        raise FormulaError(formula.text, why, place)
    if bound.call is None and len(bound.parts[RESPONSE].factors) > 1:
        raise FormulaError(
            formula.text,
            "an offset belongs to one response, and there are several",
            place,
            "subtract it from the response that it belongs to: I(y - z) + w ~ x",
        )


def _require_values(matrix: Float[np.ndarray, "rows terms"], names: Sequence[str]) -> None:
    """Refuse columns without a single value."""
    for column in np.flatnonzero(np.isnan(matrix).all(axis=0)).tolist():
        raise DataError(f"`{names[column]}` has no value in any row", hint="omit it")


EMPTY_COMBINATIONS = (
    ": some combinations of levels have no rows, and predictions for them are guesses. "
    "Write + instead of * between the factors, or join them to one factor"
)
"""Reason and remedy where products of levels are constant, or sums of other columns."""

SPLINES = " (a cr or cc spline next to an intercept needs constraints='center')"
"""Likely reason where other columns are."""


def _warn_of_part(
    part: str, matrix: Float[np.ndarray, "rows terms"], names: Sequence[str], limits: Ranges
) -> None:
    """Warn of constant columns, of columns that are sums of others, and of too few rows.

    Several parts are the formula: of one component, the weights have none of its terms.
    """
    part = "formula" if " and " in part else part
    constant = [name for j, name in enumerate(names) if limits.constant[j] and name != "Intercept"]
    if constant:
        why = "are confounded with the intercept"
        if _are_combinations(constant):
            why = f"come from the prior alone{EMPTY_COMBINATIONS}"
        _warn(f"the {part} has constant columns: {_listed(constant)}; their coefficients {why}")
    rows, terms = matrix.shape
    if rows < terms:
        _warn(
            f"the {part} has {terms} terms but the data only {rows} complete rows; "
            "the prior determines the remaining directions"
        )
        return
    varying = np.array(
        [not limits.constant[j] or name == "Intercept" for j, name in enumerate(names)]
    )
    kept = np.flatnonzero(varying).tolist()
    part_of = matrix if varying.all() else matrix[:, kept]
    stats = dependent_columns(part_of, lowest=limits.lowest[kept], highest=limits.highest[kept])
    sums = [
        f"`{names[kept[j]]}` from {_listed([names[kept[i]] for i in others])}"
        for j, others in stats.items()
    ]
    if sums:
        why = SPLINES
        if _are_combinations([names[kept[j]] for j in stats]):
            why = EMPTY_COMBINATIONS
        more = f" and {len(sums) - LIMITS.named} more" if len(sums) > LIMITS.named else ""
        _warn(
            f"the {part} has columns that are sums of others: "
            f"{'; '.join(sums[: LIMITS.named])}{more}. Only the prior distinguishes them{why}"
        )


def _are_combinations(names: Sequence[str]) -> bool:
    """Whether all columns with these names are products of levels of two factors or more."""
    return all(name.count("[") > 1 and ":" in name for name in names)


def warn_of_ids(role: ColumnRole, levels: pd.Index, n_rows: int, *, knows_noise: bool) -> None:
    """Warn of groups of one row each, and of other levels that hardly repeat.

    Parameters
    ----------
    role : ColumnRole
        Column, and whether it stands right of a bar.
    levels : pandas.Index
        Its levels.
    n_rows : int
    knows_noise : bool
        Whether the noise is not estimated from the rows alone: it is binomial, or has an offset.
    """
    column, n_levels, groups = role.column, len(levels), role.role == "groups"
    if groups and not knows_noise and n_levels == n_rows:
        _warn(
            f"`{column}` has {n_levels} groups in {n_rows} rows: with one row per group, effects "
            "are confounded with noise; remove their term"
        )
    if not groups and hardly_repeat(n_levels, n_rows):
        dates = isinstance(levels[0], str) and all(map(DATE.fullmatch, levels))
        remedy = (
            f"if they are dates, pandas.to_datetime(data[{column!r}], dayfirst=...) makes them "
            "points in time"
            if dates
            else "omit it if it is an id or free text; effects of groups are written "
            f"(1 | {column})"
        )
        _warn(
            f"`{column}` has {n_levels} levels in {n_rows} rows, each with a coefficient of its "
            f"own: {remedy}"
        )


def warn_levels(column: str, levels: pd.Index, *, marked: bool) -> None:
    """Warn of a column with one level, and of numbers held as text: each becomes a level.

    Parameters
    ----------
    column : str
        Its name.
    levels : pandas.Index
        Its levels.
    marked : bool
        Whether the formula asks for levels with C().
    """
    if len(levels) == 1:
        _warn(f"`{column}` has one level only, {str(levels[0])!r}")
    if (
        marked
        or len(levels) <= LIMITS.few_levels
        or not all(isinstance(value, str) for value in levels)
    ):
        return
    texts = pd.Series(levels)
    dates = writes_dates(texts)
    if dates or pd.to_numeric(texts, errors="coerce").notna().mean() > LIMITS.majority:
        _warn(
            f"`{column}` holds {'dates' if dates else 'numbers'} as text and becomes {len(levels)} "
            f"levels; {made_first(column, texts)}"
        )


def warn_of_unweighted(
    frame: pd.DataFrame, known: Mapping[str, pd.Index], weights: RowVector
) -> None:
    """Warn of levels of a column whose rows all have weight zero.

    Parameters
    ----------
    frame : pandas.DataFrame
        Rows used.
    known : mapping of str to pandas.Index
        Levels by column.
    weights : ndarray, shape (rows,)
        Case weights.
    """
    rows = frame[weights > 0.0]
    for name, found in known.items():
        lacking = found[~found.isin(rows[name].unique())].tolist()
        if lacking:
            _warn(
                f"`{name}` has levels whose rows all have weight 0: {first_labels(lacking)}. The "
                "prior alone determines their coefficients; remove these rows"
            )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[: LIMITS.named])
    return f"{shown} and {len(names) - LIMITS.named} more" if len(names) > LIMITS.named else shown


def _warn(message: str) -> None:
    warn(message, DesignWarning)
