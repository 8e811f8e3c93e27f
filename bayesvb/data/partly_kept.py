"""Rows of which only some are kept: the others are known by the sums that they left behind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from bayesvb.data.blocks import Block
from bayesvb.data.sources import AbstractSource, InMemorySource
from bayesvb.errors import DataError

NOT_KEPT = "this needs all {all:,} rows of the fit, of which only {kept:,} are kept here"
"""Error message where every row is needed."""


@final
@dataclass(frozen=True)
class PartlyKept(AbstractSource):
    """All rows of a fit that has the sums of all of them, and only some of the rows.

    Averages over rows are taken over those that are kept. Whatever goes over every row is refused,
    and says why.

    Attributes
    ----------
    kept : AbstractSource
        Rows that are here.
    count : int
        Number of all rows.
    weight : float
        Sum of the case weights of all rows.
    later : InMemorySource, optional
        All other rows, while they are few enough to be read again by ``Fit.update``.
    """

    kept: AbstractSource
    count: int
    weight: float
    later: InMemorySource | None = None

    def iterate(self) -> Iterator[Block]:
        """None.

        Raises
        ------
        DataError
            Always.
        """
        raise DataError(
            NOT_KEPT.format(kept=self.kept.n_rows, all=self.count),
            hint="fit all rows together; only sums are kept of rows given to Fit.update(), of rows "
            "of other sites, and of rows read in blocks once their fit has been saved",
        )

    @property
    def n_rows(self) -> int:
        return self.count

    @property
    def total_weight(self) -> float:
        return self.weight

    def thinned(self, n_rows: int) -> Block:
        return self.kept.thinned(n_rows)

    def empty(self) -> Block:
        return self.kept.empty()


def all_in_memory(source: AbstractSource) -> InMemorySource | None:
    """Return all rows of a source if they are in memory."""
    if isinstance(source, PartlyKept):
        kept, later = source.kept, source.later
        if isinstance(kept, InMemorySource) and later is not None:
            return kept.with_rows(later)
        return None
    return source if isinstance(source, InMemorySource) else None


def holds_all_rows(source: AbstractSource) -> bool:
    """Whether every row of a source can be gone over."""
    return not isinstance(source, PartlyKept)
