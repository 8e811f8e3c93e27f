"""Conditional laws of one response per row: what a simulation draws from, exactly."""

from __future__ import annotations

import abc
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy import special

__all__ = ["AbstractLaw", "BetaLaw", "NormalMixture", "normal_mixture"]

# A bracket of float64 numbers is down to one unit in the last place after 64 halvings,
# unless the root is far smaller than the bracket.
_HALVINGS = 64

_Value = float | Float[np.ndarray, " rows"]


class AbstractLaw(abc.ABC):
    """Law of one real response, a different one in each row."""

    @abc.abstractmethod
    def sample(self, rng: np.random.Generator) -> Float[np.ndarray, " rows"]:
        """One draw per row."""

    @abc.abstractmethod
    def log_density(self, y: Float[np.ndarray, " rows"]) -> Float[np.ndarray, " rows"]:
        """Natural logarithm of the density at y."""

    @abc.abstractmethod
    def cdf(self, y: Float[np.ndarray, " rows"]) -> Float[np.ndarray, " rows"]:
        """Probability of a response of at most y."""

    @abc.abstractmethod
    def quantile(self, q: float) -> Float[np.ndarray, " rows"]:
        """Value that the response does not exceed with probability q."""

    @abc.abstractmethod
    def mean(self) -> Float[np.ndarray, " rows"]:
        """Expected response."""


@dataclass(frozen=True)
class NormalMixture(AbstractLaw):
    """Mixture of normal laws, Σₖ wₖ N(mₖ, sₖ²).

    Parameters
    ----------
    weights, location, scale : ndarray of shape (parts, rows)
        Mixture weights (each column sums to one), means and standard deviations.
    """

    weights: Float[np.ndarray, "parts rows"]
    location: Float[np.ndarray, "parts rows"]
    scale: Float[np.ndarray, "parts rows"]

    def sample(self, rng: np.random.Generator) -> Float[np.ndarray, " rows"]:
        """One draw per row: first the part, then a normal deviate."""
        rows = np.arange(self.weights.shape[1])
        # The last sum is one but for rounding, so it stays out.
        below = np.cumsum(self.weights, axis=0)[:-1]
        part = (rng.random(rows.size) > below).sum(axis=0)
        return np.asarray(
            self.location[part, rows] + self.scale[part, rows] * rng.standard_normal(rows.size)
        )

    def log_density(self, y: Float[np.ndarray, " rows"]) -> Float[np.ndarray, " rows"]:
        z = (y - self.location) / self.scale
        log_normal = -0.5 * z**2 - np.log(self.scale) - 0.5 * np.log(2 * np.pi)
        result: np.ndarray = special.logsumexp(log_normal, b=self.weights, axis=0)
        return result

    def cdf(self, y: Float[np.ndarray, " rows"]) -> Float[np.ndarray, " rows"]:
        result: np.ndarray = np.sum(
            self.weights * special.ndtr((y - self.location) / self.scale), axis=0
        )
        return result

    def quantile(self, q: float) -> Float[np.ndarray, " rows"]:
        """Value that the response does not exceed with probability q, by bisection.

        It lies between the smallest and the largest q-quantile of the parts.
        """
        parts = self.location + self.scale * special.ndtri(q)
        low, high = parts.min(axis=0), parts.max(axis=0)
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            above = self.cdf(middle) >= q
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        return np.asarray(0.5 * (low + high))

    def mean(self) -> Float[np.ndarray, " rows"]:
        return np.asarray(np.sum(self.weights * self.location, axis=0))


def normal_mixture(*parts: tuple[_Value, _Value, _Value]) -> NormalMixture:
    """Mixture of normal laws from one (weight, mean, standard deviation) per part."""
    flat = np.broadcast_arrays(*(np.asarray(value, float) for part in parts for value in part))
    stacked = np.stack(flat).reshape(len(parts), 3, -1)
    return NormalMixture(weights=stacked[:, 0], location=stacked[:, 1], scale=stacked[:, 2])


@dataclass(frozen=True)
class BetaLaw(AbstractLaw):
    """Beta law on (0, 1), density ∝ yᵃ⁻¹ (1 − y)ᵇ⁻¹.

    Parameters
    ----------
    a, b : ndarray of shape (rows,)
        The two shapes, positive.
    """

    a: Float[np.ndarray, " rows"]
    b: Float[np.ndarray, " rows"]

    def sample(self, rng: np.random.Generator) -> Float[np.ndarray, " rows"]:
        return rng.beta(self.a, self.b)

    def log_density(self, y: Float[np.ndarray, " rows"]) -> Float[np.ndarray, " rows"]:
        """Natural logarithm of the density at y; minus infinity outside [0, 1]."""
        inside = np.clip(y, 0.0, 1.0)
        kernel = special.xlogy(self.a - 1, inside) + special.xlog1py(self.b - 1, -inside)
        return np.where((y < 0) | (y > 1), -np.inf, kernel - special.betaln(self.a, self.b))

    def cdf(self, y: Float[np.ndarray, " rows"]) -> Float[np.ndarray, " rows"]:
        result: np.ndarray = special.betainc(self.a, self.b, np.clip(y, 0.0, 1.0))
        return result

    def quantile(self, q: float) -> Float[np.ndarray, " rows"]:
        result: np.ndarray = special.betaincinv(self.a, self.b, q)
        return result

    def mean(self) -> Float[np.ndarray, " rows"]:
        return np.asarray(self.a / (self.a + self.b))
