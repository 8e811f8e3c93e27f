"""Moments that the posterior factors of regressions have in common."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.special import digamma

from bayesvb.numerics.linalg import linear_at, quadratic_at


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
    shape: Float[np.ndarray, "*batch"]
    rate: Float[np.ndarray, "*batch responses"]

    @property
    def expected_precision(self) -> Float[np.ndarray, "*batch responses"]:
        """``E[tau_i] = a / b_i``."""
        return np.asarray(self.shape[..., None] / self.rate)

    @property
    def expected_log_precision(self) -> Float[np.ndarray, "*batch responses"]:
        """``E[log tau_i] = digamma(a) - log b_i``."""
        return np.asarray(digamma(self.shape)[..., None] - np.log(self.rate))

    def location_at(
        self, response: int, design: Float[np.ndarray, "terms rows"]
    ) -> Float[np.ndarray, "experts rows"]:
        """Posterior mean of a response of each row, whose terms are ``design``."""
        return linear_at(self.mean[..., response, :], design)

    def spread_at(self, design: Float[np.ndarray, "terms rows"]) -> Float[np.ndarray, "experts _"]:
        """Variance of that mean, in units of the noise variance."""
        return quadratic_at(self.covariance, design)
