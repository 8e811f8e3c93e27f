"""Stage 2, bind: which rows of a table can be used, where values are missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bayesvb.errors import DataError, DesignWarning, warn
from bayesvb.formula.limits import LIMITS
from bayesvb.numerics.arrays import RowMask

MOST_NAMED = 5
"""Columns with missing values that a line names."""

OF_NEW_ROWS = ("warn", "keep", "raise")
"""Treatment of rows with a missing value in predictions: NaN, with a warning or without."""


@dataclass(frozen=True)
class MissingValues:
    """Number of rows of a table that cannot be used, and the columns that they lack.

    Attributes
    ----------
    lacking, rows : int
        Rows that cannot be used, and all.
    counts : mapping of str to int
        Rows without a value, by column.
    """

    lacking: int
    rows: int
    counts: Mapping[str, int]

    def __str__(self) -> str:
        """Number of rows that lack a value, with the columns."""
        return f"{self.lacking} of {self.rows} rows lack a value: {_listed(self.counts)}"

    @property
    def columns(self) -> str:
        """Columns that lack values and in how many rows, most first; of many columns the first.

        Examples
        --------
        >>> MissingValues(6, 200, {"x": 2, "z": 0, "y": 5}).columns
        '`y` in 5, `x` in 2'
        """
        counts = sorted(self.counts.items(), key=lambda item: -item[1])
        more = sum(count > 0 for _, count in counts[MOST_NAMED:])
        others = f" and {more} more column{'s' * (more > 1)}" if more else ""
        return _listed(dict(counts[:MOST_NAMED])) + others

    def tell(self, policy: str) -> None:
        """Warn that rows lack a value, refuse them, or keep them without a word.

        Raises
        ------
        DataError
            If the policy is "raise" and a row lacks a value.
        """
        if not self.lacking or policy == "keep":
            return
        if policy == "raise":
            raise DataError(
                str(self), hint="missing='keep' has NaN in their rows of the prediction"
            )
        remedy = (
            f"data.dropna(subset={_lacking(self.counts)}) removes them, missing='keep' accepts them"
        )
        warn(f"{self}; their prediction is NaN: {remedy}", DesignWarning)


def usable_rows(missing: Mapping[str, RowMask], rows: int, *, keep: bool) -> RowMask:
    """Rows with a value in every column; in any column, if missing values are kept."""
    usable = np.full(rows, not keep)
    for absent in missing.values():
        usable = usable | ~absent if keep else usable & ~absent
    return usable


def check_rows(missing: Mapping[str, RowMask], usable: RowMask, *, policy: str) -> None:
    """Refuse data without a row that can be used, and incomplete rows if the policy is "raise".

    Raises
    ------
    DataError
        With the number of missing values in each column.
    """
    counts = {name: int(absent.sum()) for name, absent in missing.items()}
    refuse_missing(counts, int(usable.sum()), len(usable), policy=policy)


def refuse_missing(missing: Mapping[str, int], left: int, rows: int, *, policy: str) -> None:
    """Raise if no usable row is left, or if the policy requires it; warn of dropped rows.

    Parameters
    ----------
    missing : mapping of str to int
        Rows that lack a value, by column.
    left, rows : int
        Rows that can be used, and all.
    policy : str
        What to do with rows that lack a value.

    Raises
    ------
    DataError
        With the number of missing values in each column.

    Warns
    -----
    DesignWarning
        If rows are dropped, with the same numbers.
    """
    listed = _listed(missing)
    if not left and policy == "keep":
        raise DataError(f"no row has a value: of {rows} rows, all are missing from {listed}")
    if not left:
        raise DataError(f"no row is complete: of {rows} rows, values are missing from {listed}")
    if policy == "raise" and left < rows:
        raise DataError(
            f"{rows - left} of {rows} rows lack a value: {listed}",
            hint="missing='drop' removes these rows and counts them",
        )
    if policy == "drop" and 1 < left < rows:  # one row is refused
        remedy = f"data.dropna(subset={_lacking(missing)}) does the same without this warning"
        if left < LIMITS.majority * rows:
            remedy = "remove columns that are mostly missing from the formula, or impute them"
        warn(
            f"{rows - left:,} of {rows:,} rows lack a value and are not used: {listed}; {remedy}",
            DesignWarning,
        )


def _lacking(missing: Mapping[str, int]) -> list[str]:
    """Columns that lack a value."""
    return [name for name, count in missing.items() if count]


def _listed(counts: Mapping[str, int]) -> str:
    """Columns that lack a value, and in how many rows."""
    return ", ".join(f"`{name}` in {count}" for name, count in counts.items() if count)
