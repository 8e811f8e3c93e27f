"""Passes in the compiled core: limits, and the arrays that it reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from bayesvb.data.blocks import Block
from bayesvb.data.sources import AbstractSource
from bayesvb.linear.precisions import AbstractPrecision
from bayesvb.numerics.compiled import Sweep, compiled_sweep

MOST_COLUMNS, MOST_COMPONENTS = 24, 64
"""Columns of a design, and components, up to which the core runs: where these are many, products of
matrices are most of a sweep, and NumPy's are as fast (``bench_compiled``)."""

MOST_ROWS, MOST_NUMBERS = 1 << 20, 20_000_000
"""Rows, and numbers in their columns, up to which the core runs: its copy of them takes 160 MB."""


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
        cls, name: str, sizes: Sequence[int], prior: Sequence[Any], rows: Sequence[Any]
    ) -> CompiledPass | None:
        """The pass of a function of the core; None if the core is absent or turned off."""
        run = compiled_sweep(name)
        if run is None:
            return None
        return cls(run, np.array(sizes, dtype=np.int64), _joined(prior), _joined(rows))

    def __call__(
        self, entries: Float[np.ndarray, " entries"]
    ) -> tuple[float, Float[np.ndarray, " entries"]] | None:
        """Bound and next statistics; None where a row needs what only NumPy has.

        Raises
        ------
        numpy.linalg.LinAlgError
            The statistics are outside the domain.
        """
        here, following = np.ascontiguousarray(entries, dtype=float), np.empty(len(entries))
        bound = self.run(self.sizes, self.prior, self.rows, here, following)
        if np.isnan(bound):
            raise np.linalg.LinAlgError("the statistics are outside the domain")
        return None if np.isinf(bound) else (bound, following)


def compiled_block(source: AbstractSource) -> Block | None:
    """All rows of a source; None if the core is absent, or they are too many or not in memory."""
    if compiled_sweep() is None or not source.in_memory or source.n_rows > MOST_ROWS:
        return None
    columns = sum(map(len, source.empty().designs.values()))
    return source.whole() if source.n_rows * columns <= MOST_NUMBERS else None


def is_plain(operator: AbstractPrecision, n_terms: int) -> bool:
    """Whether coefficients are few and independent a priori, the same law for all components."""
    if not operator.is_dense or not 0 < n_terms <= MOST_COLUMNS:
        return False
    matrix = operator.shared.matrix
    return matrix.ndim == 2 and np.count_nonzero(matrix) == len(matrix) == n_terms


def _joined(numbers: Sequence[Any]) -> Float[np.ndarray, " _"]:
    """All numbers in one row."""
    return np.concatenate([np.ravel(np.asarray(one, dtype=float)) for one in numbers])
