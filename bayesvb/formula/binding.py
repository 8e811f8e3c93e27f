"""Stage 2, bind: a parsed formula and a table, as columns in their roles and rows to use.

The names of the formula are looked up among the columns once. What comes of it reads other tables
too: ``BoundFormula.rows`` takes the same columns from new data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Bool, Int

from bayesvb.data.frames import columns_of, kind_of, missing_rows, nearest
from bayesvb.errors import DataError, FormulaError
from bayesvb.formula.allowed_functions import CONTRASTS, NUMBERS, call_hint, known_call
from bayesvb.formula.columns import ColumnRole, roles_in
from bayesvb.formula.dates import Dates
from bayesvb.formula.dot import without_ids
from bayesvb.formula.expressions import Code, NameUse
from bayesvb.formula.group_terms import GroupTerm
from bayesvb.formula.level_indicators import Indicator
from bayesvb.formula.missing import MissingValues, check_rows, usable_rows
from bayesvb.formula.parser import RESPONSE, Formula
from bayesvb.formula.response_forms import ResponseCall
from bayesvb.formula.responses import Classes, ResponseKind, class_column, classes_of
from bayesvb.formula.smooth_terms import SmoothTerm
from bayesvb.formula.special_terms import OFFSET
from bayesvb.formula.terms import Part, read_terms
from bayesvb.numerics.arrays import RowMask

if TYPE_CHECKING:
    import formulaic


@dataclass(frozen=True, eq=False)
class UsableRows:
    """The rows of a table that a formula can use.

    Attributes
    ----------
    given : pandas.Index
        All rows of the table.
    usable : array of bool, shape (given,)
        Rows with every value that the formula reads; where missing values stay, with any.
    columns : mapping of str to pandas.Series
        The columns that the formula reads, in the usable rows.
    missing : mapping of str to int
        Unusable rows without a value, by column.
    """

    given: pd.Index
    usable: Bool[np.ndarray, " given"]
    columns: Mapping[str, pd.Series]
    missing: Mapping[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return int(self.usable.sum())

    def only(self, keep: RowMask) -> UsableRows:
        """Table of the same rows, fewer of which can be used."""
        usable = self.usable.copy()
        usable[usable] = keep
        return replace(self, usable=usable, columns=_kept(self.columns, keep))

    def at(self, places: Int[np.ndarray, " some"]) -> UsableRows:
        """Some of the rows that can be used, as a table of their own."""
        columns = {name: column.iloc[places] for name, column in self.columns.items()}
        return UsableRows(pd.RangeIndex(len(places)), np.ones(len(places), dtype=bool), columns)

    @property
    def index(self) -> pd.Index:
        """Labels of the rows that can be used."""
        return self.given if self.usable.all() else self.given[self.usable]

    @property
    def frame(self) -> pd.DataFrame:
        """The columns as one table, not copied."""
        return pd.DataFrame(self.columns, index=self.index, copy=False)


@dataclass(frozen=True)
class BoundTerm:
    """A smooth or a group-level term once its columns have been found.

    Attributes
    ----------
    term : SmoothTerm or GroupTerm
        Term as written in the formula.
    numbers : tuple of str
        Expressions of numbers that it reads, columns under their aliases.
    columns : tuple of ColumnRole
        Columns that it reads as they stand.
    indicators : mapping of str to Indicator
        Expressions among its ``numbers`` for levels of a factor.
    """

    term: SmoothTerm | GroupTerm
    numbers: tuple[str, ...]
    columns: tuple[ColumnRole, ...]
    indicators: Mapping[str, Indicator] = field(default_factory=dict)

    @property
    def roles(self) -> tuple[ColumnRole, ...]:
        """All columns that it reads."""
        return (*self._in_numbers, *self.columns)

    @property
    def expressions(self) -> tuple[str, ...]:
        """Expressions of numbers that the formula writes, without levels of factors."""
        return tuple(code for code in self.numbers if code not in self.indicators)

    @property
    def in_place_of(self) -> tuple[ColumnRole, ...]:
        """Columns that need no separate term: the covariate of a smooth, and groupings."""
        return self.columns if isinstance(self.term, GroupTerm) else self._in_numbers

    @property
    def _in_numbers(self) -> tuple[ColumnRole, ...]:
        return tuple(role for code in self.numbers for role in roles_in(code))


@dataclass(frozen=True, eq=False)
class BoundPart:
    """The terms of a part, or of the response, once its columns have been found.

    Attributes
    ----------
    terms : SimpleFormula
        As the formula package has them, columns under the aliases of their roles.
    factors : tuple of str
        The expressions that they are made of, in order of appearance.
    roles : tuple of ColumnRole
        The columns that they read, in the roles that they have there, each once.
    own : tuple of BoundTerm
        Terms that the formula package does not know.
    """

    terms: formulaic.Formula
    factors: tuple[str, ...]
    roles: tuple[ColumnRole, ...]
    own: tuple[BoundTerm, ...] = ()

    @property
    def numbers(self) -> tuple[str, ...]:
        """Expressions that terms of its own read, each once."""
        return tuple(dict.fromkeys(code for one in self.own for code in one.numbers))


@dataclass(frozen=True, eq=False)
class BoundFormula:
    """A formula whose names have been found among the columns of a table.

    Attributes
    ----------
    formula : Formula
        Formula as written.
    parts : mapping of str to BoundPart
        The response, each part except parts that repeat an earlier one, and the offset.
    same_as : mapping of str to str
        Part -> the first part with its text, mostly the part itself.
    context : mapping of str to object
        Functions and constants handed in.
    keeps_missing : bool
        Whether missing values stay, as NaN.
    classes : Classes or None
        Classes of the response, if it has classes.
    dates : Dates
        Columns of dates, which are numbers to the formula.
    """

    formula: Formula
    parts: Mapping[str, BoundPart]
    same_as: Mapping[str, str]
    context: Mapping[str, object]
    keeps_missing: bool = False
    classes: Classes | None = None
    dates: Dates = field(default_factory=Dates)

    def roles(self, parts: Sequence[str]) -> list[ColumnRole]:
        """Columns in the roles that they have in parts, each once."""
        return list(dict.fromkeys(role for part in parts for role in self.parts[part].roles))

    @property
    def call(self) -> ResponseCall | None:
        """Call that writes a response of several numbers per row."""
        return self.formula.read[RESPONSE].call if RESPONSE in self.parts else None

    def absent(self, columns: Mapping[str, pd.Series]) -> dict[str, RowMask]:
        """Rows that lack a value, by column; upper ends of intervals may be absent."""
        may_lack = {role.column for role in self.roles(list(self.parts)) if role.role == "upper"}
        may_lack -= {role.column for role in self.roles(list(self.parts)) if role.role != "upper"}
        return {
            name: missing_rows(column) for name, column in columns.items() if name not in may_lack
        }

    def encoded(self, *, response: bool) -> list[str]:
        """Parts that need a matrix of their own, the response's last if it holds numbers."""
        parts = list(dict.fromkeys(self.same_as.values()))
        if OFFSET in self.parts:
            parts.append(OFFSET)
        if response and RESPONSE in self.parts and self.classes is None:
            parts.append(RESPONSE)
        return parts

    def rows(self, frame: pd.DataFrame, *, response: bool) -> UsableRows:
        """Rows of new data that can be used, with the response or without.

        Raises
        ------
        DataError
            If a column is absent or occurs twice.
        """
        columns = self.dates.in_days(self._columns(frame, response=response))
        absent = self.absent(columns)
        usable = usable_rows(absent, len(frame), keep=self.keeps_missing)
        return UsableRows(frame.index, usable, _kept(columns, usable))

    def missing(self, frame: pd.DataFrame) -> MissingValues:
        """Missing values of new rows in columns that the formula reads, except the response."""
        columns = self._columns(frame, response=False)
        absent = {name: missing_rows(column) for name, column in columns.items()}
        usable = usable_rows(absent, len(frame), keep=self.keeps_missing)
        return MissingValues(int((~usable).sum()), len(frame), _counts(absent, usable))

    def _columns(self, frame: pd.DataFrame, *, response: bool) -> Mapping[str, pd.Series]:
        """Columns of new data that the formula reads, as they are."""
        names = [role.column for role in self.roles(self.encoded(response=response))]
        if response and self.classes:
            names.append(self.classes.column)
        return columns_of(frame, list(dict.fromkeys(names)), whose="the new data")


def bind(
    formula: Formula,
    frame: pd.DataFrame,
    *,
    response: ResponseKind,
    context: Mapping[str, object],
    missing: str,
) -> tuple[BoundFormula, UsableRows]:
    """The formula bound to a table, and the rows of the table that it can use.

    Parameters
    ----------
    formula : Formula
        Parsed formula.
    frame : pandas.DataFrame
        With text column names, and rows.
    response : {"numeric", "categorical", "any", "none"} or Ordered
        Kind of response that the model accepts.
    context : mapping
        Functions and constants that the formula may use besides the allow-list.
    missing : {"drop", "raise", "keep"}
        What to do with rows that lack a value.

    Raises
    ------
    FormulaError
        If a name is neither a column, nor allowed, nor in the context.
    DataError
        If a column, the response or too few rows cannot be used.
    """
    bound = replace(
        find_columns(formula, frame, context, has_response=response != "none"),
        keeps_missing=missing == "keep",
    )
    read = {role.column for role in bound.roles(list(bound.parts))}
    names = [name for name in dict.fromkeys(frame.columns) if name in read]
    given = columns_of(frame, names, whose="the data")
    absent = bound.absent(given)
    usable = usable_rows(absent, len(frame), keep=bound.keeps_missing)
    bound = replace(bound, dates=Dates.of(given, usable))
    columns = bound.dates.in_days(given)
    for name, column in columns.items():
        kind_of(column, name)
    if formula.response is None:
        _require_numbers(bound, columns)
    check_rows(absent, usable, policy=missing)
    rows = UsableRows(frame.index, usable, _kept(columns, usable), _counts(absent, usable))
    if len(rows) == 1:
        raise DataError("the data have one complete row only; a fit needs two or more")
    if RESPONSE not in bound.parts:
        return bound, rows
    factors = bound.parts[RESPONSE].factors
    of_classes = class_column(formula, factors, rows.columns, kind=response)
    if of_classes is None:
        return bound, rows
    return replace(bound, classes=classes_of(rows.columns[of_classes], of_classes, response)), rows


def _kept(
    columns: Mapping[str, pd.Series], usable: Bool[np.ndarray, " given"]
) -> dict[str, pd.Series]:
    """The usable rows; the same columns, not copies, if that is all of them."""
    if usable.all():
        return dict(columns)
    return {name: column[usable] for name, column in columns.items()}


def find_columns(
    formula: Formula, frame: pd.DataFrame, context: Mapping[str, object], *, has_response: bool
) -> BoundFormula:
    """The formula with every name looked up; without the response's terms if it has none."""
    columns = list(dict.fromkeys(frame.columns))
    names = _Names(formula, frozenset(columns), context)
    parts: dict[str, BoundPart] = {}
    taken: set[str] = set()
    if RESPONSE in formula.read:
        parts[RESPONSE] = names.bound(formula.read[RESPONSE], dot=())
        taken = {role.column for role in parts[RESPONSE].roles}
    dot = columns if RESPONSE in formula.read else _numeric_columns(frame)
    if OFFSET in formula.read:
        parts[OFFSET] = names.bound(formula.read[OFFSET], dot=())
    own = taken | {role.column for role in parts[OFFSET].roles} if OFFSET in parts else taken
    offsets = [part.offset for part in formula.read.values() if part.offset is not None]
    own = own | {use.name for code in offsets for use in code.uses if use.role != "call"}
    dot = [column for column in dot if column not in own]
    dot = without_ids(frame, dot, formula)
    same_as: dict[str, str] = {}
    for name, text in formula.parts.items():
        same_as[name] = next((other for other in same_as if formula.parts[other] == text), name)
        if same_as[name] == name:
            parts[name] = names.bound(formula.read[name], dot=dot)
    bound = BoundFormula(formula, parts, same_as, context)
    _check_columns(bound, columns, taken)
    if has_response:
        return bound
    return replace(bound, parts={name: parts[name] for name in parts if name != RESPONSE})


@dataclass(frozen=True)
class _Names:
    """Meaning of the names of a formula."""

    formula: Formula
    columns: frozenset[str]
    context: Mapping[str, object]

    def bound(self, part: Part, *, dot: Sequence[str]) -> BoundPart:
        """The part's terms of columns; the dot stands for some of them."""
        own = tuple(self.bound_term(term) for term in part.own)
        taken = {role.column for one in own for role in one.in_place_of}
        available = [ColumnRole(column, "lookup").alias for column in dot if column not in taken]
        code = self.renamed(part.code)
        terms = read_terms(part.section, code, available=available, intercept=part.intercept)
        factors = dict.fromkeys(factor.expr for term in terms for factor in term.factors)
        roles = dict.fromkeys(role for factor in factors for role in roles_in(factor))
        roles |= dict.fromkeys(role for one in own for role in one.roles)
        return BoundPart(terms, tuple(factors), tuple(roles), own)

    def bound_term(self, term: SmoothTerm | GroupTerm) -> BoundTerm:
        """The term with the aliases of its columns."""
        columns = tuple(ColumnRole(column, role) for column, role in term.columns)
        return BoundTerm(term, tuple(self.renamed(code) for code in term.numbers), columns)

    def renamed(self, code: Code) -> str:
        """The code with the aliases of its columns."""
        return code.renamed([self.during_evaluation(use) for use in code.uses])

    def during_evaluation(self, use: NameUse) -> str:
        """A column's alias; the name itself of a function, or of a variable of the caller."""
        if use.role == "call":
            if not known_call(use.name) and not callable(self.context.get(use.name)):
                raise FormulaError(
                    self.formula.text,
                    f"`{use.name}` is neither a column of the data nor a known function",
                    self.formula.place(use.name),
                    call_hint(use.name),
                )
            return use.name
        handed_in = use.name in CONTRASTS | NUMBERS.keys() | self.context.keys()
        if use.role != "lookup" and use.name not in self.columns and handed_in:
            return use.name
        return ColumnRole(use.name, use.role).alias


def _check_columns(bound: BoundFormula, columns: Sequence[str], response: set[str]) -> None:
    """Every column that a term reads must be there; none of the response's on the right."""
    formula, known = bound.formula, set(columns)
    for part in bound.parts:
        for role in bound.parts[part].roles:
            if role.column not in known:
                raise FormulaError(
                    formula.text,
                    f"`{role.column}` is neither a column of the data nor a known function",
                    formula.place(role.column),
                    nearest(role.column, list(columns)),
                )
            if part != RESPONSE and role.column in response:
                raise FormulaError(
                    formula.text,
                    f"`{role.column}` stands on both sides of `~`",
                    formula.place(role.column, after=formula.text.index("~")),
                )


def _numeric_columns(frame: pd.DataFrame) -> list[str]:
    """Columns that hold numbers, for `.` in a formula that takes nothing else."""

    def is_numeric(position: int, name: str) -> bool:
        try:
            return kind_of(frame.iloc[:, position], name) == "number"
        except DataError:
            return False

    columns = (name for position, name in enumerate(frame.columns) if is_numeric(position, name))
    return list(dict.fromkeys(columns))


def _require_numbers(bound: BoundFormula, columns: Mapping[str, pd.Series]) -> None:
    """Variables of a one-sided formula are numbers."""
    for role in bound.roles(["variables"]):
        if role.role == "levels" or kind_of(columns[role.column], role.column) != "number":
            raise DataError(
                f"`{role.column}` holds text or levels, but all variables of this model must be "
                "numbers",
                hint="omit it from the formula",
            )


def _counts(absent: Mapping[str, RowMask], usable: RowMask) -> dict[str, int]:
    """Rows that cannot be used, by the column without a value."""
    return {name: int((where & ~usable).sum()) for name, where in absent.items()}
