"""All stages, for rows that are read in blocks: the state of a formula, and matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from operator import add
from typing import Any, final

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.data.frame_streams import AbstractFrames
from bayesvb.data.frames import as_frame
from bayesvb.data.responses import Responses
from bayesvb.data.sources import AbstractSource
from bayesvb.data.streamed_rows import EncodedRows
from bayesvb.errors import DataError
from bayesvb.formula.binding import BoundFormula, BoundTerm, UsableRows, bind, find_columns
from bayesvb.formula.checks import check_matrices
from bayesvb.formula.columns import with_own_names
from bayesvb.formula.design import AllRows, Design
from bayesvb.formula.encoder import Encoder, fit_encoder, role_table
from bayesvb.formula.group_columns import GroupColumns
from bayesvb.formula.group_terms import GroupTerm
from bayesvb.formula.limits import LIMITS
from bayesvb.formula.matrices import evaluate
from bayesvb.formula.parser import RESPONSE, Formula
from bayesvb.formula.passes.design_rows import (
    AbstractDesignRows,
    Moments,
    added_moments,
    column_moments,
    encoded_design,
    responses_in,
)
from bayesvb.formula.passes.learned_numbers import learned_numbers, with_learned_numbers
from bayesvb.formula.passes.representatives import Choice, Representatives
from bayesvb.formula.passes.transform_states import Values, exact_states
from bayesvb.formula.responses import Ordered, ResponseKind
from bayesvb.formula.smooth_columns import SmoothColumns, fit_smooth
from bayesvb.formula.smooth_terms import SmoothTerm
from bayesvb.formula.special_terms import OFFSET
from bayesvb.formula.term_columns import AbstractTermColumns, TermData
from bayesvb.numerics.arrays import RowVector
from bayesvb.numerics.order_statistics import distinct_values


@dataclass(frozen=True, eq=False)
class BlockEncoding:
    """From rows as they are read to their matrices.

    Attributes
    ----------
    encoder : Encoder
        After all rows.
    weights : str or None
        Column of case weights.
    """

    encoder: Encoder
    weights: str | None

    def __call__(self, number: int, frame: pd.DataFrame) -> EncodedRows:
        """Matrices of the complete rows of a frame."""
        bound, table = self.encoder.bound, as_frame(frame).reset_index(drop=True)
        response = RESPONSE in bound.parts
        rows = bound.rows(table, response=response)
        made = self.encoder.encode(rows, response=response)
        matrices = {part: made[first] for part, first in bound.same_as.items()}
        matrices |= {name: made[name] for name in self.encoder.further if response}
        weight = None
        if self.weights is not None:
            weight = table[self.weights].to_numpy(dtype=np.float64)[rows.usable]
        offset = made[OFFSET].sum(axis=1) if OFFSET in made else None
        known = made.get(RESPONSE)
        if bound.classes is not None:
            given = bound.classes.response(rows.columns[bound.classes.column])
            known = given.reshape(len(given), 1).astype(float)
        return EncodedRows(matrices, known, weight, offset)

    def moments(self, number: int, frame: pd.DataFrame) -> Moments:
        """Moments of all columns of a frame."""
        return self.moments_of(iter([self(number, frame)]))

    def moments_of(self, pieces: Iterator[EncodedRows]) -> Moments:
        """Moments of the columns of every matrix and of the responses."""
        names = self.encoder.names if self.encoder.bound.keeps_missing else None
        parts = set(self.encoder.bound.same_as.values())
        combined = frozenset(part for part in parts if self.encoder.orthogonal(part))
        return column_moments(pieces, combined, names)

    def expression(self, code: str, number: int, frame: pd.DataFrame) -> RowVector:
        """Values of an expression of numbers in the complete rows, columns under their aliases."""
        from formulaic import Formula as TermLists

        bound, table = self.encoder.bound, as_frame(frame).reset_index(drop=True)
        rows = bound.rows(table, response=RESPONSE in bound.parts)
        if not len(rows):
            return np.empty(0)
        roles = bound.roles(bound.encoded(response=RESPONSE in bound.parts))
        made, _, _ = evaluate(
            TermLists(values=f"0 + {{{code}}}"),
            role_table(bound, rows, roles, self.encoder.levels),
            formula=bound.formula,
            context=bound.context,
        )
        return np.ascontiguousarray(made["values"][:, 0])


@dataclass(frozen=True, eq=False)
class AbstractSampledRows(AbstractDesignRows):
    """Rows of which a sample, or one site's, are in memory.

    Attributes
    ----------
    design : Design
        Design of the sample, encoded with the formula's state from all rows.
    rows : Representatives
        Counts of the first pass.
    frames : AbstractFrames
        Where the rows are read from.
    encoding : BlockEncoding
    """

    design: Design
    rows: Representatives
    frames: AbstractFrames
    encoding: BlockEncoding

    @property
    def has_gaps(self) -> bool:
        return self.encoding.encoder.bound.keeps_missing and any(self.rows.missing.values())

    @property
    def in_memory(self) -> EncodedRows:
        weight, total = self.design.weights, self.rows.total_weight
        if self.design.n_rows < self.rows.n_rows[1]:
            weight = np.ones(self.design.n_rows) if weight is None else weight
            weight = np.asarray(weight * (total / weight.sum()))
        return encoded_design(self.design, weight)

    def source(self, standardise: Callable[[EncodedRows], Block]) -> AbstractSource | None:
        """Blocks that are read again whenever they are needed."""
        if not self.design.is_sample:
            return None
        counted, names = (self.rows.n_rows[1], self.rows.total_weight), self.rows.choice.read
        return self.frames.source(self.encoding, names, standardise, counted)


@final
@dataclass(frozen=True, eq=False)
class RowsInBlocks(AbstractSampledRows):
    """Rows that are read in blocks."""

    @cached_property
    def moments(self) -> Moments:
        """Moments of all columns, where the rows are."""
        if self.frames.remote:
            return reduce(
                added_moments, self.frames.map(self.encoding.moments, self.rows.choice.read)
            )
        return self.encoding.moments_of(self._encoded())

    def read_responses(self, *, as_given: bool = False) -> Iterator[Responses]:
        """Responses of all rows, read again."""
        for rows in self._encoded():
            yield from responses_in(rows, as_given=as_given)

    def _encoded(self) -> Iterator[EncodedRows]:
        """All complete rows, as they are read."""
        return self.frames.map(self.encoding, self.rows.choice.read)


def rows_in_blocks(
    formula: Formula,
    frames: AbstractFrames,
    *,
    response: ResponseKind = "numeric",
    context: Mapping[str, object] | None = None,
    missing: str = "drop",
    weights: str | None = None,
    warn: bool = True,
) -> RowsInBlocks:
    """Rows that are read in blocks, after a formula.

    Two passes, for a sample with the levels of all rows and for the moments of all columns; more
    for knots of splines and for the state of other transforms.

    Parameters
    ----------
    formula : Formula
    frames : AbstractFrames
    response : {"numeric", "any", "none"} or Ordered
        Kind of response that the model accepts; see ``build_design``.
    context : mapping, optional
        Functions and constants that the formula may use besides the allow-list.
    missing : {"drop", "raise", "keep"}
        What to do with rows that lack a value; see ``build_design``.
    weights : str, optional
        Column of case weights.
    warn : bool
        Whether constant and collinear columns are worth a warning to the model.

    Raises
    ------
    DataError
        If the data cannot be used, or a transform cannot be learned in passes.
    FormulaError
        If the formula names a column or function that does not exist.
    """
    choice = columns_to_read(formula, frames, response, context or {}, weights)
    choice = replace(choice, keeps_missing=missing == "keep")
    rows = _summed(frames.map(choice.of_frame, choice.read))
    rows.check(missing)
    shown = rows.together[list(choice.names)]
    policy = "keep" if choice.keeps_missing else "drop"
    bound, usable = bind(formula, shown, response=response, context=context or {}, missing=policy)
    encoder = _after_all_rows(fit_encoder(bound, usable)[0], frames, rows, choice)
    _check_rowwise(encoder, usable)
    encoding = BlockEncoding(encoder, weights)
    _check_shown(encoder, usable, warn=warn)
    return RowsInBlocks(_of_sample(encoder, rows, frames), rows, frames, encoding)


def _summed(parts: Iterator[Representatives]) -> Representatives:
    """Sum of the selections from all rows."""
    try:
        first = next(parts)
    except StopIteration:
        raise DataError("the data have no rows") from None
    return reduce(add, parts, first)


def columns_to_read(
    formula: Formula,
    frames: AbstractFrames,
    response: ResponseKind,
    context: Mapping[str, object],
    weights: str | None,
) -> Choice:
    """Columns that the formula reads, of which the first rows show the kinds."""
    names = [name for name in frames.names if name != weights]
    if weights is not None and weights not in frames.names:
        raise DataError(
            f"weights={weights!r} is not a column of the data",
            hint="the columns are " + ", ".join(frames.names[:8]),
        )
    head = _head(frames, names)
    bound = find_columns(formula, head, context, has_response=response != "none")
    roles = bound.roles(list(bound.parts))
    read = {role.column for role in roles}
    together = (
        tuple(role.column for role in one.columns)
        for part in bound.parts.values()
        for one in part.own
        if isinstance(one.term, GroupTerm) and len(one.columns) > 1
    )
    levels = dict.fromkeys(role.column for role in roles if role.role in ("levels", "groups"))
    if isinstance(response, Ordered) and RESPONSE in bound.parts:  # numbers are levels too
        levels |= dict.fromkeys(role.column for role in bound.parts[RESPONSE].roles)
    columns = tuple(name for name in names if name in read)
    known = bound.absent({name: head[name] for name in columns})
    lacking = tuple(name for name in columns if name not in known)
    return Choice(columns, tuple(dict.fromkeys(together)), tuple(levels), weights, may_lack=lacking)


def _head(frames: AbstractFrames, names: Sequence[str]) -> pd.DataFrame:
    """The first rows."""
    for frame in frames.read(names):
        if len(frame):
            return as_frame(frame)
    raise DataError("the data have no rows")


def _after_all_rows(
    encoder: Encoder, frames: AbstractFrames, rows: Representatives, choice: Choice
) -> Encoder:
    """The encoder with states from all rows, instead of states from a sample."""
    reading = BlockEncoding(encoder, choice.weights)

    def values(code: str) -> Iterator[RowVector]:
        return frames.map(partial(reading.expression, code), choice.read)

    states: dict[str, Any] = {}
    for spec in encoder.specs.values():
        states |= {code: state for code, state in spec.transform_state.items() if state}
    known = exact_states(states, values, rows.n_rows[1])
    exact = {
        part: replace(
            one,
            each=tuple(
                exact_term(term, fitted, values)
                for term, fitted in zip(one.part.own, one.each, strict=True)
            ),
        )
        for part, one in encoder.own.items()
    }
    specs = {
        part: spec.update(transform_state={**spec.transform_state, **known})
        for part, spec in encoder.specs.items()
    }
    return replace(encoder, specs=specs, own=exact)


def _check_rowwise(encoder: Encoder, rows: UsableRows) -> None:
    """Refuse functions that were handed in and look at other rows than their own."""
    response = RESPONSE in encoder.bound.parts
    whole = encoder.encode(rows, response=response)
    for places in (np.arange(0, len(rows), 2), np.arange(1, len(rows), 2)):
        some = encoder.encode(rows.at(places), response=response)
        for part, matrix in some.items():
            same = np.isclose(
                matrix, whole[part][places], rtol=LIMITS.rounding, atol=0.0, equal_nan=True
            )
            if not same.all():
                names = encoder.blank_names(response=response)[part]
                column = names[int((~same).any(axis=0).argmax())]
                raise DataError(
                    f"`{column}` depends on the rows that are read together, and these are blocks",
                    hint="a function of context= may use the values of its own row only: make the "
                    "column in the data",
                )


def _check_shown(encoder: Encoder, rows: UsableRows, *, warn: bool) -> None:
    """Warn of constant and collinear columns, as among the rows that show all there is."""
    made = encoder.encode(rows, response=RESPONSE in encoder.bound.parts)
    made = {part: matrix for part, matrix in made.items() if part not in encoder.further}
    plain = {part: encoder.plain(part) for part in made}
    check_matrices(encoder.bound, made, encoder.names, warn=warn, plain=plain)


def _of_sample(encoder: Encoder, rows: Representatives, frames: AbstractFrames) -> Design:
    """The design of the sample."""
    names = list(rows.choice.names)
    shown = rows.together.loc[rows.together.index.difference(rows.sample.index), names]
    return design_of_sample(
        encoder, rows.sample[names], known_rows(rows, frames, shown), rows.weight
    )


def known_rows(rows: Representatives, frames: AbstractFrames, shown: pd.DataFrame) -> AllRows:
    """The rows of which a sample is in memory."""
    counts = rows.n_rows[1], rows.n_missing
    # Where rows with some of their values are used, most of the values missing are in these.
    missing = {} if rows.choice.keeps_missing else rows.missing
    return AllRows(*counts, frames.words, frames.count, rows.total_weight, shown, missing)


def of_kept_rows(
    design: Design, learned: Float[np.ndarray, " numbers"], known: AllRows, n_sample: int
) -> Design:
    """The design of a sample of rows that are not there any more.

    Parameters
    ----------
    design : Design
        Of the rows that were kept: the sample, then those that show levels and ends.
    learned : ndarray, shape (numbers,)
        State of the formula from all rows; see ``learned_numbers``.
    known : AllRows
        The rows of which it is a sample.
    n_sample : int

    Raises
    ------
    DataError
        If the formula has learned another number of numbers.
    """
    encoder = with_learned_numbers(design._encoder, learned)
    return design_of_sample(encoder, design.given.iloc[:n_sample], known)


def learned_of(design: Design) -> Float[np.ndarray, " numbers"]:
    """State of the formula from all rows; see ``learned_numbers``."""
    return learned_numbers(design._encoder)


def design_of_sample(
    encoder: Encoder,
    sample: pd.DataFrame,
    known: AllRows,
    weights: Float[np.ndarray, " sample"] | None = None,
) -> Design:
    """The design of a sample by what an encoder has learned from all rows."""
    bound: BoundFormula = encoder.bound
    response = RESPONSE in bound.parts
    usable = bound.rows(sample, response=response)
    made = encoder.encode(usable, response=response)
    names, classes = {**encoder.names, **encoder.further}, bound.classes
    same_as = {**bound.same_as, **{name: name for name in encoder.further}}
    given = (bound.formula.response or "",) if classes else ()
    return Design(
        formula=bound.formula,
        frame=usable.frame,
        response=classes.response(usable.columns[classes.column])
        if classes
        else made.get(RESPONSE),
        response_names=names.get(RESPONSE, given),
        levels=classes.unordered_labels if classes else None,
        matrices={part: made[first] for part, first in same_as.items()},
        terms={part: names[first] for part, first in same_as.items()},
        term_blocks={part: encoder.term_blocks(first) for part, first in bound.same_as.items()},
        complete=usable.usable,
        _encoder=encoder,
        classes=classes,
        offset=made[OFFSET].sum(axis=1) if OFFSET in made else None,
        all_rows=known,
        weights=weights,
    )


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
        centres = [
            centre if code in term.indicators else _distinct(code, values).mean()
            for code, centre in zip(term.numbers, fitted.centres, strict=True)
        ]
        return replace(fitted, centres=np.array(centres))
    return fitted


def _distinct(code: str, values: Values) -> Float[np.ndarray, " values"]:
    """All distinct values of an expression, ascending."""
    result = distinct_values(partial(values, code), LIMITS.stored_values)
    if result is None:
        name = with_own_names(code)
        raise DataError(
            f"`{name}` has more than {LIMITS.stored_values} distinct values, and knots of s() and "
            "centres of slopes that vary by group are learned from all of them",
            hint=f"round it: s(np.round({name}, 3)) in the data; or write bs({name}, df=5)",
        )
    return result
