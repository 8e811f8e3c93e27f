"""Stage 2, bind: the response, numbers or the classes of one column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.data.frames import kind_of, levels
from bayesvb.data.labels import first_labels, match_labels
from bayesvb.data.ordered_levels import OrderedLevels
from bayesvb.errors import DataError, DesignWarning, FormulaError, warn
from bayesvb.formula.columns import ColumnRole, roles_in
from bayesvb.formula.parser import Formula
from bayesvb.numerics.arrays import RowIntegers


@dataclass(frozen=True)
class Ordered:
    """A response of ordered levels.

    Attributes
    ----------
    levels : tuple or None
        From the lowest to the highest; None where the column has an order of its own.
    """

    levels: tuple[object, ...] | None = None


ResponseKind = Literal["numeric", "categorical", "any", "none"] | Ordered


@dataclass(frozen=True)
class Classes:
    """The classes of a response in their order.

    Attributes
    ----------
    column : str
    values : pandas.Index
        Classes as the data hold them.
    order : OrderedLevels or None
        Levels of an ordered response; None of a response whose classes have no order.
    """

    column: str
    values: pd.Index
    order: OrderedLevels | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the classes."""
        return tuple(_label(value) for value in self.values)

    @property
    def unordered_labels(self) -> tuple[str, ...] | None:
        """Names of the classes; None of ordered levels, which are a numeric response."""
        return self.labels if self.order is None else None

    def response(self, column: pd.Series) -> Float[np.ndarray, "rows 1"] | RowIntegers:
        """Number of each row's class, or of its level as a matrix of one column.

        Raises
        ------
        DataError
            If a value is none of the classes.
        """
        codes = self.codes(column)
        return codes if self.order is None else self.order.numbers[codes][:, None]

    def codes(self, column: pd.Series) -> RowIntegers:
        """Number of each row's class.

        Raises
        ------
        DataError
            If a value is none of the classes.
        """
        categories = levels(column, self.column)
        known = match_labels(pd.Index(categories.categories), self.values, self.column)
        if (known < 0).any():
            unseen = ", ".join(repr(value) for value in categories.categories[known < 0])
            words = "classes" if self.order is None else "levels"
            raise DataError(
                f"`{self.column}` has {words} that are not in the data of the fit: {unseen}"
            )
        return np.asarray(known[categories.codes], dtype=np.int64)


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
    kind : {"numeric", "categorical", "any"} or Ordered
        Kind of response that the model accepts.

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
                f"the response `{words[0]}` holds ordered levels, but this model needs numbers",
                hint="family='ordinal' describes them",
            )
        if words:
            raise DataError(
                f"the response `{words[0]}` holds classes, but this model needs numbers",
                hint=f"{_hint_of_two(columns[words[0]], words[0])}"
                "fit classes by bayesvb.ConditionalMixtureNetwork; convert text that means numbers "
                f"by pandas.to_numeric(data[{words[0]!r}])",
            )
        return None
    only = alone[0] if len(factors) == 1 else None
    if only is None:
        if kind == "any":
            return None
        raise FormulaError(
            formula.text,
            "a categorical response is one column",
            formula.place(formula.response or ""),
            "write the column alone: g ~ x",
        )
    if isinstance(kind, Ordered):
        _check_order(columns[only.column], only.column, kind.levels)
        return only.column
    truth = columns[only.column].dtype.kind == "b"
    return only.column if kind == "categorical" or words or truth else None


def _hint_of_two(column: pd.Series, name: str) -> str:
    """Hint how two classes become an event, which has a probability; empty for more classes."""
    labels = sorted(map(str, column.dropna().unique()))
    if len(labels) != 2:
        return ""
    return f"write I({name} == {labels[1]!r}) ~ ... with family='bernoulli'; "


def _is_ordered(column: pd.Series) -> bool:
    """Whether a column has categories with an order."""
    return isinstance(column.dtype, pd.CategoricalDtype) and bool(column.dtype.ordered)


def _check_order(column: pd.Series, name: str, given: tuple[object, ...] | None) -> None:
    """Raise for levels without an order."""
    if given is None and kind_of(column, name) == "levels" and not _is_ordered(column):
        shown = ", ".join(map(repr, levels(column, name).categories[:3]))
        what = "categories" if isinstance(column.dtype, pd.CategoricalDtype) else "text"
        raise DataError(
            f"the response `{name}` holds {what} without an order, for example {shown}",
            hint="levels=[...] names them from the lowest to the highest, as does an ordered "
            "pandas.Categorical; classes without an order: bayesvb.ConditionalMixtureNetwork",
        )


def _alone(factor: str) -> ColumnRole | None:
    """The column that a factor is and nothing else, or C() of one."""
    roles = roles_in(factor)
    if len(roles) == 1 and factor in (roles[0].alias, f"C({roles[0].alias})"):
        return roles[0]
    return None


def classes_of(column: pd.Series, name: str, kind: ResponseKind = "any") -> Classes:
    """The classes that occur in a column; ordered ones if that is the kind of the response.

    Raises
    ------
    DataError
        If there is only one, or if the values are fractions.

    Warns
    -----
    DesignWarning
        Of ordered levels that occur in no row.
    """
    values = pd.Index(levels(column, name).categories)
    if len(values) < 2 and not isinstance(kind, Ordered):
        raise DataError(f"the response `{name}` has one class only, {_label(values[0])!r}")
    if values.dtype.kind == "f" and not (values == np.round(values)).all():
        needed = "ordered levels" if isinstance(kind, Ordered) else "classes"
        raise DataError(
            f"the response `{name}` holds fractions, and this model needs {needed}",
            hint="make levels of it first, for example with pandas.cut",
        )
    if not isinstance(kind, Ordered):
        return Classes(name, values)
    declared = kind.levels
    if declared is None and isinstance(column.dtype, pd.CategoricalDtype):
        declared = tuple(column.dtype.categories)
    if declared is not None:
        values = _those_that_occur(values, pd.Index(list(declared)), name)
    return Classes(name, values, OrderedLevels(tuple(values.tolist())))


def _those_that_occur(values: pd.Index, declared: pd.Index, name: str) -> pd.Index:
    """Declared levels of which there are rows, in their order.

    Raises
    ------
    DataError
        If a level is declared twice, or one that occurs is not declared.
    """
    if not declared.is_unique:
        twice = declared[declared.duplicated()][0]
        raise DataError(f"levels={declared.tolist()} has {twice!r} twice", hint="name each once")
    places = match_labels(values, declared, name)
    if (places < 0).any():
        raise DataError(
            f"levels={declared.tolist()} lacks {first_labels(values[places < 0].tolist())}, which "
            f"`{name}` holds",
            hint="name all levels from the lowest to the highest, or remove these rows",
        )
    absent = declared.delete(np.unique(places))
    if len(absent):
        warn(
            f"no row of `{name}` has the level {first_labels(absent.tolist())}: a level without "
            "rows has no threshold, and the fit omits it",
            DesignWarning,
        )
    return declared[np.sort(places)]
