"""What is learnt from the first data, so that new data get the same columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.design_checks import ranges, require_finite, warn_levels
from bayesvb.encoding import Slot, Terms, evaluate
from bayesvb.errors import DataError, FormulaError
from bayesvb.formula import Formula
from bayesvb.frames import kind_of, levels, numbers
from bayesvb.gaps import kept_gaps

__all__ = ["Recipe", "learn"]

Columns = Mapping[str, pd.Series]
Matrices = dict[str, Float[np.ndarray, "rows _"]]
SHOWN = 5


@dataclass(frozen=True)
class Recipe:
    """Terms with the state of their transforms: knots, centres, levels.

    Attributes
    ----------
    text : str
        The formula, for messages.
    terms : Terms
        Terms of each part.
    specs : mapping of str to ModelSpec
        The formula package's record of each part.
    names : mapping of str to tuple of str
        Column names of each part.
    levels : mapping of Slot to pandas.Index
        Levels of each column that has them.
    context : mapping
        Functions and constants handed in.
    gaps : bool
        Whether missing values stay, as NaN.
    """

    text: str
    terms: Terms
    specs: Mapping[str, Any]
    names: Mapping[str, tuple[str, ...]]
    levels: Mapping[Slot, pd.Index]
    context: Mapping[str, object]
    gaps: bool = False

    def encode(self, columns: Columns, parts: Sequence[str], rows: int) -> Matrices:
        """Matrices of new rows: complete ones, unless missing values stay.

        Raises
        ------
        DataError
            If a column holds levels that were not there before, or is not finite.
        """
        from formulaic import ModelSpecs

        if not rows:
            return {part: np.empty((0, len(self.names[part]))) for part in parts}
        slots = self.terms.slots(*parts)
        table = _table(slots, columns, rows, levelled=frozenset(self.levels), gaps=self.gaps)
        for slot in slots:
            if slot in self.levels:
                _check_levels(slot.column, table[slot.alias], self.levels[slot])
        specs = ModelSpecs(**{part: self.specs[part] for part in parts})
        made, _, _ = evaluate(specs, table, text=self.text, context=self.context)
        for part, matrix in made.items():
            if self.gaps:
                made[part] = kept_gaps(matrix, self.specs[part], table, self.names[part])
            else:
                ranges(matrix, self.names[part])
        return made


def learn(
    formula: Formula,
    terms: Terms,
    columns: Columns,
    rows: int,
    *,
    parts: Sequence[str],
    context: Mapping[str, object],
    gaps: bool = False,
) -> tuple[Recipe, Matrices]:
    """The recipe of the rows used, and their matrices.

    Raises
    ------
    FormulaError
        If a part has no terms, or two that go by the same name.
    """
    from formulaic import Formula as TermLists

    slots = terms.slots(*parts)
    table = _table(slots, columns, rows, gaps=gaps)
    categories = {
        slot: pd.Index(table[slot.alias].cat.categories)
        for slot in slots
        if isinstance(table[slot.alias].dtype, pd.CategoricalDtype)
    }
    for slot in categories:
        warn_levels(slot.column, categories[slot], marked=slot.role == "levels")
    lists = TermLists(**{part: terms.lists[part] for part in parts})
    made, names, specs = evaluate(lists, table, text=formula.text, context=context)
    for part in parts:
        _check_names(formula, part, names[part])
    each = {part: getattr(specs, part) for part in parts}
    if gaps:
        made = {part: kept_gaps(made[part], each[part], table, names[part]) for part in parts}
    return Recipe(formula.text, terms, each, names, categories, context, gaps), made


def _check_names(formula: Formula, part: str, names: Sequence[str]) -> None:
    if not names:
        raise FormulaError(
            formula.text, f"the {part} part has no terms", hint="write 1 for a constant"
        )
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise FormulaError(
            formula.text,
            f"the {part} part has two terms called `{twice[0]}`",
            hint="rename the column in the data",
        )


def _table(
    slots: Sequence[Slot],
    columns: Columns,
    rows: int,
    *,
    levelled: frozenset[Slot] | None = None,
    gaps: bool = False,
) -> pd.DataFrame:
    """Each column as its role wants it; no copy of one that is float64 already."""
    values: dict[str, Any] = {}
    for slot in slots:
        column, name = columns[slot.column], slot.column
        if slot.role == "hashed":
            values[slot.alias] = pd.Series(column.to_numpy())
        elif slot in levelled if levelled is not None else _has_levels(slot, column):
            values[slot.alias] = pd.Series(levels(column, name))
        else:
            values[slot.alias] = numbers(column, name)
            present = ~np.isnan(values[slot.alias]) if gaps else slice(None)
            require_finite(values[slot.alias][present], name)
    return pd.DataFrame(values, index=pd.RangeIndex(rows), copy=False)


def _has_levels(slot: Slot, column: pd.Series) -> bool:
    return slot.role == "levels" or kind_of(column, slot.column) == "levels"


def _check_levels(name: str, column: pd.Series, known: pd.Index) -> None:
    """Refuse levels that were not in the first data."""
    strange = ~column.isin(known)
    if strange.any():
        unseen = column[strange].unique().tolist()
        listed = ", ".join(repr(level) for level in unseen[:SHOWN])
        raise DataError(
            f"`{name}` has levels the fit never saw: {listed} ({int(strange.sum())} rows)",
            hint="leave these rows out, or fit again with data that have them",
        )
