"""Exact posteriors of one expert whose log density depends on one linear predictor."""

import numpy as np
import pytest

from bayesvb.evaluation.elpd import read_elpd

DOF = 8.0
"""Degrees of freedom of the draws, whose tails are wider than those of the posterior."""


@pytest.fixture
def exact_moments(rng):
    """Means and standard deviations of coefficients, then of the log of further parameters.

    By importance sampling from a wide Student t around the draws of the fit.
    """

    def moments(fit, n_draws=40_000):
        block, experts = fit.model.source.whole(), fit.model.core.experts
        known = {name: values for name, values in fit.draws.items() if values.size}
        known.pop("gate", None)
        coefficients = known.pop("coefficients")[:, 0, 0]
        n_terms = coefficients.shape[1]
        centre = np.column_stack([coefficients, *(np.log(v[:, 0]) for v in known.values())])
        root = 1.2 * np.linalg.cholesky(np.cov(centre.T))
        z = rng.normal(size=(n_draws, centre.shape[1]))
        scale = np.sqrt(DOF / rng.chisquare(DOF, n_draws))
        values = centre.mean(axis=0) + scale[:, None] * (z @ root.T)
        further = values[:, n_terms:]
        pairs = zip(known, further.T, strict=True)
        draws = {name: np.exp(logs)[:, None] for name, logs in pairs}
        draws["coefficients"] = values[:, None, None, :n_terms]
        log_q = -0.5 * (DOF + z.shape[1]) * np.log1p((z**2).sum(axis=1) * scale**2 / DOF)
        log_p = experts.log_lik(draws, block).sum(axis=(1, 2)) + experts.log_density(None, draws)
        log_p += further.sum(axis=1)  # densities of the logs
        weight = np.exp(log_p - log_q - (log_p - log_q).max())
        weight /= weight.sum()
        mean = weight @ values
        return mean, np.sqrt(weight @ (values - mean) ** 2)

    return moments


@pytest.fixture(scope="module")
def data(request):
    """Rows of the module's ``table``."""
    return request.module.table(400, 1)


@pytest.fixture(scope="module")
def fit(request, data):
    """Fit of the module's ``model_of`` to them."""
    return request.module.model_of(data).fit(seed=1, draws=4000)


@pytest.fixture(scope="session")
def assert_as_refits():
    """Log densities of rows left out are those of refits, on average and at most so far apart."""

    def check(fit, mean_square_root, most=np.inf):
        quick, exact = (read_elpd(fit.loo(**how)).pointwise for how in ({}, {"method": "exact"}))
        assert np.sqrt(np.mean((quick - exact) ** 2)) < mean_square_root
        assert np.abs(quick - exact).max() < most

    return check
