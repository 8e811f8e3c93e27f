"""Exact posteriors of one expert whose log density depends on one linear predictor."""

import numpy as np
import pytest

DOF = 8.0
"""Degrees of freedom of the draws, whose tails are wider than those of the posterior."""


@pytest.fixture
def exact_moments(rng):
    """Means and standard deviations of the coefficients of a fit, by importance sampling."""

    def moments(fit, n_draws=40_000):
        block, experts, q = fit.model.source.whole(), fit.model.core.experts, fit.q.experts
        n_terms = q.mean.shape[-1]
        root = 1.2 * np.linalg.cholesky(q.covariance[0])
        z = rng.normal(size=(n_draws, n_terms))
        scale = np.sqrt(DOF / rng.chisquare(DOF, n_draws))
        values = q.mean[0] + scale[:, None] * (z @ root.T)
        draws = {"coefficients": values[:, None, None]}
        log_q = -0.5 * (DOF + n_terms) * np.log1p((z**2).sum(axis=1) * scale**2 / DOF)
        log_p = experts.log_lik(draws, block).sum(axis=(1, 2)) + experts.log_density(None, draws)
        weight = np.exp(log_p - log_q - (log_p - log_q).max())
        weight /= weight.sum()
        mean = weight @ values
        return mean, np.sqrt(weight @ (values - mean) ** 2)

    return moments
