"""Stage 3, encode: the columns of all terms that the formula package does not know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.data.frames import made_first, writes_dates
from bayesvb.errors import DataError
from bayesvb.formula.binding import BoundFormula, BoundPart, BoundTerm
from bayesvb.formula.checks import require_finite
from bayesvb.formula.columns import ColumnRole, roles_in, with_own_names
from bayesvb.formula.group_columns import GroupColumns, check_columns_of, fit_groups
from bayesvb.formula.group_places import GroupPlaces
from bayesvb.formula.group_terms import GroupTerm
from bayesvb.formula.level_indicators import Indicator, factor_in, level_indicators, levels_apart
from bayesvb.formula.smooth_columns import SmoothColumns, SmoothCurve, fit_smooth
from bayesvb.formula.surface_columns import SurfaceColumns
from bayesvb.formula.term_blocks import TermBlock
from bayesvb.formula.term_columns import AbstractTermColumns, TermData
from bayesvb.linear.structure import LIMITS, grouped_term
from bayesvb.numerics.arrays import RowColumns

Levels = Mapping[ColumnRole, pd.Index]


@dataclass(frozen=True, eq=False)
class OwnColumns:
    """Terms of one part, with their state from the first rows.

    Attributes
    ----------
    part : BoundPart
        Terms, and the columns that they read.
    each : tuple of AbstractTermColumns
        In their order.
    """

    part: BoundPart
    each: tuple[AbstractTermColumns, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(name for one in self.each for name in one.names)

    def term_blocks(self, first: int) -> tuple[TermBlock, ...]:
        """Blocks of a matrix in which these columns begin at a place."""
        return tuple(
            replace(block, columns=tuple(place + start for place in block.columns))
            for one, start in self._starts(first)
            for block in one.term_blocks
        )

    def curves(self, first: int) -> tuple[SmoothCurve, ...]:
        """Curves of the smooths of a matrix in which these columns begin at a place."""
        return tuple(
            curve
            for one, start in self._starts(first)
            if isinstance(one, SmoothColumns)
            for curve in one.curves_from(start)
        )

    def smooths(self, first: int) -> dict[str, tuple[int, ...]]:
        """Name -> places of each curve, and of each set of wiggles of a surface.

        In a matrix in which these columns begin at a place.
        """
        smooths = {curve.name: curve.places for curve in self.curves(first)}
        for one, start in self._starts(first):
            if isinstance(one, SurfaceColumns):
                sets = ((b.name, b.columns) for b in one.term_blocks if b.kind == "smooth")
                smooths |= {name: tuple(start + place for place in places) for name, places in sets}
        return smooths

    def together(self, first: int) -> tuple[tuple[int, ...], ...]:
        """Sets of columns with one unit, of a matrix in which these begin at a place."""
        return tuple(
            tuple(place + start for place in places)
            for one, start in self._starts(first)
            for places in one.together
        )

    def at_zero(
        self, first: int, values: Float[np.ndarray, "*batch columns"]
    ) -> Float[np.ndarray, "*batch columns"]:
        """Return coefficients of a matrix, levels of groups where the covariates are zero.

        These columns begin at a place of the matrix, where slopes are of distances from a centre.
        """
        columns = values.copy()
        terms = [
            (one, start) for one, start in self._starts(first) if isinstance(one, GroupColumns)
        ]
        levels = {
            (one.grouping, one.labels): start for one, start in reversed(terms) if one.intercept
        }
        for one, start in terms:
            at = start if one.intercept else levels.get((one.grouping, one.labels))
            slopes = one.together[one.intercept :]
            for places, centre in zip(slopes, one.centres, strict=True):
                if at is not None:
                    moved = centre * values[..., start + np.array(places)]
                    columns[..., at : at + len(places)] -= moved
        return columns

    def lines(self, first: int) -> dict[tuple[int, ...], tuple[str, ...]]:
        """Straight lines of smooths: their places, and the expressions that they are products of.

        In a matrix in which these columns begin at a place.
        """
        lines = {}
        for columns, (one, start) in zip(self.part.own, self._starts(first), strict=True):
            if isinstance(one, SmoothColumns) and one.n_lines:
                factors = (*columns.numbers, *(role.alias for role in columns.columns))
                lines[tuple(range(start, start + one.n_lines))] = factors
            elif isinstance(one, SurfaceColumns):
                for place, line in enumerate(one.lines, start):
                    lines[(place,)] = tuple(columns.numbers[number] for number in line)
        return lines

    @property
    def group_terms(self) -> tuple[GroupColumns, ...]:
        """Terms of groups, with columns or without."""
        each = (one.groups if isinstance(one, GroupPlaces) else one for one in self.each)
        return tuple(one for one in each if isinstance(one, GroupColumns))

    @property
    def groups(self) -> GroupPlaces | None:
        """The term whose effects stay apart from the columns."""
        return next((one for one in self.each if isinstance(one, GroupPlaces)), None)

    def places(
        self,
        numbers: RowColumns | None,
        table: pd.DataFrame,
        levels: Levels,
        *,
        sampled: bool = False,
    ) -> RowColumns | None:
        """Groups of the term, and the multipliers of their effects; None without such a term."""
        for term, one in zip(self.part.own, self.each, strict=True):
            if isinstance(one, GroupPlaces):
                data = _data(self.part, term, numbers, table, levels)
                return one.places(replace(data, sampled=sampled))
        return None

    def _starts(self, first: int) -> list[tuple[AbstractTermColumns, int]]:
        """Each term with the place of its first column."""
        sizes = np.cumsum([first, *(len(one.names) for one in self.each)])
        return list(zip(self.each, sizes.tolist(), strict=False))

    def beside(
        self,
        matrix: RowColumns,
        numbers: RowColumns | None,
        table: pd.DataFrame,
        levels: Levels,
        *,
        sampled: bool = False,
    ) -> RowColumns:
        """The columns right of those that the formula package made."""
        if not self.each:
            return matrix
        made = []
        for term, one in zip(self.part.own, self.each, strict=True):
            data = _data(self.part, term, numbers, table, levels)
            made.append(one.matrix(replace(data, sampled=sampled)))
        return np.ascontiguousarray(np.hstack([matrix, *made]))


def fit_own_columns(
    part: BoundPart,
    numbers: RowColumns | None,
    table: pd.DataFrame,
    levels: Levels,
    *,
    eliminates: bool = False,
) -> OwnColumns:
    """The terms of a part after the first rows.

    Parameters
    ----------
    part : BoundPart
        Terms of the part.
    numbers : ndarray, shape (rows, expressions), or None
        Values of ``part.numbers``.
    table : pandas.DataFrame
        Columns under their aliases.
    levels : mapping of ColumnRole to pandas.Index
        Levels of the columns that have some.
    eliminates : bool
        Whether effects of the ``grouped_term`` stay apart; all are columns otherwise.

    Raises
    ------
    DataError
        If a term cannot be made of these values.
    """
    each: list[AbstractTermColumns] = []
    for term in part.own:
        _check_numbers(term, levels)
        data = _data(part, term, numbers, table, levels)
        for code, values in zip(term.numbers, data.numbers, strict=True):
            require_finite(values, with_own_names(code))
        if isinstance(term.term, GroupTerm):
            each.append(fit_groups(term, data))
        else:
            each.append(fit_smooth(term.term, term.numbers, data))
    terms = [one for one in each if isinstance(one, GroupColumns)]
    sizes = [len(one.labels) for one in terms], [len(one.effects) for one in terms]
    at = grouped_term(*sizes) if eliminates else None
    apart = None if at is None else terms[at]
    for term, one in zip(part.own, each, strict=True):
        if isinstance(one, GroupColumns) and one is not apart:
            _check_columns(one, term, apart)
    return OwnColumns(part, tuple(GroupPlaces(apart) if one is apart else one for one in each))


def with_indicators(bound: BoundFormula, levels: Levels) -> BoundFormula:
    """The formula with indicators of the levels of factors left of a bar."""
    parts = {
        name: replace(part, own=tuple(_with_indicators(term, levels) for term in part.own))
        for name, part in bound.parts.items()
    }
    return replace(bound, parts=parts)


def _with_indicators(term: BoundTerm, levels: Levels) -> BoundTerm:
    """The term with indicators; the first factor has no reference level without intercept.

    Raises
    ------
    FormulaError
        If effects of a factor are to be independent of an intercept.
    """
    if not isinstance(term.term, GroupTerm):
        return term
    indicators: dict[str, Indicator] = {}
    numbers: list[str] = []
    for code in term.numbers:
        factor = factor_in(code, levels)
        if factor is None:
            numbers.append(code)
            continue
        has_reference = term.term.intercept or bool(indicators)
        if has_reference and not term.term.correlated:
            raise term.term.place.refused(
                f"`{term.term.place.text}`: which effects of `{factor}` are independent would "
                "depend on its reference level",
                f"write {levels_apart(term.term.groups, factor)} for independent effects of every "
                "level with one standard deviation",
            )
        made = level_indicators(factor, levels[factor], has_reference=has_reference)
        indicators |= made
        numbers += made
    return replace(term, numbers=tuple(numbers), indicators=indicators)


def _check_columns(columns: GroupColumns, term: BoundTerm, apart: GroupColumns | None) -> None:
    """Raise for more groups than columns can hold, together with a term that has no columns.

    Raises
    ------
    DataError
    """
    if apart is None or len(columns.groups) <= LIMITS.groups:
        return check_columns_of(columns, term.term.place.text)
    raise DataError(
        f"`{term.term.place.text}` has {len(columns.groups)} groups, and another term has "
        f"more than {LIMITS.groups} too: only one term may",
        hint="write (1 + x | g) for several effects of the same groups; keep the term with the "
        "most groups, and join levels of the other's column",
    )


def _data(
    part: BoundPart,
    term: BoundTerm,
    numbers: RowColumns | None,
    table: pd.DataFrame,
    levels: Levels,
) -> TermData:
    """Data of one of the terms."""
    at = {code: place for place, code in enumerate(part.numbers)}
    values = [] if numbers is None else [numbers[:, at[code]] for code in term.numbers]
    columns: list[np.ndarray] = []
    for role in term.columns:
        column = table[role.alias]
        known = levels.get(role)
        columns.append(column.to_numpy() if known is None else _places(column, known))
    known_levels = tuple(levels.get(role) for role in term.columns)
    names = tuple(role.column for role in term.columns)
    return TermData(tuple(values), tuple(columns), known_levels, names)


def _check_numbers(term: BoundTerm, levels: Levels) -> None:
    """Refuse a column of text where a number is read."""
    words = [role for code in term.expressions for role in roles_in(code) if role in levels]
    if words:
        name, known = words[0].column, pd.Series(levels[words[0]])
        hint = "write the column as a term of its own, or (1 | g) for effects of its levels"
        if writes_dates(known):
            hint = made_first(name, known)
        raise DataError(
            f"`{term.term.place.text}` needs numbers, and `{name}` holds text", hint=hint
        )


def _places(column: pd.Series, known: pd.Index) -> np.ndarray:
    """Places of a column's levels among those that are known, minus one for others."""
    at = known.get_indexer(pd.Index(column.cat.categories))
    codes = column.cat.codes.to_numpy()
    return np.where(codes < 0, -1, at[codes]).astype(np.int64)
