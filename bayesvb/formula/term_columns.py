"""Stage 3, encode: columns of a single term, and their common methods."""

from __future__ import annotations

import abc
from dataclasses import dataclass

import pandas as pd

from bayesvb.formula.term_blocks import TermBlock
from bayesvb.numerics.arrays import RowColumns, RowIntegers, RowVector


@dataclass(frozen=True)
class TermData:
    """Data of a term.

    Attributes
    ----------
    numbers : tuple of array, shape (rows,)
        Its expressions of numbers.
    columns : tuple of array, shape (rows,)
        Its columns, as numbers or as places among ``levels``, minus one for a level that is not
        among them.
    levels : tuple of pandas.Index or None
        Levels of those columns that have some.
    names : tuple of str
        Names of the columns.
    sampled : bool
        Whether a group that was not there has the column of such, or no effect.
    """

    numbers: tuple[RowVector, ...]
    columns: tuple[RowVector | RowIntegers, ...]
    levels: tuple[pd.Index | None, ...]
    names: tuple[str, ...]
    sampled: bool = False


class AbstractTermColumns(abc.ABC):
    """Columns of one term: state learned from the first rows, so that new rows get the same.

    Subclasses are frozen dataclasses.
    """

    @property
    @abc.abstractmethod
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""

    @property
    @abc.abstractmethod
    def term_blocks(self) -> tuple[TermBlock, ...]:
        """Columns whose coefficients share one prior scale; places are within the term."""

    @property
    @abc.abstractmethod
    def together(self) -> tuple[tuple[int, ...], ...]:
        """Sets of columns that are measured in one unit: their meaning lies in their ratios."""

    @abc.abstractmethod
    def matrix(self, data: TermData) -> RowColumns:
        """The columns of these rows."""
