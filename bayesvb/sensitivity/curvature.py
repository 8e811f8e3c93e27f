"""Second derivatives of the rows' part of the bound: as a matrix, or times changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from jaxtyping import Bool, Float

from bayesvb.data.blocks import Block
from bayesvb.data.sources import AbstractSource
from bayesvb.data.statistics import SufficientStats
from bayesvb.numerics.arrays import DirectionEntries
from bayesvb.numerics.pieces import PER_PASS, pieces
from bayesvb.variational.model import AnyModel
from bayesvb.variational.row_derivatives import RowDerivatives

ROWS_AT_ONCE = 2048
"""Rows whose second derivatives are in memory together: (scalars, scalars, rows)."""

MOST_KEPT = 1 << 23
"""Numbers of features of all rows up to which they are kept: 64 MiB."""

FEW_ENTRIES = 256
"""Statistics up to which the matrix is made, once for all products: from 1,000 rows on in 0.4 to
1.0 times the time of the products, of 200 rows in 0.9 to 1.3 times."""


@dataclass(frozen=True)
class Curvature(SufficientStats):
    """Second derivative of the rows' part of the bound in the expectations, or times changes."""

    value: Float[np.ndarray, "some entries"]


def curvature_of_rows(
    model: AnyModel, posterior: object, kept: Bool[np.ndarray, " entries"], block: Block
) -> Curvature:
    """Sum over the rows of a block, a part at a time, in these entries."""
    if kept.all():
        return _over_parts(model, posterior, block, RowDerivatives.curvature)
    return _over_parts(
        model, posterior, block, lambda known, weight: known.restricted(kept).curvature(weight)
    )


def _curved(
    model: AnyModel, posterior: object, change: Float[np.ndarray, "some entries"], block: Block
) -> Curvature:
    """Product of the second derivatives of a block's rows with changes of the expectations."""
    return _over_parts(model, posterior, block, lambda known, weight: known.curved(change, weight))


def _over_parts(
    model: AnyModel, posterior: object, block: Block, of: Callable[..., Float[np.ndarray, "_ _"]]
) -> Curvature:
    """Sum of a function of derivatives of rows and case weights, a part of a block at a time."""
    parts = block.split(ROWS_AT_ONCE)
    each = (of(derivatives_of_rows(model, posterior, part), part.weight) for part in parts)
    return Curvature(np.asarray(sum(each, start=np.zeros(()))))


def derivatives_of_rows(model: AnyModel, posterior: object, block: Block) -> RowDerivatives:
    """Derivatives of the rows of a model that has them."""
    known = model.row_derivatives(posterior, block)
    assert known is not None
    return known


@dataclass(frozen=True)
class Curving:
    """Products of ``f''``, of all rows and the prior, with changes of the expectations.

    Of few statistics it is made as a matrix. Of more, derivatives of the rows are kept where they
    fit into memory: with 50 columns they would take a fifth of the time of a product.

    Attributes
    ----------
    model : AbstractVariationalModel
    source : AbstractSource
    posterior : object
    """

    model: AnyModel
    source: AbstractSource
    posterior: object

    @cached_property
    def _first(self) -> RowDerivatives:
        """Derivatives of one row."""
        first: RowDerivatives
        first = derivatives_of_rows(self.model, self.posterior, self.source.take(np.arange(1)))
        return first

    @cached_property
    def _kept(self) -> tuple[Block, RowDerivatives] | None:
        """All rows with their derivatives; None if they are too many."""
        n_features = sum(len(one.features) for one in self._first.scalars)
        n_rows = self.source.n_rows
        if n_rows > ROWS_AT_ONCE or n_rows * n_features > MOST_KEPT:
            return None
        block = self.source.take(np.arange(n_rows))
        return block, derivatives_of_rows(self.model, self.posterior, block)

    @cached_property
    def _matrix(self) -> Float[np.ndarray, "entries entries"] | None:
        """``f''`` of all rows; None if statistics are many."""
        kept = np.ones(self._first.n_entries, dtype=bool)
        if kept.size > FEW_ENTRIES:
            return None
        task = partial(curvature_of_rows, self.model, self.posterior, kept)
        return self.source.map_reduce(task).value

    @cached_property
    def _of_prior(self) -> tuple[Bool[np.ndarray, " entries"], object]:
        """Entries to which no row adds, and the second derivative of the prior in these."""
        n_entries = self._first.n_entries
        alone = np.arange(n_entries) >= n_entries - self._first.n_more
        return alone, self.model.prior_curvature(self.posterior, alone)

    def times(self, change: DirectionEntries) -> DirectionEntries:
        """Product with each of these changes, some at a time."""
        product = self._of_rows(change) if self._matrix is None else change @ self._matrix
        alone, bend = self._of_prior
        if bend is not None:
            product[:, alone] += change[:, alone] @ bend
        return product

    def _of_rows(self, change: DirectionEntries) -> DirectionEntries:
        """Contribution of the rows to the product."""
        # Changes of all rows, too, in arrays that memory is kept for.
        numbers = max(change.shape[1], self._kept[1].gradient.size if self._kept else 1)
        parts = [change[some] for some in pieces(len(change), numbers, PER_PASS)]
        if self._kept is None:
            tasks = [partial(_curved, self.model, self.posterior, part) for part in parts]
            return np.concatenate([part.value for part in self.source.map_reduce_all(tasks)])
        block, known = self._kept
        return np.concatenate([known.curved(part, block.weight) for part in parts])
