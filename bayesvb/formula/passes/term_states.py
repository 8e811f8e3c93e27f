"""Stage 3, encode: knots of smooths and centres of slopes, from the distinct values of all rows."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.errors import DataError
from bayesvb.formula.binding import BoundTerm
from bayesvb.formula.columns import with_own_names
from bayesvb.formula.group_columns import GroupColumns
from bayesvb.formula.limits import LIMITS
from bayesvb.formula.passes.transform_states import Values
from bayesvb.formula.smooth_columns import SmoothColumns, fit_smooth
from bayesvb.formula.smooth_terms import SmoothTerm
from bayesvb.formula.term_columns import AbstractTermColumns, TermData
from bayesvb.numerics.order_statistics import distinct_values

__all__ = ["exact_term"]


def exact_term(term: BoundTerm, fitted: AbstractTermColumns, values: Values) -> AbstractTermColumns:
    """A term with its state from all rows, instead of a sample's.

    Raises
    ------
    DataError
        If it needs all distinct values of a column, and there are too many.
    """
    if isinstance(term.term, SmoothTerm):
        by = fitted.levels if isinstance(fitted, SmoothColumns) else None
        levels: tuple[pd.Index | None, ...] = (by,) if term.columns else ()
        names = tuple(role.column for role in term.columns)
        distinct = tuple(_distinct(code, values) for code in term.numbers)
        data = TermData(distinct, (), levels, names)
        return fit_smooth(term.term, term.numbers, data)
    if isinstance(fitted, GroupColumns):
        centres = [_distinct(code, values).mean() for code in term.numbers]
        return replace(fitted, centres=np.array(centres))
    return fitted


def _distinct(code: str, values: Values) -> Float[np.ndarray, " values"]:
    """All distinct values of an expression, ascending."""
    found = distinct_values(partial(values, code), LIMITS.stored_values)
    if found is None:
        name = with_own_names(code)
        raise DataError(
            f"`{name}` has more than {LIMITS.stored_values} distinct values, and knots of s() and "
            "centres of slopes that vary by group are learned from all of them",
            hint=f"round it: s(np.round({name}, 3)) in the data; or write bs({name}, df=5)",
        )
    return found
