"""Stage 2, bind: what a response holds, numbers or the classes of one column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from jaxtyping import Int

from bayesvb.data.frames import levels
from bayesvb.data.labels import match_labels
from bayesvb.errors import DataError, FormulaError
from bayesvb.formula.columns import ColumnRole, roles_in
from bayesvb.formula.parser import Formula

__all__ = ["Classes", "ResponseKind", "class_column", "classes_of"]

ResponseKind = Literal["numeric", "categorical", "any", "none"]


@dataclass(frozen=True)
class Classes:
    """The classes of a response in their order, as values and as labels."""

    column: str
    values: pd.Index

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the classes."""
        return tuple(_label(value) for value in self.values)

    def codes(self, column: pd.Series) -> Int[np.ndarray, " rows"]:
        """Number of each row's class.

        Raises
        ------
        DataError
            If a value is none of the classes.
        """
        found = levels(column, self.column)
        known = match_labels(pd.Index(found.categories), self.values, self.column)
        if (known < 0).any():
            unseen = ", ".join(repr(value) for value in found.categories[known < 0])
            raise DataError(f"`{self.column}` has classes the fit never saw: {unseen}")
        return np.asarray(known[found.codes], dtype=np.int64)


def _label(value: object) -> str:
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if whole else value)  # type: ignore[call-overload]


def class_column(
    formula: Formula,
    factors: Sequence[str],
    columns: Mapping[str, pd.Series],
    *,
    kind: ResponseKind,
) -> str | None:
    """The column whose values are the classes; None if the response is numeric.

    Parameters
    ----------
    formula : Formula
        For the message.
    factors : sequence of str
        Expressions of the response, columns under their aliases.
    columns : mapping of str to pandas.Series
        Columns of the data.
    kind : {"numeric", "categorical", "any"}
        What the model can explain.

    Raises
    ------
    DataError, FormulaError
        If the response is not of the kind that the model needs.
    """
    alone = [_alone(factor) for factor in factors]
    words = [role.column for role in alone if role is not None and role.has_levels(columns)]
    if kind == "numeric" or (len(factors) > 1 and kind == "any"):
        if words and _is_ordered(columns[words[0]]):
            raise DataError(
                f"the response `{words[0]}` holds ordered levels, and this model needs numbers",
                hint=f"family='ordinal' takes the numbers of the levels: data[{words[0]!r}]"
                ".cat.codes + 1",
            )
        if words:
            raise DataError(
                f"the response `{words[0]}` holds classes, and this model needs numbers",
                hint="bayesvb.ConditionalMixtureNetwork takes classes; text that means numbers is "
                f"converted by pandas.to_numeric(data[{words[0]!r}])",
            )
        return None
    only = alone[0] if len(factors) == 1 else None
    if only is None:
        if kind == "any":
            return None
        raise FormulaError(
            formula.text,
            "a response of classes is one column",
            formula.place(formula.response or ""),
            "write the column alone: g ~ x",
        )
    truth = columns[only.column].dtype.kind == "b"
    return only.column if kind == "categorical" or words or truth else None


def _is_ordered(column: pd.Series) -> bool:
    """Whether a column has categories with an order."""
    return isinstance(column.dtype, pd.CategoricalDtype) and bool(column.dtype.ordered)


def _alone(factor: str) -> ColumnRole | None:
    """The column that a factor is and nothing else, or C() of one."""
    roles = roles_in(factor)
    if len(roles) == 1 and factor in (roles[0].alias, f"C({roles[0].alias})"):
        return roles[0]
    return None


def classes_of(column: pd.Series, name: str) -> Classes:
    """The classes that occur in a column.

    Raises
    ------
    DataError
        If there is only one, or if the values are fractions.
    """
    values = pd.Index(levels(column, name).categories)
    if len(values) < 2:
        raise DataError(f"the response `{name}` has one class only, {_label(values[0])!r}")
    if values.dtype.kind == "f" and not (values == np.round(values)).all():
        raise DataError(
            f"the response `{name}` holds fractions, and this model needs classes",
            hint="make levels of it first, for example with pandas.cut",
        )
    return Classes(name, values)
