"""Passes in the compiled core: limits, and the arrays that it reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np
from jaxtyping import Float, Int

from bayesvb.data.blocks import Block
from bayesvb.data.sources import AbstractSource, InMemorySource
from bayesvb.data.statistics import LocalStep, SufficientStats
from bayesvb.data.streamed_rows import StreamedRows
from bayesvb.linear.precisions import AbstractPrecision
from bayesvb.numerics.arrays import EntryVector
from bayesvb.numerics.compiled import Sweep, compiled_sweep
from bayesvb.variational.model import CompiledSweep

MOST_COLUMNS, MOST_COMPONENTS = 256, 64
"""Columns of a design, and components, up to which the core runs: where these are many, products of
matrices are most of a sweep, and NumPy's are nearly as fast (``bench_compiled``)."""

MOST_ROWS, MOST_NUMBERS = 1 << 20, 20_000_000
"""Rows, and numbers in their columns, up to which the core runs: its copy of them takes 160 MB."""


WHOLE, ROWS, END = range(3)
"""Stages of a pass in the core: all of it, sums of some rows, and the end after their total."""


@dataclass(frozen=True)
class CompiledPass:
    """A sweep over known rows: from statistics to the bound and the next statistics.

    Attributes
    ----------
    run : callable
    sizes, prior, rows : ndarray
        The model and its rows, in the order in which ``sweep.c`` reads them.
    """

    run: Sweep
    sizes: Int[np.ndarray, " sizes"]
    prior: Float[np.ndarray, " prior"]
    rows: Float[np.ndarray, " numbers"]

    @classmethod
    def of(
        cls, name: str, sizes: Sequence[int], prior: Sequence[object], rows: Sequence[object]
    ) -> CompiledPass | None:
        """The pass of a function of the core; None if the core is absent or turned off.

        Of ``sizes`` the first is the number of rows, and the next the number of components.
        """
        run = compiled_sweep(name)
        if run is None:
            return None
        numbers = np.array([sizes[0], WHOLE, *sizes[1:]], dtype=np.int64)
        return cls(run, numbers, _joined(prior), _joined(rows))

    def over(
        self, source: AbstractSource, arrays: Callable[[Block], Sequence[object]]
    ) -> CompiledSweep:
        """The sweep over all rows of a source, of which it has none or all."""
        return self if self.sizes[0] == source.n_rows else StreamedPass(self, source, arrays)

    def __call__(self, entries: EntryVector) -> tuple[float, EntryVector] | None:
        """Bound and next statistics; None where a row needs what only NumPy has.

        Raises
        ------
        numpy.linalg.LinAlgError
            The statistics are outside the domain.
        """
        here, following = np.ascontiguousarray(entries, dtype=float), np.empty(len(entries))
        return _checked(self.run(self.sizes, self.prior, self.rows, here, following), following)


@dataclass(frozen=True)
class BlockPass:
    """Stages of a sweep whose rows come a block at a time, on threads without the interpreter.

    Attributes
    ----------
    sweep : CompiledPass
        Without rows.
    arrays : callable
        Response, weights, offsets, and columns of a block.
    """

    sweep: CompiledPass
    arrays: Callable[[Block], Sequence[object]]

    def sums(self, here: EntryVector, block: Block) -> LocalStep:
        """Sums over a block for the posterior of these statistics."""
        sums = np.empty(len(here) + self.sweep.sizes[2])
        bound = self._run(ROWS, block.n_rows, _joined(self.arrays(block)), (here, sums))
        return LocalStep(bound, RowSums(sums))

    def end(self, here: EntryVector, sums: Float[np.ndarray, " sums"]) -> float:
        """Minus the divergence; the sums become the next statistics."""
        return self._run(END, 0, np.empty(0), (here, sums))

    def _run(
        self,
        stage: int,
        n_rows: int,
        rows: Float[np.ndarray, " numbers"],
        arrays: tuple[EntryVector, Float[np.ndarray, " sums"]],
    ) -> float:
        sizes = self.sweep.sizes.copy()
        sizes[:2] = n_rows, stage
        return self.sweep.run(sizes, self.sweep.prior, rows, *arrays)


@dataclass(frozen=True)
class RowSums(SufficientStats):
    """Sums over rows as the core has them."""

    entries: Float[np.ndarray, " sums"]


@dataclass(frozen=True)
class StreamedPass:
    """A sweep over rows that are read in each pass, or too many for a copy.

    Attributes
    ----------
    sweep : CompiledPass
        Without rows.
    source : AbstractSource
    arrays : callable
        As of ``BlockPass``.
    """

    sweep: CompiledPass
    source: AbstractSource
    arrays: Callable[[Block], Sequence[object]]

    def __call__(self, entries: EntryVector) -> tuple[float, EntryVector] | None:
        """Bound and next statistics; None where a row needs what only NumPy has.

        Raises
        ------
        numpy.linalg.LinAlgError
            The statistics are outside the domain.
        """
        here = np.ascontiguousarray(entries, dtype=float)
        stages = BlockPass(self.sweep, self.arrays)
        total = self.source.map_reduce(partial(stages.sums, here))
        sums = cast(RowSums, total.stats).entries
        bound = total.bound + stages.end(here, sums) if np.isfinite(total.bound) else total.bound
        return _checked(bound, sums[: len(here)])


def _checked(bound: float, following: EntryVector) -> tuple[float, EntryVector] | None:
    """Bound and next statistics, by the code of the bound: NaN, no statistics; infinite, no core.

    Raises
    ------
    numpy.linalg.LinAlgError
        The statistics are outside the domain.
    """
    if np.isnan(bound):
        raise np.linalg.LinAlgError("the statistics are outside the domain")
    return None if np.isinf(bound) else (bound, following)


def compiled_block(source: AbstractSource) -> Block | None:
    """All rows of a source, or none if they are too many for a copy; None if the core is absent.

    None also where rows are elsewhere, as on a cluster.
    """
    if compiled_sweep() is None or not isinstance(source, InMemorySource | StreamedRows):
        return None
    none = source.empty()
    few = source.in_memory and source.n_rows <= MOST_ROWS
    few = few and source.n_rows * sum(map(len, none.designs.values())) <= MOST_NUMBERS
    return source.whole() if few else none


def is_plain(operator: AbstractPrecision, n_terms: int) -> bool:
    """Whether coefficients are few and independent a priori, the same law for all components."""
    if not operator.is_dense or not 0 < n_terms <= MOST_COLUMNS:
        return False
    matrix = operator.shared.matrix
    return matrix.ndim == 2 and np.count_nonzero(matrix) == len(matrix) == n_terms


def _joined(numbers: Sequence[object]) -> Float[np.ndarray, " _"]:
    """All numbers in one row."""
    return np.concatenate([np.ravel(np.asarray(one, dtype=float)) for one in numbers])
