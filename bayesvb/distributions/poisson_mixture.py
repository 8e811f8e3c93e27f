"""Mixtures of Poisson distributions: predictive ones, and those given draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln, pdtr

from bayesvb.distributions.base import (
    AbstractDiscreteMixture,
    AbstractDrawnMixture,
    check_probabilities,
)
from bayesvb.numerics.special import log_total

__all__ = ["DrawnPoissonMixture", "PoissonMixture", "draw_counts", "rate_at"]

NODES, NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(21)
"""Gauss-Hermite rule of the standard normal, of which the weights do not yet sum to one."""

LARGEST = 1e15
"""Counts up to which a double holds every whole number: no quantile is sought beyond."""

LARGEST_LOG_RATE = 300.0
"""Exponents from which a rate is cut off: a component without rows has a wide posterior, and its
infinite expected rate times a responsibility of zero would be no number."""

Experts = Float[np.ndarray, "experts rows"]


def rate_at(log_rate: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """``exp(u)``, finite for any finite log rate."""
    return np.asarray(np.exp(np.minimum(log_rate, LARGEST_LOG_RATE)))


def draw_counts(
    log_rate: Float[np.ndarray, "..."], rng: np.random.Generator
) -> Float[np.ndarray, "..."]:
    """Poisson counts; beyond ``LARGEST`` the rate itself, from which they differ by rounding."""
    rate = rate_at(log_rate)
    return np.where(rate < LARGEST, rng.poisson(np.minimum(rate, LARGEST)), rate)


@dataclass(frozen=True)
class PoissonMixture(AbstractDiscreteMixture):
    """Predictive distribution of counts: ``sum_k w_k E Poisson(y | exp(u_k))``, ``u_k`` normal.

    Expectations over the log rates are sums over 21 nodes.

    Attributes
    ----------
    weights : ndarray, shape (experts, rows)
    log_rate, variance : ndarray, shape (experts, rows)
        Posterior mean and variance of the log rate.
    """

    values = "counts"

    weights: Float[np.ndarray, "experts rows"]
    log_rate: Float[np.ndarray, "experts rows"]
    variance: Float[np.ndarray, "experts rows"]

    def _over_nodes(self, values: Callable[[Experts], Experts]) -> Experts:
        """Expectation of a function of the log rate."""
        found = np.zeros(self.log_rate.shape)
        root = np.sqrt(self.variance)
        for node, weight in zip(NODES, NODE_WEIGHTS / NODE_WEIGHTS.sum(), strict=True):
            found += weight * values(self.log_rate + node * root)
        return found

    def mean(self) -> Float[np.ndarray, " rows"]:
        """``sum_k w_k exp(t_k + s_k / 2)``."""
        return np.asarray((self.weights * np.exp(self.log_rate + 0.5 * self.variance)).sum(axis=0))

    def sd(self) -> Float[np.ndarray, " rows"]:
        """Standard deviation of each row."""
        first = np.exp(self.log_rate + 0.5 * self.variance)
        second = first + np.exp(2.0 * (self.log_rate + self.variance))
        return np.asarray(np.sqrt((self.weights * second).sum(axis=0) - self.mean() ** 2))

    def component_log_density(
        self, y: Float[np.ndarray, " rows"]
    ) -> Float[np.ndarray, "experts rows"]:
        """Log probability of one count per row under each component."""
        root = np.sqrt(self.variance)
        with np.errstate(divide="ignore"):
            terms = [
                np.log(weight) + _log_mass(y, self.log_rate + node * root)
                for node, weight in zip(NODES, NODE_WEIGHTS / NODE_WEIGHTS.sum(), strict=True)
            ]
        return np.asarray(log_total(np.stack(terms), axis=0))

    def log_density(self, y: Float[np.ndarray, " rows"]) -> Float[np.ndarray, " rows"]:
        """Log probability of one count per row."""
        with np.errstate(divide="ignore"):
            terms = np.log(self.weights) + self.component_log_density(y)
        return np.asarray(log_total(terms, axis=0))

    def density_at(self, points: Float[np.ndarray, " points"]) -> Float[np.ndarray, "points rows"]:
        """Probability of every point at every row."""
        n_rows = self.weights.shape[1]
        found = [np.exp(self.log_density(np.full(n_rows, point))) for point in points]
        return np.reshape(found, (len(points), n_rows))

    def cdf(self, y: Float[np.ndarray, " rows"]) -> Float[np.ndarray, " rows"]:
        """Probability of a count up to ``y``, each row at its own point."""
        each = self._over_nodes(lambda log_rate: _up_to(y, rate_at(log_rate)))
        return np.asarray((self.weights * each).sum(axis=0).clip(0.0, 1.0))

    def cdf_at(self, points: Float[np.ndarray, " points"]) -> Float[np.ndarray, "points rows"]:
        """Probability of a count up to each of the same points, for every row."""
        n_rows = self.weights.shape[1]
        found = [self.cdf(np.full(n_rows, point)) for point in points]
        return np.reshape(found, (len(points), n_rows))

    def quantile(self, q: Float[np.ndarray, " probs"]) -> Float[np.ndarray, "probs rows"]:
        """Smallest count whose distribution function is at least ``q``."""
        check_probabilities(q)
        found = [_smallest(self.cdf, float(one), self.mean()) for one in q]
        return np.reshape(found, (len(q), self.weights.shape[1]))

    def draws(self, n: int, rng: np.random.Generator) -> Float[np.ndarray, "draws rows"]:
        """Independent draws of every row."""
        n_rows = self.weights.shape[1]
        chosen = (rng.random((n, 1, n_rows)) > np.cumsum(self.weights, axis=0)[:-1]).sum(axis=1)
        rows = np.arange(n_rows)
        spread = np.sqrt(self.variance)[chosen, rows] * rng.standard_normal((n, n_rows))
        return draw_counts(self.log_rate[chosen, rows] + spread, rng)


@dataclass(frozen=True)
class DrawnPoissonMixture(AbstractDrawnMixture):
    """Mixtures of Poisson distributions for every draw and row.

    Attributes
    ----------
    weights, rate : ndarray, shape (experts, draws, rows)
    """

    weights: Float[np.ndarray, "experts ..."]
    rate: Float[np.ndarray, "experts ..."]

    def mean(self) -> Float[np.ndarray, "..."]:
        """Means."""
        return np.asarray((self.weights * self.rate).sum(axis=0))

    def sd(self) -> Float[np.ndarray, "..."]:
        """Standard deviations."""
        second = (self.weights * (self.rate + self.rate**2)).sum(axis=0)
        return np.asarray(np.sqrt(second - self.mean() ** 2))

    def _cdf(self, y: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """Probabilities of a count up to ``y``."""
        return np.asarray((self.weights * _up_to(y, self.rate)).sum(axis=0).clip(0.0, 1.0))

    def above(self, value: float) -> Float[np.ndarray, "..."]:
        """Probabilities of more than a value."""
        return 1.0 - self._cdf(np.asarray(value, dtype=float))

    def below(self, value: float | Float[np.ndarray, " rows"]) -> Float[np.ndarray, "..."]:
        """Probabilities of less than a value."""
        return self._cdf(np.asarray(np.ceil(value) - 1.0))

    def density(self, value: float) -> Float[np.ndarray, "..."]:
        """Probabilities of a value."""
        each = np.exp(_log_mass(np.asarray(value, dtype=float), np.log(self.rate)))
        return np.asarray((self.weights * each).sum(axis=0))

    def quantile(self, q: float) -> Float[np.ndarray, "..."]:
        """Smallest count whose distribution function is at least ``q``."""
        check_probabilities(np.array([q]))
        return _smallest(self._cdf, q, self.mean())


def _log_mass(
    y: Float[np.ndarray, "..."], log_rate: Float[np.ndarray, "..."]
) -> Float[np.ndarray, "..."]:
    """``y u - exp(u) - log y!``; minus infinity where ``y`` is no count."""
    known = np.where(y >= 0.0, y, 0.0)
    log_mass = known * log_rate - rate_at(log_rate) - gammaln(known + 1.0)
    return np.asarray(np.where((y >= 0.0) & (y == np.round(y)), log_mass, -np.inf))


def _up_to(y: Float[np.ndarray, "..."], rate: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
    """Probability of a count up to ``y``."""
    return np.asarray(np.where(y < 0.0, 0.0, pdtr(np.floor(np.maximum(y, 0.0)), rate)))


def _smallest(
    cdf: Callable[[Float[np.ndarray, "..."]], Float[np.ndarray, "..."]],
    q: float,
    start: Float[np.ndarray, "..."],
) -> Float[np.ndarray, "..."]:
    """Smallest counts whose distribution function is at least ``q``, by bisection."""
    low, high = np.full(start.shape, -1.0), np.ceil(2.0 * start) + 1.0
    if q == 1.0:
        return np.full(start.shape, np.inf)
    while (short := (cdf(high) < q) & (high < LARGEST)).any():
        low, high = np.where(short, high, low), np.where(short, 2.0 * high, high)
    while (high - low > 1.0).any():
        middle = np.floor(0.5 * (low + high))
        enough = (cdf(middle) >= q) & (middle >= 0.0)
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return high
