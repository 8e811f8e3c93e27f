"""Tables and formulas of arrays: columns get names, and a formula that reads all of them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_array

from bayesvb.data.frames import as_frame
from bayesvb.errors import DataError

PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")

RESPONSE = "y"
"""Name of the response where the formula has none; underscores follow if a column has it."""


def table_of(X: object) -> pd.DataFrame:
    """Data frames as they are, missing values refused; arrays as numbers in columns x0, x1, ..."""
    if not hasattr(X, "columns") and not hasattr(X, "column_names"):
        values = check_array(X, dtype=np.float64)
        return pd.DataFrame(values, columns=[f"x{j}" for j in range(values.shape[1])])
    frame = as_frame(X)
    numbers = frame.select_dtypes(include=["number", "bool"])
    if numbers.shape[1]:
        check_array(numbers, dtype="numeric")
    lacking = frame.columns[frame.isna().any()]
    if len(lacking):
        raise DataError(
            f"`{lacking[0]}` contains NaN or other missing values",
            hint="impute them first, or use the models of bayesvb, which drop such rows",
        )
    return frame


def response_name(formula: str | None, columns: Sequence[str]) -> str:
    """Name of the response: the left side of the formula, or an unused name.

    Raises
    ------
    DataError
        If the left side is not a name.
    """
    left = formula.partition("~")[0].strip() if formula and "~" in formula else ""
    if left:
        name = left.strip("`")
        if not (PLAIN.match(left) or left == f"`{name}`"):
            raise DataError(
                f"formula={formula!r}: its left side must be a name",
                hint="transform y by sklearn.compose.TransformedTargetRegressor",
            )
        return name
    name = RESPONSE
    while name in columns:
        name += "_"
    return name


def formula_of(formula: str | None, columns: Sequence[str], response: str | None) -> str:
    """The complete formula: the given one, with the response, or a sum of all columns."""
    right = formula.partition("~")[2] if formula and "~" in formula else formula
    right = right or " + ".join(_quoted(name) for name in columns)
    return f"{'' if response is None else _quoted(response)} ~ {right.strip()}".strip()


def _quoted(name: str) -> str:
    return name if PLAIN.match(name) else f"`{name}`"
