"""All stages, parse -> bind -> encode: the matrices of a formula that a model is fitted to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import get_args

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from bayesvb.data.column_units import declared_units
from bayesvb.data.frame_streams import ReadCount
from bayesvb.data.frames import as_frame
from bayesvb.data.group_rows import GATE_GROUPS, GROUP_ROWS
from bayesvb.data.ordered_levels import UNORDERED, OrderedLevels
from bayesvb.data.orthogonal_terms import OrthogonalTerm
from bayesvb.data.parts import GATING, MEAN
from bayesvb.data.response_columns import INTERVAL, RESPONSE_COLUMNS, TRIALS
from bayesvb.errors import DataError
from bayesvb.formula.binding import bind
from bayesvb.formula.checks import check_matrices, warn_of_ids
from bayesvb.formula.columns import roles_in
from bayesvb.formula.encoder import Encoder, fit_encoder
from bayesvb.formula.group_columns import GroupColumns
from bayesvb.formula.group_places import GroupPlaces
from bayesvb.formula.limits import LIMITS
from bayesvb.formula.missing import MissingValues
from bayesvb.formula.new_rows import Unseen, encode_new
from bayesvb.formula.parser import RESPONSE, Formula
from bayesvb.formula.responses import Classes, Ordered, ResponseKind
from bayesvb.formula.smooth_columns import SmoothCurve
from bayesvb.formula.special_terms import OFFSET, is_offset
from bayesvb.formula.term_blocks import TermBlock
from bayesvb.numerics.arrays import Indices, RowColumns, RowIntegers, RowMask, RowVector

Response = Float[np.ndarray, "rows responses"] | RowIntegers

POLICIES = ("drop", "raise", "keep")


@dataclass(frozen=True, eq=False)
class Rows:
    """New data after a formula.

    Attributes
    ----------
    index : pandas.Index
        All rows given.
    complete : array of bool, shape (rows,)
        Rows with every value that the formula reads; where missing values stay, with any.
    matrices : mapping of str to array
        Part -> array with one row per complete row.
    response : array or None
        Responses of the complete rows, if they were requested.
    offset : array, shape (rows,), or None
        Known summand of the response of the complete rows.
    """

    index: pd.Index
    complete: Bool[np.ndarray, " given"]
    matrices: Mapping[str, RowColumns]
    response: Response | None
    offset: RowVector | None = None


@dataclass(frozen=True, eq=False)
class AllRows:
    """Rows that are not all in memory: a sample of them is.

    Attributes
    ----------
    n_rows : int
        Complete rows.
    n_missing : int
        Number of rows excluded because a value was missing.
    words : str
        Source of the rows, in words.
    count : ReadCount
        Number of passes over them.
    total_weight : float
        Sum of the case weights of complete rows.
    shown : pandas.DataFrame
        Rows that are not of the sample, and show levels and ends that it lacks; as they were given.
    missing : mapping of str to int
        Number of rows with a missing value, by column, if it is known.
    """

    n_rows: int
    n_missing: int
    words: str
    count: ReadCount
    total_weight: float
    shown: pd.DataFrame
    missing: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Design:
    """A formula's matrices, and how to make the same columns of new data.

    Attributes
    ----------
    formula : Formula
        Its parts.
    frame : pandas.DataFrame
        Rows used, and the columns that the formula reads, as they were given. A design built from
        the same formula and this frame is the same design.
    response : array or None
        Shape (rows, responses); if categorical the number of each row's class, shape (rows,).
    response_names : tuple of str
        As the formula writes them.
    levels : tuple of str or None
        Labels of the classes of a categorical response; ``classes`` holds them as values. None of
        ordered levels, whose numbers are the response.
    matrices : mapping of str to array
        Part -> array of shape (rows, terms) in C order. Further columns of the response are
        matrices too, by the names of ``RESPONSE_COLUMNS``.
    terms : mapping of str to tuple of str
        Part -> names of the columns of its matrix. Effects of very many groups have a matrix
        ``GROUP_ROWS``, on the weights ``GATE_GROUPS``, with the number of each row's group before
        its multipliers.
    term_blocks : mapping of str to tuple of TermBlock
        Part -> columns of its matrix whose coefficients share one prior scale, by term.
    complete : array of bool, shape (given,)
        Rows of the data given that are used: those with every value that the formula reads.
    offset : array, shape (rows,), or None
        Known summand of the response, None for a formula without.
    unseen : Unseen
        Treatment of new rows with groups, or levels, that were not in the data.
    all_rows : AllRows or None
        The rows of which those here are a sample; None where they are all.
    units : mapping of str to str
        Units of columns, as ``attrs["units"]`` of the data had them.
    labels : mapping of str to str
        Labels of columns for output, where they differ from names.
    weights : array, shape (rows,), or None
        Case weights of the rows used, for means, quantiles and frequencies of their columns.
    missing : mapping of str to int
        Number of rows with a missing value, by column, of a table in memory.
    imputed : mapping of str to array of bool, shape (rows,)
        Covariates that were given without all of their values, and where these are imputed.
    """

    formula: Formula
    frame: pd.DataFrame
    response: Response | None
    response_names: tuple[str, ...]
    levels: tuple[str, ...] | None
    matrices: Mapping[str, RowColumns]
    terms: Mapping[str, tuple[str, ...]]
    term_blocks: Mapping[str, tuple[TermBlock, ...]]
    complete: Bool[np.ndarray, " given"]
    _encoder: Encoder = field(repr=False)
    classes: Classes | None = field(repr=False)
    offset: RowVector | None = None
    unseen: Unseen = field(default_factory=Unseen)
    all_rows: AllRows | None = None
    units: Mapping[str, str] = field(default_factory=dict)
    weights: RowVector | None = None
    missing: Mapping[str, int] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    imputed: Mapping[str, RowMask] = field(default_factory=dict)

    @property
    def class_labels(self) -> tuple[str, ...]:
        """Labels of the classes of a categorical response; none of any other."""
        return self.levels or ()

    @property
    def order(self) -> OrderedLevels:
        """Levels of an ordered response; none of any other."""
        order = None if self.classes is None else self.classes.order
        return UNORDERED if order is None else order

    @property
    def responses(self) -> Float[np.ndarray, "rows responses"]:
        """Responses as numbers, one column each; of classes their codes."""
        return np.asarray(self.response, dtype=float).reshape(self.n_rows, -1)

    @property
    def n_rows(self) -> int:
        """Number of rows used."""
        return len(self.frame)

    @property
    def n_fitted(self) -> int:
        """Number of rows of a fit: the rows used, or the rows that these are a sample of."""
        return self.n_rows if self.all_rows is None else self.all_rows.n_rows

    @property
    def is_sample(self) -> bool:
        """Whether the rows used do not show all there is: there are more, and perhaps elsewhere."""
        known = self.all_rows
        return known is not None and (known.n_rows != self.n_rows or len(known.shown) > 0)

    @property
    def given(self) -> pd.DataFrame:
        """Rows used as they were given: ``frame`` has days for dates, and imputed values."""
        frame = self.complete_frame
        lacking = {name: frame[name].mask(rows) for name, rows in self.imputed.items()}
        return frame.assign(**lacking) if lacking else frame

    @property
    def complete_frame(self) -> pd.DataFrame:
        """Rows used, columns of dates as they were given, with imputed values."""
        return self._encoder.bound.dates.restored(self.frame)

    @property
    def many_levels(self) -> Mapping[str, int]:
        """Columns whose levels are many for the rows, and how many, where each has its own column.

        More than ``LIMITS.many_levels``, or than a tenth of the rows; few levels never are many.
        """
        bound, many = self._encoder.bound, self._encoder.levels
        read = {role for part in bound.parts.values() for code in part.factors
                for role in roles_in(code)}  # fmt: skip
        most = min(LIMITS.many_levels, max(self.n_rows // 10, LIMITS.few_levels))
        sizes = {role.column: len(many[role]) for role in many if role in read}
        return {name: size for name, size in sizes.items() if size > most}

    @property
    def column_levels(self) -> Mapping[str, pd.Index]:
        """Levels of the columns that have some, in their order."""
        return {role.column: found for role, found in self._encoder.levels.items()}

    @property
    def dates(self) -> Mapping[str, str]:
        """Units in which columns of dates or durations are counted."""
        return self._encoder.bound.dates.texts

    def in_days(self, name: str, values: Sequence[object]) -> list[object]:
        """Values of a column: dates and durations as the days in ``frame``, others as they are.

        Raises
        ------
        DataError
            If a text stands for a date and is none.
        """
        if name not in self.dates:
            return list(values)
        column = self._encoder.bound.dates.read(name, pd.Series(list(values)))
        return list(self._encoder.bound.dates.in_days({name: column})[name])

    def in_dates(self, frame: pd.DataFrame) -> pd.DataFrame:
        """A table whose columns of days are dates and durations, as they were given."""
        return self._encoder.bound.dates.restored(frame)

    def date_of(self, name: str, value: object) -> object:
        """A value of a column: a date or duration if the column holds them."""
        if name not in self.dates:
            return value
        return self.in_dates(pd.DataFrame({name: [value]}))[name].iloc[0]

    @property
    def known_units(self) -> Mapping[str, str]:
        """Unit of each column where it is known."""
        return {**self.units, **self.dates}

    def called(self, name: str) -> str:
        """A column's label, or its name where it has none."""
        return self.labels.get(name, name)

    def label(self, name: str) -> str:
        """A column's label or name with its unit, unless the label has the unit already."""
        called, unit = self.called(name), self.known_units.get(name)
        return f"{called} ({unit})" if unit and not called.endswith(f"({unit})") else called

    @property
    def index(self) -> pd.Index:
        """Index of the rows used."""
        return self.frame.index

    def with_unseen(self, unseen: Unseen) -> Design:
        """Design with another policy for levels that were not in the fit.

        Raises
        ------
        DataError
            If groups are to be integrated over and there are none.
        """
        kinds = {block.kind for blocks in self.term_blocks.values() for block in blocks}
        if unseen.groups == "marginal" and "group" not in kinds:
            raise DataError(
                'new_groups="marginal", but the formula has no group-level effects',
                hint="omit it; group-level effects are written (1 | g), and new levels of other "
                "columns take new_levels=",
            )
        return replace(self, unseen=unseen)

    @property
    def of_typical_groups(self) -> Design:
        """Design in which the effects of a new group are zero."""
        return replace(self, unseen=replace(self.unseen, groups="typical"))

    def data_at(self, positions: Indices) -> pd.DataFrame:
        """Some of the rows used, as they were given."""
        return self.frame.iloc[positions]

    def rows_at(self, positions: Indices, *, response: bool = False) -> Rows:
        """Some of the rows used, after the formula."""
        own = self.matrices if response else self.covariate_matrices
        matrices = {part: matrix[positions] for part, matrix in own.items()}
        given = self.response[positions] if response and self.response is not None else None
        offset = None if self.offset is None else self.offset[positions]
        complete = np.ones(len(positions), dtype=bool)
        return Rows(self.index[positions], complete, matrices, given, offset)

    @property
    def interval(self) -> Float[np.ndarray, "rows 2"] | None:
        """Distances from the response to the ends of its interval; None where all is seen."""
        return self.matrices.get(INTERVAL)

    @property
    def hidden(self) -> RowMask:
        """Rows whose response is known up to an interval."""
        if self.interval is None:
            return np.zeros(self.n_rows, dtype=bool)
        return np.asarray(self.interval.any(axis=1))

    @property
    def is_censored(self) -> bool:
        """Whether an interval has no end on one side."""
        return self.interval is not None and bool(np.isinf(self.interval).any())

    @property
    def covariate_matrices(self) -> Mapping[str, RowColumns]:
        """Matrices without the further columns of the response."""
        matrices = self.matrices
        return {name: matrix for name, matrix in matrices.items() if name not in RESPONSE_COLUMNS}

    @property
    def covariates(self) -> tuple[str, ...]:
        """Columns of the data that the parts read, in their order."""
        bound = self._encoder.bound
        read = {role.column for role in bound.roles(bound.encoded(response=False))}
        return tuple(name for name in map(str, self.frame.columns) if name in read)

    @property
    def by_levels(self) -> frozenset[str]:
        """Covariates whose levels some term takes: text, and ``x`` of ``C(x)`` and ``(1 | x)``."""
        bound, known = self._encoder.bound, self._encoder.levels
        roles = bound.roles(bound.encoded(response=False))
        return frozenset(one.column for one in roles if one in known or one.role == "hashed")

    @property
    def groupings(self) -> frozenset[str]:
        """Covariates that stand nowhere but right of a bar of groups, ``g`` of ``(1 | g)``."""
        bound = self._encoder.bound
        roles = bound.roles(bound.encoded(response=False))
        return frozenset(one.column for one in roles if one.role == "groups") - {
            one.column for one in roles if one.role != "groups"
        }

    @property
    def exposures(self) -> frozenset[str]:
        """Covariates that only offsets read."""
        bound = self._encoder.bound
        known, others = set[str](), set[str]()
        for name in bound.encoded(response=False):
            part = bound.parts[name]
            for code in part.factors:
                is_known = name == OFFSET or is_offset(code)
                (known if is_known else others).update(one.column for one in roles_in(code))
            others |= {role.column for term in part.own for role in term.roles}
        return frozenset(known - others)

    def offset_columns(self, part: str) -> tuple[int, ...]:
        """Columns of a part's matrix that are offsets, whose coefficient is one."""
        return self._encoder.known(self._encoder.bound.same_as[part])

    @property
    def together(self) -> dict[str, tuple[tuple[int, ...], ...]]:
        """Part -> sets of columns that are measured in one unit: of a smooth, of groups."""
        same_as = self._encoder.bound.same_as
        groups = {part: self._encoder.together(first) for part, first in same_as.items()}
        for name, term in self._encoder.places.items():
            groups[name] = tuple((1 + j,) for j in range(len(term.effects)))
        return groups

    @property
    def orthogonal(self) -> dict[str, tuple[OrthogonalTerm, ...]]:
        """Part -> terms whose columns are made orthogonal, each behind its margins."""
        same_as = self._encoder.bound.same_as
        return {part: self._encoder.orthogonal(first) for part, first in same_as.items()}

    @property
    def groups(self) -> GroupPlaces | None:
        """The term of groups with too many effects for columns.

        Without effects where only the weights have such a term.
        """
        return self._encoder.places.get(GROUP_ROWS) if GROUP_ROWS in self.matrices else None

    @property
    def gate_groups(self) -> GroupPlaces | None:
        """Very many groups of the gate; None without such a term."""
        return self._encoder.places.get(GATE_GROUPS) if GATE_GROUPS in self.matrices else None

    def groups_of(self, part: str) -> GroupPlaces | None:
        """The term of very many groups of a part."""
        return {MEAN: self.groups, GATING: self.gate_groups}.get(part)

    def without_gate_groups(self) -> Design:
        """Design for a model whose weights do not depend on covariates."""
        left = [GATE_GROUPS]
        if self.groups is not None and not self.groups.effects:
            left.append(GROUP_ROWS)
        matrices = {name: one for name, one in self.matrices.items() if name not in left}
        return replace(self, matrices=matrices, terms={name: self.terms[name] for name in matrices})

    def curves(self, part: str) -> tuple[SmoothCurve, ...]:
        """Curves of the smooths of a part."""
        return self._encoder.curves(self._encoder.bound.same_as[part])

    def smooths(self, part: str) -> dict[str, tuple[int, ...]]:
        """Name -> columns of each curve of a part, and of each set of wiggles of a surface."""
        return self._encoder.smooths(self._encoder.bound.same_as[part])

    def group_terms(self, part: str) -> tuple[GroupColumns, ...]:
        """Terms of groups of a part, whether their effects have columns or not."""
        return self._encoder.group_terms(self._encoder.bound.same_as[part])

    def at_zero(
        self, part: str, values: Float[np.ndarray, "*batch columns"]
    ) -> Float[np.ndarray, "*batch columns"]:
        """Return coefficients of a part, levels of groups ``(x | g)`` where ``x`` is zero.

        The columns have slopes of distances from the mean of ``x``, so that scales do not depend
        on where it has its zero.
        """
        return self._encoder.at_zero(self._encoder.bound.same_as[part], values)

    @property
    def context(self) -> Mapping[str, object]:
        """Functions that the formula may call besides the usual ones."""
        return self._encoder.bound.context

    @property
    def n_missing(self) -> int:
        """Number of rows excluded because a value was missing."""
        if self.all_rows is not None:
            return self.all_rows.n_missing
        return int((~self.complete).sum())

    @property
    def left_out(self) -> MissingValues:
        """Number of rows excluded because a value was missing, and the columns that lack it."""
        counts = self.missing if self.all_rows is None else self.all_rows.missing
        return MissingValues(self.n_missing, self.n_fitted + self.n_missing, counts)

    @property
    def filled_in(self) -> str:
        """Numbers of imputed values, by covariate; empty if there are none."""
        counts = {name: int(rows.sum()) for name, rows in self.imputed.items()}
        lacking = int(np.any(list(self.imputed.values()), axis=0).sum()) if counts else 0
        named = MissingValues(lacking, self.n_rows, counts).columns
        return f"imputed in {lacking:,} of the rows: {named}" if counts else ""

    def missing_in(self, data: object) -> MissingValues:
        """Missing values of other rows in columns that the formula reads, except the response."""
        return self._encoder.bound.missing(as_frame(data))

    def new(self, data: object, *, response: bool = False) -> Rows:
        """Design matrices of other data: one row of the result per row of the data.

        Parameters
        ----------
        data : table
            Any that `as_frame` reads; columns that the formula does not use are ignored.
        response : bool
            Whether the response is read too; rows without one are then incomplete.

        Raises
        ------
        DataError
            If a column is absent, holds levels that were not there before, or is not finite.
        """
        bound = self._encoder.bound
        given = bound.rows(as_frame(data), response=response)
        rows, made = encode_new(self._encoder, self.frame, given, self.unseen, response=response)
        target: Response | None = made.get(RESPONSE)
        if response and self.classes:
            target = self.classes.response(rows.columns[self.classes.column])
        parts = [name for name in self.matrices if response or name not in RESPONSE_COLUMNS]
        matrices = {part: made[bound.same_as.get(part, part)] for part in parts}
        return Rows(rows.given, rows.usable, matrices, target, _summed(made))


def build_design(
    formula: Formula,
    data: object,
    *,
    response: ResponseKind = "numeric",
    context: Mapping[str, object] | None = None,
    missing: str = "drop",
    warn: bool = True,
    eliminates_groups: bool = False,
) -> Design:
    """The design of a formula on data.

    Parameters
    ----------
    formula : Formula
        From `parse_formula`.
    data : pandas, polars or pyarrow table, or mapping of columns
        It is not changed, and not copied where no value is missing.
    response : {"numeric", "categorical", "any", "none"} or Ordered
        Kind of response that the model accepts; "any" treats text, levels and truth values as
        classes.
    context : mapping, optional
        Functions and constants that the formula may use besides the allow-list.
    missing : {"drop", "raise", "keep"}
        What to do with rows that lack a value which the formula reads. Numbers of a formula
        without response may stay missing, NaN in the matrix; rows without any are dropped.
    warn : bool
        Whether constant and collinear columns, and ids, are worth a warning to the model.
    eliminates_groups : bool
        Whether the model takes effects of one term of each part without columns where they are
        many: as matrices of their own, ``GROUP_ROWS`` and ``GATE_GROUPS``.

    Raises
    ------
    DataError
        If the data cannot be used; the message names the column.
    FormulaError
        If the formula names a column or function that does not exist.

    Warns
    -----
    DesignWarning
        Of constant and collinear columns, of fewer rows than terms, of numbers held as text.

    Examples
    --------
    >>> from bayesvb.formula.parser import parse_formula
    >>> data = {"y": [1.0, 3.0, 2.0], "x": [0, 1, None]}
    >>> design = build_design(parse_formula("log(y) ~ x | gating(1)"), data)
    >>> design.terms["mean"], design.terms["gating"], design.n_missing
    (('Intercept', 'x'), ('Intercept',), 1)
    """
    if not isinstance(response, Ordered):
        _check_known("response", response, get_args(get_args(ResponseKind)[0]))
    _check_known("missing", missing, POLICIES if formula.response is None else POLICIES[:2])
    if not len(given := as_frame(data)):
        raise DataError("the data have no rows")
    bound, rows = bind(formula, given, response=response, context=context or {}, missing=missing)
    encoder, made = fit_encoder(bound, rows, eliminates_groups=eliminates_groups)
    apart = {name: made.pop(name) for name in (*encoder.places, *encoder.further)}
    own_names = {part: encoder.blank_names(response=True)[part] for part in apart}
    plain = {part: encoder.plain(part) for part in made}
    check_matrices(bound, made, encoder.names, warn=warn, plain=plain)
    for role, levels in encoder.levels.items() if warn else ():
        warn_of_ids(role, levels, len(rows), knows_noise=TRIALS in apart or formula.knows_noise)
    classes, target = bound.classes, made.get(RESPONSE)
    return Design(
        formula=formula,
        frame=rows.frame,
        response=classes.response(rows.columns[classes.column]) if classes else target,
        response_names=encoder.names.get(RESPONSE, (formula.response or "",) if classes else ()),
        levels=classes.unordered_labels if classes else None,
        matrices={part: made[first] for part, first in bound.same_as.items()} | apart,
        terms={part: encoder.names[first] for part, first in bound.same_as.items()} | own_names,
        term_blocks={part: encoder.term_blocks(first) for part, first in bound.same_as.items()},
        complete=rows.usable,
        _encoder=encoder,
        classes=classes,
        offset=_summed(made),
        units=declared_units(given, rows.frame.columns),
        missing=rows.missing,
    )


def _summed(made: Mapping[str, RowColumns]) -> RowVector | None:
    """The sum of all offsets."""
    return made[OFFSET].sum(axis=1) if OFFSET in made else None


def _check_known(name: str, value: str, allowed: Sequence[str]) -> None:
    """Refuse an option that is none of those allowed, and list them."""
    if value not in allowed:
        listed = ", ".join(map(repr, allowed))
        raise DataError(f"{name}={value!r} is not known; it is one of {listed}")
