"""Rows of one of several sites, and what all sites have told of theirs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import BLOCK_ROWS, Block
from bayesvb.data.column_moments import ColumnMoments
from bayesvb.data.frame_streams import AbstractFrames
from bayesvb.data.sources import AbstractSource, InMemorySource
from bayesvb.data.streamed_rows import EncodedRows, recut

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class ToldColumns:
    """Columns that a formula reads, as all sites have told them.

    Attributes
    ----------
    levels : mapping of str to list
        Every column, with its levels; none of numbers.
    quantiles : mapping of str to ndarray, shape (shares,)
        Values at evenly spaced shares, the ends among them, of the columns of numbers by which
        knots, centres and polynomials are found.
    """

    levels: Mapping[str, Sequence[Any]]
    quantiles: Mapping[str, Float[np.ndarray, " shares"]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class ToldRows:
    """Counts and moments of the rows of all sites.

    Attributes
    ----------
    n_sites, n_rows, n_given : int
        Sites, rows that can be used, and rows given.
    total_weight : float
        Sum of the case weights of rows that can be used.
    missing : mapping of str to int
        Rows that lack a value, by column.
    moments : mapping of str to ColumnMoments
        Of all that is standardised.
    responses : ndarray, shape (responses, shares), or None
        Values at evenly spaced shares of what is left of responses once offsets are taken away.
    """

    n_sites: int
    n_rows: int
    n_given: int
    total_weight: float
    missing: Mapping[str, int]
    moments: Mapping[str, ColumnMoments]
    responses: Float[np.ndarray, "responses shares"] | None = None


@final
@dataclass(frozen=True, eq=False)
class SiteFrames(AbstractFrames):
    """Rows of one of several sites, all of them in memory there, as one frame.

    Attributes
    ----------
    frame : pandas.DataFrame
    columns : ToldColumns or None
        None before sites have told any.
    rows : ToldRows or None
    """

    frame: pd.DataFrame
    columns: ToldColumns | None = None
    rows: ToldRows | None = None

    @property
    def words(self) -> str:
        """Where all rows are."""
        n_sites = 1 if self.rows is None else self.rows.n_sites
        return "one site" if n_sites == 1 else f"{n_sites} sites"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all columns."""
        return tuple(map(str, self.frame.columns))

    def each(self, names: Sequence[str]) -> Iterator[pd.DataFrame]:
        """These columns of the rows of this site."""
        yield self.frame

    def source(
        self,
        encode: Callable[[int, pd.DataFrame], EncodedRows],
        names: Sequence[str],
        standardise: Callable[[EncodedRows], Block],
        counted: tuple[int, float],
    ) -> AbstractSource:
        """Standardised blocks of the rows of this site."""
        pieces = recut(self.map(encode, names), BLOCK_ROWS)
        return InMemorySource(tuple(map(standardise, pieces)))


def are_sites(words: str) -> bool:
    """Whether what rows are of, in words, are sites.

    Examples
    --------
    >>> are_sites("3 sites"), are_sites("3 Parquet files")
    (True, False)
    """
    return re.fullmatch(r"one site|[0-9]+ sites", words) is not None
