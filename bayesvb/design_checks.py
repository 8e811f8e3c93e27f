"""What is looked at before a design is used: finite values, constant and collinear columns."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from bayesvb.collinearity import dependent_columns
from bayesvb.errors import DataError, DesignWarning

__all__ = [
    "check_known", "check_missing", "check_response", "complete_rows", "ranges", "require_finite",
    "warn_levels", "warn_of_design",
]  # fmt: skip

LISTED = 6
SIDE_BY_SIDE = 64
MANY_LEVELS = 5
HALF = 0.5


@dataclass(frozen=True)
class Ranges:
    """Smallest and largest value of each column of a matrix."""

    lowest: Float[np.ndarray, " terms"]
    highest: Float[np.ndarray, " terms"]

    @property
    def constant(self) -> Bool[np.ndarray, " terms"]:
        """Whether a column has one value only."""
        return np.asarray(self.lowest == self.highest)


def check_known(name: str, value: str, allowed: Sequence[str]) -> None:
    """Refuse an option that is none of those allowed.

    Raises
    ------
    DataError
        Listing them.
    """
    if value not in allowed:
        listed = ", ".join(map(repr, allowed))
        raise DataError(f"{name}={value!r} is not known; it is one of {listed}")


def complete_rows(
    missing: Mapping[str, Bool[np.ndarray, " rows"]], rows: int
) -> Bool[np.ndarray, " rows"]:
    """Rows with a value in every column."""
    complete = np.ones(rows, dtype=bool)
    for absent in missing.values():
        complete &= ~absent
    return complete


def check_missing(
    missing: Mapping[str, Bool[np.ndarray, " rows"]],
    complete: Bool[np.ndarray, " rows"],
    *,
    policy: str,
) -> None:
    """Refuse data without a row that can be used, and incomplete rows if the policy is "raise".

    Raises
    ------
    DataError
        With the number of missing values in each column.
    """
    counts = {name: int(absent.sum()) for name, absent in missing.items() if absent.any()}
    listed = ", ".join(f"`{name}` in {count}" for name, count in counts.items())
    left, rows = int(complete.sum()), len(complete)
    if not left and policy == "keep":
        raise DataError(f"no row has a value: of {rows} rows, all are missing from {listed}")
    if not left:
        raise DataError(f"no row is complete: of {rows} rows, values are missing from {listed}")
    if policy == "raise" and left < rows:
        raise DataError(
            f"{rows - left} of {rows} rows lack a value: {listed}",
            hint="missing='drop' leaves these rows out and counts them",
        )


def ranges(matrix: Float[np.ndarray, "rows terms"], names: Sequence[str]) -> Ranges:
    """Smallest and largest values; refuses a column that is not finite.

    Raises
    ------
    DataError
        Naming the column and how many of its rows are not finite.
    """
    lowest, highest = _by_column(np.minimum, matrix), _by_column(np.maximum, matrix)
    for j in np.flatnonzero(~np.isfinite(lowest) | ~np.isfinite(highest)).tolist():
        require_finite(matrix[:, j], names[j])
    return Ranges(lowest, highest)


def _by_column(
    smaller: np.ufunc, matrix: Float[np.ndarray, "rows terms"]
) -> Float[np.ndarray, " terms"]:
    """Reduction of each column; rows are taken side by side, since numpy is slow on short rows."""
    rows, terms = matrix.shape
    whole = rows // SIDE_BY_SIDE
    ends = [matrix[whole * SIDE_BY_SIDE :]]
    if whole:
        wide = matrix[: whole * SIDE_BY_SIDE].reshape(whole, SIDE_BY_SIDE * terms)
        ends.append(smaller.reduce(wide, axis=0).reshape(SIDE_BY_SIDE, terms))
    return np.asarray(smaller.reduce(np.vstack(ends), axis=0))


def require_finite(values: Float[np.ndarray, " rows"], name: str) -> None:
    """Refuse infinite and undefined values.

    Raises
    ------
    DataError
        Naming the column and how many of its rows are not finite.
    """
    bad = int(values.size - np.isfinite(values).sum())
    if bad:
        raise DataError(
            f"`{name}` is not finite in {bad} of {values.size} rows",
            hint="leave these rows out; a transform may be undefined there, as log() of 0 is",
        )


def check_response(found: Ranges, names: Sequence[str]) -> None:
    """Refuse a response that never varies.

    Raises
    ------
    DataError
        Naming it.
    """
    for j in np.flatnonzero(found.constant).tolist():
        raise DataError(
            f"the response `{names[j]}` is {found.lowest[j]:g} in every row: "
            "there is nothing to explain"
        )


def warn_of_design(
    part: str, matrix: Float[np.ndarray, "rows terms"], names: Sequence[str], found: Ranges
) -> None:
    """Warn of constant columns, of columns that are sums of others, and of too few rows."""
    constant = [name for j, name in enumerate(names) if found.constant[j] and name != "Intercept"]
    if constant:
        _warn(
            f"the {part} has constant columns: {_listed(constant)}; their coefficients "
            "cannot be told from the intercept"
        )
    rows, terms = matrix.shape
    if rows < terms:
        _warn(
            f"the {part} has {terms} terms but the data only {rows} complete rows; "
            "the prior decides what the data cannot"
        )
        return
    varying = np.array(
        [not found.constant[j] or name == "Intercept" for j, name in enumerate(names)]
    )
    kept = np.flatnonzero(varying).tolist()
    part_of = matrix if varying.all() else matrix[:, kept]
    sums = dependent_columns(part_of, lowest=found.lowest[kept], highest=found.highest[kept])
    told = [
        f"`{names[kept[j]]}` from {_listed([names[kept[i]] for i in others])}"
        for j, others in sums.items()
    ]
    if told:
        more = f" and {len(told) - LISTED} more" if len(told) > LISTED else ""
        _warn(
            f"the {part} has columns that are sums of others: {'; '.join(told[:LISTED])}{more}. "
            "Only the prior tells them apart (a cr or cc spline next to an intercept needs "
            "constraints='center')"
        )


def warn_levels(column: str, found: pd.Index, *, marked: bool) -> None:
    """Warn of a column with one level, and of numbers held as text: each becomes a level.

    Parameters
    ----------
    column : str
        Its name.
    found : pandas.Index
        Its levels.
    marked : bool
        Whether the formula asks for levels with C().
    """
    if len(found) == 1:
        _warn(f"`{column}` has one level only, {str(found[0])!r}")
    if marked or len(found) <= MANY_LEVELS or not all(isinstance(value, str) for value in found):
        return
    if pd.to_numeric(pd.Series(found), errors="coerce").notna().mean() > HALF:
        _warn(
            f"`{column}` holds numbers as text and becomes {len(found)} levels; "
            f"make numbers of it first: pandas.to_numeric(data[{column!r}])"
        )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:LISTED])
    return f"{shown} and {len(names) - LISTED} more" if len(names) > LISTED else shown


def _warn(message: str) -> None:
    warnings.warn(message, DesignWarning, stacklevel=2)
