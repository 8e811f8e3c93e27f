"""Mixtures of binomial distributions with normal log odds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from bayesvb.distributions.count_laws import BinomialLaw
from bayesvb.distributions.count_mixture import AbstractCountMixture

__all__ = ["BinomialMixture"]


@dataclass(frozen=True)
class BinomialMixture(AbstractCountMixture):
    """Predictive distribution of successes: ``sum_k w_k E Binomial(y | n, sigma(u_k))``.

    Attributes
    ----------
    weights : ndarray, shape (experts, rows)
    predictor, variance : ndarray, shape (experts, rows)
        Posterior mean and variance of the log odds.
    trials : ndarray, shape (experts, rows)
        Number of trials of each row, the same for all components.
    """

    values = "numbers of successes"

    weights: Float[np.ndarray, "experts rows"]
    predictor: Float[np.ndarray, "experts rows"]
    variance: Float[np.ndarray, "experts rows"]
    trials: Float[np.ndarray, "experts rows"]

    def law(
        self,
        predictor: Float[np.ndarray, "..."],
        further: float | Float[np.ndarray, "..."],
        at: tuple[Any, ...] = (),
    ) -> BinomialLaw:
        """Binomial distributions, without further parameters."""
        return BinomialLaw(predictor, self.trials[at])
