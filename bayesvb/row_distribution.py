"""What a predictive distribution of one response knows, whatever its form."""

from __future__ import annotations

import abc

import numpy as np
from jaxtyping import Float


class AbstractRowDistribution(abc.ABC):
    """A distribution of one response for each of some rows.

    Attributes
    ----------
    weights : ndarray, shape (experts, rows)
        Probability of each component.
    """

    weights: Float[np.ndarray, "experts rows"]

    @abc.abstractmethod
    def mean(self) -> Float[np.ndarray, " rows"]:
        """Mean of each row."""

    @abc.abstractmethod
    def sd(self) -> Float[np.ndarray, " rows"]:
        """Standard deviation of each row, infinite where there is none."""

    @abc.abstractmethod
    def log_density(self, y: Float[np.ndarray, " rows"]) -> Float[np.ndarray, " rows"]:
        """Log density of one value per row."""

    @abc.abstractmethod
    def density_at(self, points: Float[np.ndarray, " points"]) -> Float[np.ndarray, "points rows"]:
        """Density of every row at every point."""

    @abc.abstractmethod
    def cdf(self, y: Float[np.ndarray, " rows"]) -> Float[np.ndarray, " rows"]:
        """Distribution function at one value per row."""

    @abc.abstractmethod
    def cdf_at(self, points: Float[np.ndarray, " points"]) -> Float[np.ndarray, "points rows"]:
        """Distribution function of every row at every point."""

    @abc.abstractmethod
    def quantile(self, q: Float[np.ndarray, " probs"]) -> Float[np.ndarray, "probs rows"]:
        """Quantiles of every row."""

    @abc.abstractmethod
    def draws(self, n: int, rng: np.random.Generator) -> Float[np.ndarray, "draws rows"]:
        """Independent draws."""
