"""Which responses a formula names: numbers, or the classes of one column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from jaxtyping import Int

from bayesvb.encoding import RESPONSE, Slot, Terms, place, slots_in
from bayesvb.errors import DataError, FormulaError
from bayesvb.formula import Formula
from bayesvb.frames import kind_of, levels

__all__ = ["Classes", "ResponseKind", "check_width", "class_column", "classes_of"]

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
        known = self.values.get_indexer(pd.Index(found.categories))
        if (known < 0).any():
            unseen = ", ".join(repr(value) for value in found.categories[known < 0])
            raise DataError(f"`{self.column}` has classes the fit never saw: {unseen}")
        return np.asarray(known[found.codes], dtype=np.int64)


def _label(value: object) -> str:
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if whole else value)  # type: ignore[call-overload]


def class_column(
    formula: Formula, terms: Terms, columns: Mapping[str, pd.Series], *, kind: ResponseKind
) -> str | None:
    """The column whose values are the classes; None if the response is numeric.

    Raises
    ------
    DataError
        If the response is not of the kind that the model needs.
    """
    factors = terms.factors(RESPONSE)
    slot = _alone(factors[0]) if len(factors) == 1 else None
    marked = slot is not None and slot.role == "levels"
    bare = [found for found in map(_alone, factors) if found is not None]
    words = [found.column for found in bare if _has_classes(found, columns)]
    if kind == "numeric" or (len(factors) > 1 and kind == "any"):
        if words:
            raise DataError(
                f"the response `{words[0]}` holds classes, and this model needs numbers",
                hint="bayesvb.ConditionalMixtureNetwork takes classes; text that means numbers is "
                f"converted by pandas.to_numeric(data[{words[0]!r}])",
            )
        return None
    if slot is None:
        if kind == "any":
            return None
        raise FormulaError(
            formula.text,
            "a response of classes is one column",
            place(formula.text, formula.response or ""),
            "write the column alone: g ~ x",
        )
    truth = columns[slot.column].dtype.kind == "b"
    return slot.column if kind == "categorical" or marked or words or truth else None


def _has_classes(slot: Slot, columns: Mapping[str, pd.Series]) -> bool:
    return slot.role == "levels" or kind_of(columns[slot.column], slot.column) == "levels"


def _alone(factor: str) -> Slot | None:
    """The slot of a factor that is a column and nothing else, or C() of one."""
    slots = slots_in(factor)
    if len(slots) == 1 and factor in (slots[0].alias, f"C({slots[0].alias})"):
        return slots[0]
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


def check_width(formula: Formula, terms: Terms, names: Sequence[str]) -> None:
    """Refuse a term of the response that is several columns.

    Raises
    ------
    FormulaError
        Naming the response.
    """
    if len(names) != len(terms.lists[RESPONSE]):
        raise FormulaError(
            formula.text,
            "a response has one column per term",
            place(formula.text, formula.response or ""),
        )
