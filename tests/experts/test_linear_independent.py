"""One regression whose coefficients and noise are independent a priori."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose
from scipy.integrate import quad
from statsmodels.regression.linear_model import OLS

from bayesvb.data.blocks import Block
from bayesvb.data.parts import MEAN
from bayesvb.experts.linear_independent import IndependentLinearExperts
from bayesvb.experts.regression import RegressionPrior

ONE = np.ones


def problem(n_rows, n_terms, *, sd=10.0, shape=0.5, rate=0.01, seed=0):
    rng = np.random.default_rng(seed)
    x = np.vstack([np.ones(n_rows), rng.standard_normal((n_terms - 1, n_rows))])
    y = 0.5 * x[-1] + 0.7 * rng.standard_normal(n_rows)
    prior = RegressionPrior(1, n_terms, sd, False, shape, rate, is_alone=True)
    experts = IndependentLinearExperts.from_prior(prior)
    block = Block({MEAN: x}, y[None])
    return experts, block, experts.partition_stats(np.ones((1, n_rows)), block)


def bound(experts, posterior, block):
    return experts.local(posterior, block).expected_log_density.sum() - experts.kl(posterior)


def log_evidence(experts, block):
    """Log density of the response by quadrature over the log precision of the noise."""
    x, y = block.designs[MEAN], block.response[0]
    covariance = x.T @ np.linalg.inv(experts.prior.precision) @ x
    values, vectors = np.linalg.eigh(covariance)
    squares, law = (vectors.T @ y) ** 2, scipy.stats.gamma
    shape, rate = float(experts.prior.shape), float(experts.prior.rate[0])

    def log_density(s):
        variance = values + np.exp(-s)
        rows = -0.5 * (np.log(2.0 * np.pi * variance) + squares / variance).sum()
        return rows + law.logpdf(np.exp(s), shape, scale=1.0 / rate) + s

    top = max(map(log_density, np.linspace(-5.0, 5.0, 201)))
    return top + np.log(quad(lambda s: np.exp(log_density(s) - top), -6.0, 8.0, limit=400)[0])


@pytest.mark.parametrize("n_terms", [1, 3, 8])
def test_flat_priors_lead_to_the_t_intervals_of_least_squares(n_terms):
    experts, block, stats = problem(25, n_terms, sd=1e5, shape=1e-9, rate=1e-9)
    posterior = experts.update(stats)
    known = OLS(block.response[0], block.designs[MEAN].T).fit()
    assert_allclose(posterior.mean[0, 0], known.params, rtol=1e-6, atol=1e-7)
    assert_allclose(2.0 * posterior.shape, known.df_resid, rtol=1e-6)
    covariance = posterior.covariance[0] / posterior.expected_precision[0, 0]
    assert_allclose(covariance, known.cov_params(), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("n_rows, gap", [(12, 0.03), (40, 0.002), (400, 0.0002)])
def test_the_elbo_is_just_below_the_log_evidence(n_rows, gap):
    experts, block, stats = problem(n_rows, 4)
    found = bound(experts, experts.update(stats), block)
    assert 0.0 <= log_evidence(experts, block) - found < gap


def test_the_elbo_is_below_the_log_evidence_with_more_columns_than_rows():
    experts, block, stats = problem(6, 9, sd=0.8)
    assert bound(experts, experts.update(stats), block) < log_evidence(experts, block)


@pytest.mark.parametrize("sd", [10.0, 0.3])
def test_the_elbo_is_stationary_in_means_and_noise(sd):
    experts, block, stats = problem(30, 4, sd=sd)
    posterior = experts.update(stats)
    step = 1e-5

    def slope(change):
        return (bound(experts, change(step), block) - bound(experts, change(-step), block)) / step

    for term in np.eye(4):
        assert abs(slope(lambda t, e=term: replace(posterior, mean=posterior.mean + t * e))) < 1e-6
    spread = replace(posterior, shape=np.full(1, 0.8 * posterior.shape[0]))
    assert abs(slope(lambda t: replace(posterior, rate=posterior.rate * (1.0 + t)))) < 1e-6
    scaled = lambda t: replace(  # noqa: E731
        posterior, shape=posterior.shape * (1.0 + t), rate=posterior.rate * (1.0 + t)
    )
    assert abs(slope(scaled)) < 1e-6
    assert bound(experts, spread, block) < bound(experts, posterior, block)


def test_draws_have_the_moments_of_the_coefficients_and_quantiles_of_the_noise():
    experts, _, stats = problem(30, 4)
    posterior = experts.update(stats)
    draws = experts.draws(posterior, 500, np.random.default_rng(1))
    coefficients, tau = draws["coefficients"][:, 0, 0], draws["precision"][:, 0, 0]
    assert_allclose(coefficients.mean(axis=0), posterior.mean[0, 0], rtol=1e-12, atol=1e-12)
    shape, rate = posterior.shape[0], posterior.rate[0, 0]
    exact = rate / (shape - 1.0) * posterior.covariance[0]
    assert_allclose(np.cov(coefficients.T), exact, rtol=0.005, atol=1e-4)
    law = scipy.stats.gamma(shape, scale=1.0 / rate)
    for q in (0.05, 0.5, 0.95):
        assert_allclose(np.quantile(tau, q), law.ppf(q), rtol=0.005)


def test_few_draws_of_many_coefficients_have_the_mean_only():
    experts, _, stats = problem(30, 4)
    posterior = experts.update(stats)
    coefficients = experts.draws(posterior, 20, np.random.default_rng(1))["coefficients"][:, 0]
    assert_allclose(coefficients.mean(axis=0), posterior.mean[0], rtol=1e-12, atol=1e-12)
    assert np.isfinite(coefficients).all() and np.ptp(coefficients, axis=0).all()
