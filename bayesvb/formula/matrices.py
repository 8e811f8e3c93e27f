"""Stage 3, encode: the matrices that the formula package makes of terms, and what stopped it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Float
from numpy.typing import ArrayLike

from bayesvb.errors import BayesVBError, DataError, FormulaError
from bayesvb.formula.allowed_functions import NUMBERS, PLAIN
from bayesvb.formula.checks import require_finite
from bayesvb.formula.columns import roles_in, with_own_names
from bayesvb.formula.parser import Formula
from bayesvb.formula.special_terms import OFFSET

if TYPE_CHECKING:
    import formulaic

UNCOMPUTABLE = (
    ArithmeticError, AttributeError, LookupError, MemoryError, RuntimeError, SyntaxError,
    TypeError, ValueError,
)  # fmt: skip
"""Exceptions of transforms that cannot be computed."""


def evaluate(
    terms: formulaic.Formula,
    table: pd.DataFrame,
    *,
    formula: Formula,
    context: Mapping[str, object],
) -> tuple[dict[str, Float[np.ndarray, "rows terms"]], dict[str, tuple[str, ...]], object]:
    """Matrix and column names of each part, and the record which makes the same of new data.

    Parameters
    ----------
    terms : Formula or ModelSpecs of the formula package
        Terms of each part, or the state of terms that were evaluated before.
    table : pandas.DataFrame
        Columns under the aliases of their roles.
    formula : Formula
        For the messages.
    context : mapping
        Functions and constants handed in.

    Raises
    ------
    FormulaError, DataError
        If a term cannot be computed, with the reason that its function gave.
    """
    from formulaic.errors import DataMismatchWarning, FormulaicError

    known = {**PLAIN, **NUMBERS, **context, OFFSET: _one_column}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        warnings.simplefilter("error", DataMismatchWarning)
        try:
            made = terms.get_model_matrix(table, context=known, output="numpy", na_action="ignore")
            parts = made._to_dict()
            matrices = {
                part: np.ascontiguousarray(np.asarray(matrix), dtype=np.float64)
                for part, matrix in parts.items()
            }
        except DataMismatchWarning as warning:
            listed = with_own_names(str(warning)).partition("{")[2].partition("}")[0]
            raise DataError(f"levels that C() does not list: {listed}") from None
        except BayesVBError:
            raise
        except (FormulaicError, *UNCOMPUTABLE) as error:
            raise _explained(error, table, formula) from error
    names = {
        part: tuple(with_own_names(str(name)) for name in matrix.model_spec.column_names)
        for part, matrix in parts.items()
    }
    return matrices, names, made.model_spec


def _one_column(values: ArrayLike) -> ArrayLike:
    """The values of an offset.

    Raises
    ------
    ValueError
        If they are several columns.
    """
    if np.ndim(values) != 1:
        raise ValueError("an offset is one number per row, and this one is several columns")
    return values


def _explained(error: Exception, table: pd.DataFrame, formula: Formula) -> BayesVBError:
    """Error of a transform, or that its argument was text."""
    message = str(error)
    match = re.search(r"factor `(.+?)`\. \[\w+: (.*)\]", message, re.S)
    code, why = (match[1], match[2]) if match else ("", message)
    words = [
        role
        for role in roles_in(code)
        if role.role == "value" and isinstance(table[role.alias].dtype, pd.CategoricalDtype)
    ]
    if words:
        return DataError(
            f"`{with_own_names(code)}` needs numbers, and `{words[0].column}` holds text",
            hint="compare it with a level, I(g == 'a'), or use it as it is",
        )
    clip = "pass extrapolation='clip' or 'extend' to bs(), or use cr()"
    shown = with_own_names(code)
    return FormulaError(
        formula.text,
        f"cannot compute `{shown}`: {with_own_names(why)}" if code else with_own_names(why),
        formula.place(shown.partition("(")[0]) if code else None,
        clip if "beyond upper" in why else None,
    )


def with_missing(
    matrix: Float[np.ndarray, "rows terms"],
    spec: formulaic.ModelSpec,
    table: pd.DataFrame,
    names: Sequence[str],
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
        aliases = {role.alias for factor in term.factors for role in roles_in(factor.expr)}
        gone = np.zeros(len(matrix), dtype=bool)
        for alias in aliases:
            gone |= np.isnan(table[alias].to_numpy())
        for column in columns:
            require_finite(matrix[~gone, column], names[column])
            kept[gone, column] = np.nan
    return kept
