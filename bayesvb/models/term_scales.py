"""Prior precisions of coefficients that are learned, one for the coefficients of each term."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.linalg import block_diag
from scipy.special import polygamma

from bayesvb.data.statistics import SufficientStats
from bayesvb.factors.gamma import Gamma
from bayesvb.numerics.arrays import BlockVector, TermVector


@dataclass(frozen=True)
class TermScales:
    """Groups of coefficients of a part that share a learned prior precision.

    Attributes
    ----------
    membership : ndarray, shape (blocks, terms)
        One where a column of the design matrix belongs to a block of coefficients, zero elsewhere.
    fixed : ndarray, shape (terms,)
        Prior precisions of coefficients in no block; zero for the others.
    start : ndarray, shape (blocks,)
        Initial prior precisions of a run.
    n_vectors : int
        Vectors of coefficients that have these precisions in common.
    sizes : ndarray, shape (terms,)
        Coefficients of each term in a vector: one of a column, of an effect of groups one for each.
    """

    membership: Float[np.ndarray, "blocks terms"]
    fixed: TermVector
    start: BlockVector
    n_vectors: int
    sizes: TermVector

    @classmethod
    def of(
        cls,
        blocks: Sequence[Sequence[int]],
        precision: TermVector,
        n_vectors: int,
        sizes: TermVector | None = None,
    ) -> TermScales:
        """Scales of blocks of columns; ``precision`` is the prior precision that is not learned."""
        membership = np.zeros((len(blocks), len(precision)))
        for number, columns in enumerate(blocks):
            membership[number, list(columns)] = 1.0
        learned = membership.any(axis=0)
        start = np.array([precision[list(columns)].mean() for columns in blocks])
        each = np.ones(len(precision)) if sizes is None else sizes
        fixed = np.where(learned, 0.0, precision)
        return cls(membership, fixed, start.reshape(-1), n_vectors, each)

    def followed_by(self, others: TermScales) -> TermScales:
        """Scales of these terms, then of others of as many vectors."""
        return TermScales(
            block_diag(self.membership, others.membership),
            np.concatenate([self.fixed, others.fixed]),
            np.concatenate([self.start, others.start]),
            self.n_vectors,
            np.concatenate([self.sizes, others.sizes]),
        )

    @property
    def counts(self) -> BlockVector:
        """Number of coefficients of each block, over all vectors."""
        return np.asarray(self.n_vectors * (self.membership @ self.sizes))

    def by_term(
        self, precision: Float[np.ndarray, "*many blocks"]
    ) -> Float[np.ndarray, "*many terms"]:
        """Prior precision of every coefficient of a vector."""
        return np.asarray(self.fixed + precision @ self.membership)

    def by_block(self, squares: Float[np.ndarray, "*many terms"]) -> Float[np.ndarray, "*many _"]:
        """Sums of squares of each block, from the sums of each term."""
        totals: Float[np.ndarray, "*many _"] = squares @ self.membership.T
        return totals


@dataclass(frozen=True)
class ScaleStats(SufficientStats):
    """Expectations through which coefficients and their prior precisions depend on each other.

    Attributes
    ----------
    precision : ndarray, shape (blocks,)
        Expected precisions with which coefficients are updated.
    squares : ndarray, shape (blocks,)
        Expected sums of squares with which precisions are updated.
    """

    precision: Float[np.ndarray, "*many blocks"]
    squares: Float[np.ndarray, "*many blocks"]


@dataclass(frozen=True)
class ScaleCoordinates:
    """Standardised logarithms of the precisions; stand-ins ``sqrt(c) (lambda / E lambda - 1)``."""

    posterior: Gamma

    @property
    def spread(self) -> BlockVector:
        """Standard deviations of the logarithms."""
        return np.asarray(np.sqrt(polygamma(1, self.posterior.shape)))

    def tilts(self) -> BlockVector:
        """Change of the sums of squares by a unit perturbation of each."""
        return np.asarray(-2.0 * np.sqrt(self.posterior.shape) / self.posterior.mean)

    def standard(
        self, precision: Float[np.ndarray, "draws blocks"]
    ) -> Float[np.ndarray, "draws blocks"]:
        """Coordinates of draws."""
        return np.asarray((np.log(precision) - self.posterior.expected_log) / self.spread)

    def parameters(
        self, standard: Float[np.ndarray, "draws blocks"]
    ) -> Float[np.ndarray, "draws blocks"]:
        """Draws at these coordinates."""
        return np.asarray(np.exp(self.posterior.expected_log + self.spread * standard))
