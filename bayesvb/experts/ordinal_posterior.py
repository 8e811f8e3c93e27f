"""Thresholds of ordered levels: sums over rows, and their contribution to the posterior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bayesvb.data.statistics import SufficientStats
from bayesvb.experts.ordinal_links import SMALLEST, AbstractOrdinalLink, LevelTerms
from bayesvb.factors.normal import Normal
from bayesvb.numerics.array_library import namespace
from bayesvb.numerics.arrays import EntryVector, ExpertRows, RowIntegers
from bayesvb.numerics.linalg import lower_pairs, quadratic_weights
from bayesvb.variational.coordinates import entries
from bayesvb.variational.linear_predictors import LogitCoordinates, LogitStats

__all__ = [
    "LevelDerivatives",
    "LevelSums",
    "OrdinalPosterior",
    "OrdinalStats",
    "PointCoordinates",
    "ends",
    "thresholds",
]

Increments = Float[np.ndarray, "*many experts increments"]


@dataclass(frozen=True)
class OrdinalStats(SufficientStats):
    """Sums over rows for the coefficients, and for the log increments of the thresholds."""

    coefficients: LogitStats
    increments: LogitStats


@dataclass(frozen=True)
class OrdinalPosterior:
    """Posterior of the coefficients, and log increments of the thresholds.

    Attributes
    ----------
    coefficients : Normal
    increments : Normal
        Around the point where the ELBO plus the log density of their prior is largest.
    """

    coefficients: Normal
    increments: Normal


class PointCoordinates(LogitCoordinates):
    """Coordinates of parameters at a point: rows see nothing of the covariance around it."""

    def expectations(self) -> EntryVector:
        mean = self.posterior.mean
        squares = quadratic_weights(mean[..., :, None] * mean[..., None, :])
        return entries(-0.5 * squares, mean)


def thresholds(increments: Increments) -> Float[np.ndarray, "*many experts thresholds"]:
    """Thresholds between successive levels, the first of which is 0, in NumPy or JAX."""
    xp = namespace(increments)
    steps = xp.exp(increments)
    first = xp.zeros((*steps.shape[:-1], 1))
    cuts: Float[np.ndarray, "*many experts thresholds"]
    cuts = xp.concatenate([first, xp.cumsum(steps, axis=-1)], axis=-1)
    return cuts


def ends(increments: Increments, far: float = np.inf) -> Float[np.ndarray, "*many experts ends"]:
    """Ends of the levels: the thresholds between infinite ones, or such that are ``far``."""
    xp, at = namespace(increments), thresholds(increments)
    last = xp.full((*at.shape[:-1], 1), far)
    edges: Float[np.ndarray, "*many experts ends"] = xp.concatenate([-last, at, last], axis=-1)
    return edges


@dataclass(frozen=True)
class LevelSums:
    """Sums over the rows of each level, of derivatives at its upper and its lower threshold.

    Attributes
    ----------
    upper, lower : ndarray, shape (2, ..., experts, levels)
    cross : ndarray, shape (..., experts, levels)
        As of ``LevelTerms``.
    """

    upper: Float[np.ndarray, "2 *many experts levels"]
    lower: Float[np.ndarray, "2 *many experts levels"]
    cross: Float[np.ndarray, "*many experts levels"]

    def stats(self, increments: Float[np.ndarray, "experts increments"]) -> LogitStats:
        """Gauss-Newton curvature of the log increments, and gradient plus curvature times these.

        The log density is concave in the thresholds, so the curvature is positive semidefinite.
        """
        steps = np.maximum(np.exp(increments), SMALLEST)
        gradient = self.upper[0, ..., :-1] - self.lower[0, ..., 1:]
        diagonal = self.upper[1, ..., :-1] + self.lower[1, ..., 1:]
        n = diagonal.shape[-1]
        curvature = diagonal[..., None] * np.eye(n)
        at = np.arange(n - 1)
        curvature[..., at, at + 1] = curvature[..., at + 1, at] = self.cross[..., 1:-1]
        slopes = np.tril(np.ones((n, n)))[:, 1:] * steps[:, None]  # of thresholds in increments
        whole = np.swapaxes(slopes, -1, -2) @ curvature @ slopes
        pull = (np.swapaxes(slopes, -1, -2) @ gradient[..., None])[..., 0]
        linear = pull + (whole @ increments[..., None])[..., 0]
        pairs = lower_pairs(n - 1)
        return LogitStats(np.ascontiguousarray(whole[..., pairs[0], pairs[1]]), linear)


@dataclass(frozen=True)
class LevelDerivatives:
    """Expected log probabilities of these rows, and the level of each.

    Attributes
    ----------
    terms : LevelTerms
        Arrays of shape (experts, rows).
    levels : ndarray, shape (levels, rows)
        One at the level of the row.
    """

    terms: LevelTerms
    levels: Float[np.ndarray, "levels rows"]

    @classmethod
    def of_rows(
        cls,
        link: AbstractOrdinalLink,
        level: RowIntegers,
        mean: ExpertRows,
        variance: ExpertRows,
        increments: Float[np.ndarray, "experts increments"],
    ) -> LevelDerivatives:
        """Expectations under a normal predictor; levels are counted from 0."""
        at = ends(increments)
        terms = link.expected(at[:, level], at[:, level + 1], mean, variance)
        one_hot = (level == np.arange(at.shape[-1] - 1)[:, None]).astype(float)
        return cls(terms, one_hot)

    def sums(self, responsibilities: ExpertRows) -> LevelSums:
        """Sums by level."""
        return LevelSums(*(one @ self.levels.T for one in self._weighted(responsibilities)))

    def row_sums(self, responsibilities: ExpertRows) -> LevelSums:
        """Sums of each row, rows before the experts."""
        each = [one[..., None, :] * self.levels for one in self._weighted(responsibilities)]
        return LevelSums(*(np.moveaxis(one, -1, -3) for one in each))

    def _weighted(self, weight: ExpertRows) -> list[np.ndarray]:
        """Derivatives in the thresholds, times the responsibilities."""
        return [weight * one for one in (self.terms.upper, self.terms.lower, self.terms.cross)]
