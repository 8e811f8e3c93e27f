"""Moments that the posterior factors of regressions have in common."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import digamma

from bayesvb.linear.designs import AbstractDesign
from bayesvb.numerics.arrays import BatchArray, ExpertRows, ExpertTerms, PackedBatch
from bayesvb.numerics.linalg import linear_at, quadratic_at, quadratic_weights


class AbstractRegressionFactor:
    """Distribution of coefficients and noise precisions of regressions, ``tau_i ~ Ga(a, b_i)``.

    Attributes
    ----------
    mean : ndarray, shape (..., responses, terms)
        Means of the coefficients.
    covariance : ndarray, shape (..., terms, terms)
        Their covariance in units of the noise variance.
    shape : ndarray, shape (...)
        ``a``.
    rate : ndarray, shape (..., responses)
        ``b_i``.
    """

    mean: Float[np.ndarray, "*batch responses terms"]
    covariance: Float[np.ndarray, "*batch terms terms"]
    shape: BatchArray
    rate: Float[np.ndarray, "*batch responses"]

    @property
    def expected_precision(self) -> Float[np.ndarray, "*batch responses"]:
        """``E[tau_i] = a / b_i``."""
        return np.asarray(self.shape[..., None] / self.rate)

    @property
    def expected_log_precision(self) -> Float[np.ndarray, "*batch responses"]:
        """``E[log tau_i] = digamma(a) - log b_i``."""
        return np.asarray(digamma(self.shape)[..., None] - np.log(self.rate))

    @property
    def shared(self) -> Any:
        """Marginal law of the coefficients that all rows share, and of the noise: itself here."""
        return self

    def location_at(self, response: int, design: AbstractDesign) -> ExpertRows:
        """Posterior mean of a response of each row of the design."""
        mean = self.mean[..., response, :]
        return design.predict(mean) if mean.ndim == 2 else linear_at(mean, design.columns)

    def spread_at(self, design: AbstractDesign) -> ExpertTerms:
        """Variance of that mean, in units of the noise variance."""
        return quadratic_at(self.covariance, design.columns)

    def second_moments(self) -> PackedBatch:
        """Weights of packed products of the coefficients: ``sum_i E[tau_i B_i B_i']``."""
        scaled = self.expected_precision[..., None] * self.mean
        n_responses = self.mean.shape[-2]
        second = np.swapaxes(scaled, -1, -2) @ self.mean + n_responses * self.covariance
        return quadratic_weights(second)
