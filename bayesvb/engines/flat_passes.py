"""Passes over statistics as one vector, which a compiled sweep takes and returns.

An engine treats them as it treats records: both are points of one vector space.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from bayesvb.data.sources import AbstractSource
from bayesvb.data.statistics import SufficientStats
from bayesvb.engines.base import Iterate, one_pass
from bayesvb.numerics.arrays import EntryVector, Floats
from bayesvb.variational.model import AnyModel, CompiledSweep


@dataclass(frozen=True)
class FlatStats(SufficientStats):
    """Statistics as one vector; their record is made where an engine wants names or shapes.

    Attributes
    ----------
    entries : ndarray, shape (entries,)
    blank : SufficientStats
        A record of the same names and shapes.
    """

    entries: EntryVector
    blank: SufficientStats

    def __add__(self, other: FlatStats) -> FlatStats:
        """Sum of two vectors."""
        return FlatStats(self.entries + other.entries, self.blank)

    def __mul__(self, factor: float) -> FlatStats:
        """Vector scaled by a number."""
        return FlatStats(factor * self.entries, self.blank)

    __rmul__ = __mul__

    def to_vector(self) -> EntryVector:
        """The vector."""
        return self.entries

    def with_vector(self, vector: EntryVector) -> FlatStats:
        """Another vector, of the same shapes."""
        return FlatStats(vector, self.blank)

    @property
    def record(self) -> SufficientStats:
        """The record."""
        return self.blank.with_vector(self.entries)

    def leaves(self, prefix: str = "") -> Iterator[tuple[str, Float[np.ndarray, ...]]]:
        """Names and arrays of the record."""
        yield from self.record.leaves(prefix)

    def with_leaves(self, leaves: Mapping[str, Floats], prefix: str = "") -> FlatStats:
        """The vector of other arrays by name."""
        return FlatStats(self.blank.with_leaves(leaves, prefix).to_vector(), self.blank)


def compiled_pass(
    sweep: CompiledSweep, model: AnyModel, source: AbstractSource, stats: FlatStats
) -> Iterate[FlatStats]:
    """Bound of the posterior of these statistics, and the next ones; by NumPy where the core stops.

    Raises
    ------
    numpy.linalg.LinAlgError
        The statistics are outside the domain.
    """
    step = sweep(stats.entries)
    if step is None:
        here = one_pass(model, source, stats.record)
        step = here.bound, here.following.to_vector()
    return Iterate(stats, step[0], replace(stats, entries=step[1]))
