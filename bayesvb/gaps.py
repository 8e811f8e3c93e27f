"""Missing values that stay in a matrix: where they are, and what may not hide among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from bayesvb.design_checks import require_finite
from bayesvb.encoding import slots_in
from bayesvb.errors import DataError

__all__ = ["kept_gaps", "observed_rows", "require_values"]


def observed_rows(
    missing: Mapping[str, Bool[np.ndarray, " rows"]], rows: int
) -> Bool[np.ndarray, " rows"]:
    """Rows with a value in some column."""
    observed = np.zeros(rows, dtype=bool)
    for absent in missing.values():
        observed |= ~absent
    return observed


def kept_gaps(
    matrix: Float[np.ndarray, "rows terms"], spec: Any, table: pd.DataFrame, names: Sequence[str]
) -> Float[np.ndarray, "rows terms"]:
    """The matrix, NaN exactly where a column that the term reads has no value.

    A comparison such as ``x > 1`` is a number even then, and a transform may be undefined
    elsewhere, as the logarithm of a negative number is.

    Raises
    ------
    DataError
        If an entry is not finite though every column that it reads has a value.
    """
    kept = matrix.copy()
    for term, columns in spec.term_indices.items():
        aliases = {slot.alias for factor in term.factors for slot in slots_in(factor.expr)}
        gone = np.zeros(len(matrix), dtype=bool)
        for alias in aliases:
            gone |= np.isnan(table[alias].to_numpy())
        for column in columns:
            require_finite(matrix[~gone, column], names[column])
            kept[gone, column] = np.nan
    return kept


def require_values(matrix: Float[np.ndarray, "rows terms"], names: Sequence[str]) -> None:
    """Refuse columns without a single value.

    Raises
    ------
    DataError
        Naming the first of them.
    """
    for column in np.flatnonzero(np.isnan(matrix).all(axis=0)).tolist():
        raise DataError(f"`{names[column]}` has no value in any row", hint="leave it out")
