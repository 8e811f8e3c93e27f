"""Stage 3, encode: state learned from the first rows, so that new rows get the same columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.data.frames import levels, numbers
from bayesvb.data.group_rows import GATE_GROUPS, GROUP_DESIGNS, GROUP_ROWS
from bayesvb.data.labels import levels_as_known, match_labels
from bayesvb.data.orthogonal_terms import OrthogonalTerm
from bayesvb.data.parts import GATING, MEAN
from bayesvb.data.response_columns import RESPONSE_COLUMNS
from bayesvb.errors import DataError, FormulaError, without_controls
from bayesvb.formula.binding import BoundFormula, UsableRows
from bayesvb.formula.budget import check_columns
from bayesvb.formula.checks import ranges, require_finite, require_squares, warn_levels
from bayesvb.formula.columns import ColumnRole, roles_in
from bayesvb.formula.group_columns import UNSEEN, GroupColumns
from bayesvb.formula.group_places import GroupPlaces
from bayesvb.formula.limits import LIMITS
from bayesvb.formula.marginality import orthogonal_terms
from bayesvb.formula.matrices import evaluate, with_missing
from bayesvb.formula.own_columns import OwnColumns, fit_own_columns, with_indicators
from bayesvb.formula.parser import RESPONSE, Formula
from bayesvb.formula.response_values import RESPONSE_ROLES, response_columns
from bayesvb.formula.smooth_columns import SmoothCurve
from bayesvb.formula.special_terms import is_offset
from bayesvb.formula.term_blocks import TermBlock, term_blocks
from bayesvb.numerics.arrays import RowColumns, RowMask

if TYPE_CHECKING:
    import formulaic

Matrices = dict[str, RowColumns]


@dataclass(frozen=True, eq=False)
class Encoder:
    """A bound formula with the state of its transforms: knots, centres, levels.

    Attributes
    ----------
    bound : BoundFormula
        Terms of each part, and the columns that they read.
    specs : mapping of str to ModelSpec
        The formula package's record of each part.
    names : mapping of str to tuple of str
        Column names of each part's matrix.
    levels : mapping of ColumnRole to pandas.Index
        Levels of each column that has them.
    own : mapping of str to OwnColumns
        Terms of each part that the formula package does not know.
    """

    bound: BoundFormula
    specs: Mapping[str, formulaic.ModelSpec]
    names: Mapping[str, tuple[str, ...]]
    levels: Mapping[ColumnRole, pd.Index]
    own: Mapping[str, OwnColumns]

    def term_blocks(self, part: str) -> tuple[TermBlock, ...]:
        """Columns of a part's matrix whose coefficients share one prior scale."""
        known = term_blocks(self.specs[part].term_indices, self.levels)
        columns = self.own[part]
        behind = () if columns.groups is None else columns.groups.blocks_from(len(self.names[part]))
        return (*known, *columns.term_blocks(self._first(part)), *behind)

    @property
    def places(self) -> dict[str, GroupPlaces]:
        """Terms of groups whose effects stay apart from the columns, by the name of their matrix.

        Where only the weights have such a term, the lines have its groups too, and no effects.
        """
        alike = self.bound.same_as
        places = {
            name: term
            for part, name in GROUP_DESIGNS.items()
            if part in alike and (term := self.own[alike[part]].groups) is not None
        }
        if GATE_GROUPS in places and GROUP_ROWS not in places:
            places[GROUP_ROWS] = places[GATE_GROUPS].without_effects
        return places

    def blank_names(self, *, response: bool) -> dict[str, tuple[str, ...]]:
        """Names of the columns of every matrix that ``encode`` makes."""
        parts = self.bound.encoded(response=response)
        names = {name: term.place_names for name, term in self.places.items()}
        further = self.further if response else {}
        return {part: self.names[part] for part in parts} | names | further

    @property
    def further(self) -> dict[str, tuple[str, ...]]:
        """Names of the further columns of the response, by the name of their matrix."""
        call = self.bound.call
        return (
            {} if call is None else {call.form.further: RESPONSE_COLUMNS[call.form.further].names}
        )

    def place_matrices(self, placed: Mapping[str, RowColumns | None]) -> Matrices:
        """Groups of rows by the name of their matrix, from the group terms of each part."""
        matrices: Matrices = {}
        known = self.places
        for part in (GATING, MEAN):  # the lines may have the groups of the weights only
            name, places = GROUP_DESIGNS[part], placed.get(self.bound.same_as.get(part, part))
            if name in known:
                places = matrices[GATE_GROUPS] if places is None else places
                matrices[name] = places[:, : 1 + len(known[name].effects)]
        return matrices

    def together(self, part: str) -> tuple[tuple[int, ...], ...]:
        """Sets of columns of a part's matrix that are measured in one unit."""
        return self.own[part].together(self._first(part))

    def orthogonal(self, part: str) -> tuple[OrthogonalTerm, ...]:
        """Terms of a part whose columns are made orthogonal, each behind its margins."""
        lines = self.own[part].lines(self._first(part))
        return orthogonal_terms(self.specs[part].term_indices, lines, self.levels)

    def curves(self, part: str) -> tuple[SmoothCurve, ...]:
        """Curves of the smooths of a part."""
        return self.own[part].curves(self._first(part))

    def smooths(self, part: str) -> dict[str, tuple[int, ...]]:
        """Name -> columns of each curve of a part, and of each set of wiggles of a surface."""
        return self.own[part].smooths(self._first(part))

    def group_terms(self, part: str) -> tuple[GroupColumns, ...]:
        """Terms of groups of a part."""
        return self.own[part].group_terms

    def at_zero(
        self, part: str, values: Float[np.ndarray, "*batch columns"]
    ) -> Float[np.ndarray, "*batch columns"]:
        """Coefficients of a part's matrix, levels of groups where the covariates are zero."""
        return self.own[part].at_zero(self._first(part), values)

    def known(self, part: str) -> tuple[int, ...]:
        """Columns of a part's matrix that are offsets, whose coefficient is one."""
        terms = self.specs[part].term_indices.items()
        return tuple(int(j) for term, at in terms if is_offset(str(term)) for j in at)

    def plain(self, part: str) -> list[int]:
        """Columns of a part's matrix that share no learned scale with ones of their kind."""
        learnt = {"smooth", "group"}
        apart = {j for one in self.term_blocks(part) if one.kind in learnt for j in one.columns}
        apart |= set(self.known(part))
        return [j for j in range(len(self.names[part])) if j not in apart]

    def _first(self, part: str) -> int:
        """Columns of a part's matrix that the formula package makes."""
        return len(self.names[part]) - len(self.own[part].names)

    def unknown(self, rows: UsableRows, *, response: bool) -> dict[str, RowMask]:
        """Rows with levels that the fit does not know, by column; groups do not count."""
        unknown = {}
        for role in self.bound.roles(self.bound.encoded(response=response)):
            if role in self.levels and role.role != "groups":
                known = self.levels[role]
                own = levels_as_known(rows.columns[role.column], known, role.column)
                here = np.flatnonzero(pd.Index(own.categories).isin(known))
                unknown[role.column] = ~np.isin(own.codes, here)
        return {column: where for column, where in unknown.items() if where.any()}

    def new_groups(self, rows: UsableRows) -> dict[str, tuple[list[object], bool]]:
        """Return groups that were not there before by column, and whether any other group was.

        The typical group, which has a name of its own, is not a new one.
        """
        groups = {}
        for role in self.bound.roles(self.bound.encoded(response=False)):
            if role.role == "groups" and len(rows):
                given = pd.Index(rows.columns[role.column].unique())
                strange = match_labels(given, self.levels[role], role.column) < 0
                new = [group for group in given[strange].tolist() if group != UNSEEN]
                if new:
                    groups[role.column] = new, len(new) < len(given)
        return groups

    def encode(
        self, rows: UsableRows, *, response: bool, sampled: bool = False, checked: bool = True
    ) -> Matrices:
        """Matrices of new rows, with or without the matrix of a numeric response.

        Parameters
        ----------
        rows : UsableRows
        response : bool
        sampled : bool
            Whether a group that was not there has the column of such, or no effect.
        checked : bool
            Whether numbers that are not finite are refused.

        Raises
        ------
        DataError
            If a column holds levels that were not there before, is not finite, or is too large.
        """
        from formulaic import ModelSpecs

        bound, parts = self.bound, self.bound.encoded(response=response)
        if not len(rows):
            widths = self.blank_names(response=response)
            return {part: np.empty((0, len(names))) for part, names in widths.items()}
        roles = bound.roles(parts)
        table = role_table(bound, rows, roles, self.levels, checked=checked)
        for role in roles:
            if role in self.levels and role.role != "groups":
                _check_levels(role.column, table[role.alias], self.levels[role])
        keys = [key for part in parts for key in (part, _numbers_of(part)) if key in self.specs]
        specs = ModelSpecs(**{key: self.specs[key] for key in keys})
        made, _, _ = evaluate(specs, table, formula=bound.formula, context=bound.context)
        placed = {}
        for part in parts:
            columns, numbers = self.own[part], made.pop(_numbers_of(part), None)
            made[part] = columns.beside(made[part], numbers, table, self.levels, sampled=sampled)
            placed[part] = columns.places(numbers, table, self.levels, sampled=sampled)
        made |= self.place_matrices(placed)
        made |= response_matrices(bound, made)
        named = self.blank_names(response=response)
        for part, matrix in made.items():
            if not checked or part in RESPONSE_COLUMNS:
                continue
            if bound.keeps_missing:
                made[part] = with_missing(matrix, self.specs[part], table, self.names[part])
            else:
                ranges(matrix, named[part], rows.index)
            require_squares(made[part], named[part], rows.index)
        return made


def fit_encoder(
    bound: BoundFormula, rows: UsableRows, *, eliminates_groups: bool = False
) -> tuple[Encoder, Matrices]:
    """The encoder of the first rows, and their matrices.

    Where groups are eliminated, effects of one term with many of them stay apart from a part's
    columns, in a matrix of their own.

    Raises
    ------
    FormulaError
        If a part has no terms, or two that go by the same name.
    """
    from formulaic import Formula as TermLists

    parts = bound.encoded(response=True)
    roles = bound.roles(parts)
    levelled: dict[ColumnRole, pd.Index | None] = dict.fromkeys(
        role for role in roles if role.role != "hashed" and role.has_levels(rows.columns)
    )
    table = role_table(bound, rows, roles, levelled)
    result = {role: pd.Index(table[role.alias].cat.categories) for role in levelled}
    for role, categories in result.items():
        if role.role != "groups":
            warn_levels(role.column, categories, marked=role.role == "levels")
    for part in parts:
        check_columns(bound.formula.text, part, bound.parts[part].terms, partial(_levels, result))
    bound = with_indicators(bound, result)
    terms = {part: bound.parts[part].terms for part in parts}
    terms |= {_numbers_of(part): TermLists(code) for part, code in _expressions(bound, parts)}
    made, names, specs = evaluate(
        TermLists(**terms), table, formula=bound.formula, context=bound.context
    )
    columns, placed = {}, {}
    for part in parts:
        numbers = made.pop(_numbers_of(part), None)
        apart = eliminates_groups and part in GROUP_DESIGNS
        columns[part] = fit_own_columns(bound.parts[part], numbers, table, result, eliminates=apart)
        made[part] = columns[part].beside(made[part], numbers, table, result)
        placed[part] = columns[part].places(numbers, table, result)
        first = 1 if part == RESPONSE and bound.call is not None else None
        shown = (*names[part][:first], *columns[part].names)
        names[part] = tuple(map(without_controls, shown))
        _check_names(bound.formula, part, names[part])
    each = {part: getattr(specs, part) for part in terms}
    if bound.keeps_missing:
        made |= {part: with_missing(made[part], each[part], table, names[part]) for part in parts}
    encoder = Encoder(bound, each, names, result, columns)
    _check_same_groups(encoder.places)
    return encoder, made | response_matrices(bound, made) | encoder.place_matrices(placed)


def response_matrices(bound: BoundFormula, made: Matrices) -> Matrices:
    """The response and its further columns, from the columns of its arguments; none of others."""
    call = bound.call
    if call is None or RESPONSE not in made:
        return {}
    response, further = response_columns(call, made[RESPONSE])
    return {RESPONSE: response[:, None], call.form.further: further}


def _check_same_groups(places: Mapping[str, GroupPlaces]) -> None:
    """Raise if very many groups of the weights differ from the groups of the mean.

    Raises
    ------
    DataError
    """
    if len(places) < 2 or places[GROUP_ROWS].same_groups(places[GATE_GROUPS]):
        return
    lines, weights = places[GROUP_ROWS], places[GATE_GROUPS]
    raise DataError(
        f"`{lines.effects[0]}` of the mean has {len(lines.labels) - 1} groups, and "
        f"`{weights.effects[0]}` of the gating part has {len(weights.labels) - 1} other groups: "
        "only one grouping may have that many",
        hint="use the same groups in both parts, or coarser groups in one of them",
    )


def _numbers_of(part: str) -> str:
    """Name of the matrix with the numbers that a part's own terms read."""
    return f"{part}_numbers"


def _expressions(bound: BoundFormula, parts: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Parts whose own terms read numbers, and these as terms without a constant."""
    for part in parts:
        codes = bound.parts[part].numbers
        if codes:
            yield part, " + ".join(["0", *(f"{{{code}}}" for code in codes)])


def _levels(result: Mapping[ColumnRole, pd.Index], code: str) -> int:
    """Levels of the columns that an expression reads, one if they are numbers."""
    return max([1, *(len(result[role]) for role in roles_in(code) if role in result)])


def _check_names(formula: Formula, part: str, names: Sequence[str]) -> None:
    if not names:
        raise FormulaError(
            formula.text, f"the {part} part has no terms", hint="write 1 for a constant"
        )
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise FormulaError(
            formula.text,
            f"the {part} part has two terms called `{twice[0]}`",
            hint="rename the column in the data",
        )


def role_table(
    bound: BoundFormula,
    rows: UsableRows,
    roles: Sequence[ColumnRole],
    levelled: Mapping[ColumnRole, pd.Index | None],
    *,
    checked: bool = True,
) -> pd.DataFrame:
    """Each column as its role wants it; no copy of one that is float64 already.

    Columns with levels are named in ``levelled``, which holds the levels if they are known.
    """
    values: dict[str, object] = {}
    index = rows.index
    for role in roles:
        column, name = rows.columns[role.column], role.column
        if role.role == "hashed":
            values[role.alias] = pd.Series(column.to_numpy())
        elif role in levelled:
            known = levelled[role]
            own = levels(column, name) if known is None else levels_as_known(column, known, name)
            values[role.alias] = pd.Series(own)
        else:
            result = RESPONSE_ROLES.get(role.role, numbers)(column, name)
            if checked:
                may_lack = bound.keeps_missing or role.role == "upper"
                given = ~np.isnan(result) if may_lack else slice(None)
                require_finite(result[given], name, index[given])
            values[role.alias] = result
    return pd.DataFrame(values, index=pd.RangeIndex(len(rows)), copy=False)


def _check_levels(name: str, column: pd.Series, known: pd.Index) -> None:
    """Refuse levels that were not in the first data."""
    strange = ~column.isin(known)
    if strange.any():
        unseen = column[strange].unique().tolist()
        listed = ", ".join(repr(level) for level in unseen[: LIMITS.named])
        folded = {str(level).strip().casefold(): level for level in known}
        meant = folded.get(str(unseen[0]).strip().casefold())
        hint = "remove these rows, or fit again with data that have them"
        raise DataError(
            f"`{name}` has levels that are not in the data of the fit: {listed} "
            f"({int(strange.sum())} rows)",
            hint=hint if meant is None else f"write {meant!r}, as in the data of the fit",
        )
