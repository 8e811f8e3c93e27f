"""Mixtures of zeros and ones: predictive distributions, and distributions given draws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bayesvb.distributions.base import (
    AbstractDiscreteMixture,
    AbstractDrawnMixture,
    check_probabilities,
)
from bayesvb.numerics.arrays import (
    DrawRows,
    ExpertRows,
    ExpertValues,
    Floats,
    PointRows,
    PointVector,
    ProbVector,
    RowVector,
)


@dataclass(frozen=True)
class BernoulliMixture(AbstractDiscreteMixture):
    """Predictive distribution of zeros and ones: ``P(y = 1) = sum_k w_k p_k`` for each row.

    Attributes
    ----------
    weights : ndarray, shape (experts, rows)
    zero, one : ndarray, shape (experts, rows)
        Probabilities of both values under each component. The smaller one keeps its digits where
        the other rounds to one.
    """

    values = "zeros and ones"

    weights: ExpertRows
    zero: ExpertRows
    one: ExpertRows

    @property
    def masses(self) -> tuple[RowVector, RowVector]:
        """Probabilities of 0 and of 1 in each row."""
        return _average(self.weights, self.zero), _average(self.weights, self.one)

    def mean(self) -> RowVector:
        """Probability of 1."""
        return self.masses[1]

    def sd(self) -> RowVector:
        """``sqrt(p (1 - p))``."""
        return np.asarray(np.sqrt(np.prod(self.masses, axis=0)))

    def component_log_density(self, y: RowVector) -> ExpertRows:
        return _log_mass(y, self.zero, self.one)

    def log_density(self, y: RowVector) -> RowVector:
        return _log_mass(y, *self.masses)

    def density_at(self, points: PointVector) -> PointRows:
        return np.asarray(np.exp(_log_mass(points[:, None], *self.masses)))

    def cdf(self, y: RowVector) -> RowVector:
        """Probability of a value up to ``y``, each row at its own point."""
        return _up_to(y, self.masses[0])

    def cdf_at(self, points: PointVector) -> PointRows:
        """Probability of a value up to each of the same points, for every row."""
        return _up_to(points[:, None], self.masses[0])

    def quantile(self, q: ProbVector) -> Float[np.ndarray, "probs rows"]:
        """Smallest value whose distribution function is at least ``q``."""
        check_probabilities(q)
        return (q[:, None] > self.masses[0]).astype(float)

    def draws(self, n: int, rng: np.random.Generator) -> DrawRows:
        return (rng.random((n, self.weights.shape[1])) < self.mean()).astype(float)


@dataclass(frozen=True)
class DrawnBernoulliMixture(AbstractDrawnMixture):
    """Mixtures of zeros and ones for every draw and row.

    Attributes
    ----------
    weights, zero, one : ndarray, shape (experts, draws, rows)
        As in ``BernoulliMixture``.
    """

    weights: ExpertValues
    zero: ExpertValues
    one: ExpertValues

    @property
    def masses(self) -> tuple[Floats, Floats]:
        """Probabilities of 0 and of 1."""
        return _average(self.weights, self.zero), _average(self.weights, self.one)

    def mean(self) -> Floats:
        """Probabilities of 1."""
        return self.masses[1]

    def sd(self) -> Floats:
        """``sqrt(p (1 - p))``."""
        return np.asarray(np.sqrt(np.prod(self.masses, axis=0)))

    def above(self, value: float) -> Floats:
        return 1.0 - _up_to(np.asarray(value), self.masses[0])

    def below(self, value: float | RowVector) -> Floats:
        return _up_to(np.asarray(np.ceil(value) - 1.0), self.masses[0])

    def density(self, value: float) -> Floats:
        """Probabilities of a value."""
        return np.asarray(np.exp(_log_mass(np.asarray(value), *self.masses)))

    def quantile(self, q: float) -> Floats:
        """Smallest value whose distribution function is at least ``q``."""
        check_probabilities(np.array([q]))
        return (q > self.masses[0]).astype(float)


def _average(weights: ExpertValues, probability: ExpertValues) -> Floats:
    """Weighted mean over the components."""
    return np.asarray((weights * probability).sum(axis=0).clip(0.0, 1.0))


def _log_mass(y: Floats, zero: Floats, one: Floats) -> Floats:
    """Log probability of values."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.where(y == 1.0, one, np.where(y == 0.0, zero, 0.0))))


def _up_to(y: Floats, zero: Floats) -> Floats:
    """Probability of values up to ``y``."""
    return np.where(y < 0.0, 0.0, np.where(y < 1.0, zero, 1.0))
