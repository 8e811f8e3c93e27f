"""Thresholds of ordered levels: sums over rows, and what they add to the posterior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from bayesvb.data.statistics import SufficientStats
from bayesvb.factors.normal import Normal
from bayesvb.numerics.linalg import lower_pairs, quadratic_weights
from bayesvb.numerics.logistic_normal import softplus_moments
from bayesvb.variational.coordinates import entries
from bayesvb.variational.linear_predictors import LogitCoordinates, LogitStats

__all__ = [
    "LevelDerivatives",
    "LevelSums",
    "OrdinalPosterior",
    "OrdinalStats",
    "PointCoordinates",
    "thresholds",
]

Increments = Float[np.ndarray, "*many experts increments"]

SMALLEST = 1e-10
"""Distance between thresholds below which its derivatives are cut off."""


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

    def expectations(self) -> Float[np.ndarray, " entries"]:
        """``-m m' / 2`` and ``m``, in the order of ``LogitStats``."""
        mean = self.posterior.mean
        squares = quadratic_weights(mean[..., :, None] * mean[..., None, :])
        return entries(-0.5 * squares, mean)


def thresholds(increments: Increments) -> Float[np.ndarray, "*many experts thresholds"]:
    """Thresholds between successive levels, the first of which is 0."""
    steps = np.exp(increments)
    first = np.zeros((*steps.shape[:-1], 1))
    return np.concatenate([first, np.cumsum(steps, axis=-1)], axis=-1)


@dataclass(frozen=True)
class LevelSums:
    """Sums over the rows of each level, of derivatives at its upper and its lower threshold.

    Attributes
    ----------
    upper, lower : ndarray, shape (2, ..., experts, levels)
        Expected probabilities beyond the threshold, and their derivatives.
    rows : ndarray, shape (..., experts, levels)
        Numbers of rows.
    """

    upper: Float[np.ndarray, "2 *many experts levels"]
    lower: Float[np.ndarray, "2 *many experts levels"]
    rows: Float[np.ndarray, "*many experts levels"]

    def stats(self, increments: Float[np.ndarray, "experts increments"]) -> LogitStats:
        """Gauss-Newton curvature of the log increments, and gradient plus curvature times these.

        The log density is concave in the thresholds, so the curvature is positive semidefinite.
        """
        steps = np.maximum(np.exp(increments), SMALLEST)
        own = 1.0 / np.expm1(steps)  # derivative of log(1 - exp(-step)), and minus its own
        first, second = self.rows[..., 1:-1] * own, self.rows[..., 1:-1] * own * (1.0 + own)
        gradient = self.upper[0, ..., :-1] - self.lower[0, ..., 1:]
        diagonal = self.upper[1, ..., :-1] + self.lower[1, ..., 1:]
        gradient[..., 1:] += first
        gradient[..., :-1] -= first
        diagonal[..., 1:] += second
        diagonal[..., :-1] += second
        n = diagonal.shape[-1]
        curvature = diagonal[..., None] * np.eye(n)
        at = np.arange(n - 1)
        curvature[..., at, at + 1] = curvature[..., at + 1, at] = -second
        slopes = np.tril(np.ones((n, n)))[:, 1:] * steps[:, None]  # of thresholds in increments
        whole = np.swapaxes(slopes, -1, -2) @ curvature @ slopes
        pull = (np.swapaxes(slopes, -1, -2) @ gradient[..., None])[..., 0]
        linear = pull + (whole @ increments[..., None])[..., 0]
        pairs = lower_pairs(n - 1)
        return LogitStats(np.ascontiguousarray(whole[..., pairs[0], pairs[1]]), linear)


@dataclass(frozen=True)
class LevelDerivatives:
    """Expected log probabilities of these rows, with derivatives in predictor and thresholds.

    ``P(c | u) = sigma(tau_c - u) sigma(u - tau_(c-1)) (1 - exp(tau_(c-1) - tau_c))``: the first two
    factors have expectations of the softplus.

    Attributes
    ----------
    expected_log_density, slope, curvature : ndarray, shape (experts, rows)
        Derivatives are those in the mean of the predictor, the curvature with a minus.
    upper, lower : ndarray, shape (2, experts, rows)
        First and second derivatives at the thresholds, zero where a level has none.
    levels : ndarray, shape (levels, rows)
        One at the level of the row.
    """

    expected_log_density: Float[np.ndarray, "experts rows"]
    slope: Float[np.ndarray, "experts rows"]
    curvature: Float[np.ndarray, "experts rows"]
    upper: Float[np.ndarray, "2 experts rows"]
    lower: Float[np.ndarray, "2 experts rows"]
    levels: Float[np.ndarray, "levels rows"]

    @classmethod
    def of_rows(
        cls,
        level: Int[np.ndarray, " rows"],
        mean: Float[np.ndarray, "experts rows"],
        variance: Float[np.ndarray, "experts rows"],
        increments: Float[np.ndarray, "experts increments"],
    ) -> LevelDerivatives:
        """Expectations under a normal predictor, exact to 1e-8; levels are counted from 0."""
        at = thresholds(increments)
        n_levels = at.shape[-1] + 1
        place = np.clip(level, 0, n_levels - 2), np.clip(level - 1, 0, n_levels - 2)
        has_upper, has_lower = level < n_levels - 1, level > 0
        above = softplus_moments(mean - at[:, place[0]], variance)
        below = softplus_moments(at[:, place[1]] - mean, variance)
        upper, lower = np.stack(above) * has_upper, np.stack(below) * has_lower
        width = np.maximum(at[:, place[0]] - at[:, place[1]], SMALLEST)
        inner = np.where(has_upper & has_lower, np.log(-np.expm1(-width)), 0.0)
        value = inner - upper[0] - lower[0]
        one_hot = (level == np.arange(n_levels)[:, None]).astype(float)
        slope, curvature = lower[1] - upper[1], lower[2] + upper[2]
        return cls(value, slope, curvature, upper[1:], lower[1:], one_hot)

    def sums(self, responsibilities: Float[np.ndarray, "experts rows"]) -> LevelSums:
        """Sums by level."""
        weighted = (responsibilities * self.upper, responsibilities * self.lower, responsibilities)
        return LevelSums(*(one @ self.levels.T for one in weighted))

    def row_sums(self, responsibilities: Float[np.ndarray, "experts rows"]) -> LevelSums:
        """The same of each row, rows before the experts."""
        weighted = (responsibilities * self.upper, responsibilities * self.lower, responsibilities)
        each = [one[..., None, :] * self.levels for one in weighted]
        return LevelSums(*(np.moveaxis(one, -1, -3) for one in each))
