"""Mixtures of Poisson distributions with normal log rates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bayesvb.distributions.count_laws import PoissonLaw
from bayesvb.distributions.count_mixture import AbstractCountMixture

__all__ = ["PoissonMixture"]


@dataclass(frozen=True)
class PoissonMixture(AbstractCountMixture):
    """Predictive distribution of counts: ``sum_k w_k E Poisson(y | exp(u_k))``, ``u_k`` normal.

    Attributes
    ----------
    weights : ndarray, shape (experts, rows)
    predictor, variance : ndarray, shape (experts, rows)
        Posterior mean and variance of the log rate.
    """

    weights: Float[np.ndarray, "experts rows"]
    predictor: Float[np.ndarray, "experts rows"]
    variance: Float[np.ndarray, "experts rows"]

    def law(
        self,
        predictor: Float[np.ndarray, "..."],
        further: float | Float[np.ndarray, "..."],
        at: tuple[object, ...] = (),
    ) -> PoissonLaw:
        """Poisson distributions, without further parameters."""
        return PoissonLaw(predictor)

    def mean(self) -> Float[np.ndarray, " rows"]:
        """``sum_k w_k exp(t_k + s_k / 2)``."""
        return np.asarray((self.weights * np.exp(self.predictor + 0.5 * self.variance)).sum(axis=0))

    def sd(self) -> Float[np.ndarray, " rows"]:
        """Standard deviation of each row."""
        first = np.exp(self.predictor + 0.5 * self.variance)
        second = first + np.exp(2.0 * (self.predictor + self.variance))
        return np.asarray(np.sqrt((self.weights * second).sum(axis=0) - self.mean() ** 2))
