"""Mixtures of negative binomial distributions with normal log means and log dispersions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from bayesvb.distributions.count_laws import NegativeBinomialLaw
from bayesvb.distributions.count_mixture import AbstractCountMixture, normal_nodes

__all__ = ["NegativeBinomialMixture"]


@dataclass(frozen=True)
class NegativeBinomialMixture(AbstractCountMixture):
    """Predictive distribution of counts: ``sum_k w_k E NB(y | exp(u_k), rho_k)``.

    Attributes
    ----------
    weights : ndarray, shape (experts, rows)
    predictor, variance : ndarray, shape (experts, rows)
        Posterior mean and variance of the log mean.
    log_dispersion, dispersion_sd : ndarray, shape (experts, rows)
        Posterior mean and standard deviation of ``log rho``.
    """

    further_nodes = normal_nodes(3)

    weights: Float[np.ndarray, "experts rows"]
    predictor: Float[np.ndarray, "experts rows"]
    variance: Float[np.ndarray, "experts rows"]
    log_dispersion: Float[np.ndarray, "experts rows"]
    dispersion_sd: Float[np.ndarray, "experts rows"]

    def law(
        self,
        predictor: Float[np.ndarray, "..."],
        further: float | Float[np.ndarray, "..."],
        at: tuple[Any, ...] = (),
    ) -> NegativeBinomialLaw:
        """Negative binomial distributions; dispersion is ``further`` deviations from its mean."""
        log_dispersion = self.log_dispersion[at] + further * self.dispersion_sd[at]
        return NegativeBinomialLaw(predictor, log_dispersion)

    def mean(self) -> Float[np.ndarray, " rows"]:
        """``sum_k w_k exp(t_k + s_k / 2)``."""
        return np.asarray((self.weights * np.exp(self.predictor + 0.5 * self.variance)).sum(axis=0))
