"""All rows of a design, in memory or not: the source of scales, and of a fit.

A table is one block. Whatever a model, its experts or its gate derive from rows, they derive from
an ``AbstractDesignRows``, so that no answer depends on where the rows are.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import BLOCK_ROWS, Block
from bayesvb.data.column_moments import ColumnMoments
from bayesvb.data.response_columns import RESPONSE_COLUMNS
from bayesvb.data.responses import AllResponses, Responses
from bayesvb.data.sources import AbstractSource
from bayesvb.data.streamed_rows import EncodedRows, recut
from bayesvb.errors import DataError
from bayesvb.formula.checks import check_squares, require_squares
from bayesvb.formula.design import Design
from bayesvb.formula.parser import RESPONSE, Formula
from bayesvb.formula.responses import ResponseKind
from bayesvb.numerics.arrays import RowColumns, RowVector

TARGET = "response less offset"
"""Key of the moments of responses with offsets subtracted."""

INFINITE = -1.0
"""Value of infinite lengths among the moments of further columns of a response."""

Moments = Mapping[str, ColumnMoments]


@dataclass(frozen=True, eq=False)
class AbstractDesignRows(abc.ABC):
    """All rows of a design, of which a sample may be all that is in memory.

    Attributes
    ----------
    design : Design
        Of the rows in memory.
    """

    design: Design

    @property
    @abc.abstractmethod
    def moments(self) -> Moments:
        """Moments of the columns of each part, of responses, and of these less the offset.

        Where values may be missing, each column has moments of its own, by its name.
        """

    @property
    @abc.abstractmethod
    def in_memory(self) -> EncodedRows:
        """Rows in memory; the weights of a sample sum to the weight of all rows."""

    @property
    @abc.abstractmethod
    def has_gaps(self) -> bool:
        """Whether a row lacks some of its values."""

    @abc.abstractmethod
    def read_responses(self, *, as_given: bool = False) -> Iterator[Responses]:
        """Responses of all rows that can be read, and case weights.

        Offsets are subtracted unless responses are wanted ``as_given``.
        """

    @abc.abstractmethod
    def source(self, standardise: Callable[[EncodedRows], Block]) -> AbstractSource | None:
        """Standardised blocks of all rows; None if all of them are in memory."""

    @property
    def is_whole(self) -> bool:
        """Whether moments are of all rows, or else of one site before sites have pooled them."""
        return True

    def ends(self, name: str) -> Float[np.ndarray, "2 columns"]:
        """Lowest and highest value of each column of a matrix among the rows that can be read."""
        moments = self.moments[name]
        return np.stack([moments.lowest, moments.highest])

    @property
    def responses(self) -> AllResponses:
        """Summary of the responses from which a family derives its scaling."""
        return AllResponses(self.moments[TARGET], self.read_responses)

    def check(self) -> None:
        """Refuse a response that never varies, and columns that cannot be standardised.

        Raises
        ------
        DataError
            Naming the column.
        """
        design, moments = self.design, self.moments
        numeric = RESPONSE in moments and design.levels is None
        if numeric and self.is_whole:
            response = moments[RESPONSE]
            if (response.lowest == response.highest).any():
                raise DataError("the response has the same value in all rows of positive weight")
        named: dict[str, Sequence[str]] = {
            first: design.terms[first]
            for first in distinct_parts(design.covariate_matrices).values()
        }
        if not named.keys() <= moments.keys():  # where values are missing each column has its own
            named = {name: (name,) for name in moments}
        if numeric:
            named[RESPONSE] = design.response_names
        for key, names in named.items():
            check_squares(moments[key].lowest, moments[key].highest, names)
        if design.weights is not None:  # rows without weight have no moments, and are in blocks
            for part, matrix in design.covariate_matrices.items():
                require_squares(matrix, design.terms[part])


class AbstractDesignReader(abc.ABC):
    """A source of rows that learns its design itself."""

    @abc.abstractmethod
    def design_rows(
        self,
        formula: Formula,
        *,
        response: ResponseKind,
        context: Mapping[str, object] | None,
        missing: str,
        weights: str | None,
    ) -> AbstractDesignRows:
        """Rows after a formula; arguments as of ``rows_in_blocks``."""


@final
@dataclass(frozen=True, eq=False)
class RowsInMemory(AbstractDesignRows):
    """All rows, in memory.

    Attributes
    ----------
    design : Design
    weight : ndarray, shape (rows,), or None
        Case weights.
    """

    design: Design
    weight: RowVector | None

    @cached_property
    def moments(self) -> Moments:
        design = self.design
        names = design.terms if self.has_gaps else None
        combined = frozenset(part for part, terms in design.orthogonal.items() if terms)
        return column_moments(iter([self.in_memory]), combined, names)

    @property
    def in_memory(self) -> EncodedRows:
        return encoded_design(self.design, self.weight)

    @cached_property
    def has_gaps(self) -> bool:
        if self.design.response is not None:
            return False
        return any(bool(np.isnan(matrix).any()) for matrix in self.design.matrices.values())

    def read_responses(self, *, as_given: bool = False) -> Iterator[Responses]:
        return responses_in(self.in_memory, as_given=as_given)

    def source(self, standardise: Callable[[EncodedRows], Block]) -> None:
        """Nothing but the rows in memory."""


def encoded_design(design: Design, weight: RowVector | None) -> EncodedRows:
    """Rows of a design, with case weights; classes as codes."""
    response = None if design.response is None else design.responses
    return EncodedRows(design.matrices, response, weight, design.offset)


def responses_in(rows: EncodedRows, *, as_given: bool = False) -> Iterator[Responses]:
    """Responses of some rows with offsets subtracted, unless ``as_given``, and case weights."""
    assert rows.response is not None
    offset = None if as_given else rows.offset
    yield rows.response if offset is None else rows.response - offset[:, None], rows.weight


def distinct_parts(matrices: Mapping[str, RowColumns]) -> dict[str, str]:
    """Part -> the first part with the same array."""
    first: dict[int, str] = {}
    return {name: first.setdefault(id(matrix), name) for name, matrix in matrices.items()}


def column_moments(
    pieces: Iterator[EncodedRows],
    combined: frozenset[str],
    names: Mapping[str, Sequence[str]] | None = None,
) -> Moments:
    """Moments of the columns of all rows.

    Parameters
    ----------
    pieces : iterator of EncodedRows
    combined : frozenset of str
        Parts whose columns are combined, for which products of columns are needed.
    names : mapping of str to sequence of str, optional
        Names of the columns of each part where values may be missing: each column then has moments
        of its own.
    """
    moments: Moments = {}
    for rows in recut(pieces, BLOCK_ROWS):
        columns = {name: rows.matrices[name] for name in distinct_parts(rows.matrices).values()}
        if names is not None:
            moments = added_moments(moments, _gapped(columns, names, rows.weight))
            continue
        for name in RESPONSE_COLUMNS.keys() & columns.keys():  # infinite lengths have no moments
            columns[name] = np.where(np.isinf(columns[name]), INFINITE, columns[name])
        if rows.response is not None:
            columns[RESPONSE] = rows.response
            if rows.offset is not None:
                columns[TARGET] = rows.response - rows.offset[:, None]
        some = {
            name: ColumnMoments.of(matrix, rows.weight, products=name in combined)
            for name, matrix in columns.items()
        }
        moments = added_moments(moments, some)
    if RESPONSE in moments and TARGET not in moments:
        return {**moments, TARGET: moments[RESPONSE]}
    return moments


def _gapped(
    matrices: Mapping[str, RowColumns], names: Mapping[str, Sequence[str]], weight: RowVector | None
) -> Moments:
    """Moments of every column by its name, of the rows where it has a value."""
    missing: dict[str, ColumnMoments] = {}
    for part, matrix in matrices.items():
        for name, column in zip(names[part], matrix.T, strict=True):
            seen = ~np.isnan(column)
            share = None if weight is None else weight[seen]
            missing[name] = ColumnMoments.of(column[seen, None], share)
    return missing


def added_moments(mine: Moments, theirs: Moments) -> Moments:
    """Moments of the rows of both, either of which may have none."""
    if not mine or not theirs:
        return mine or theirs
    return {name: moments + theirs[name] for name, moments in mine.items()}
