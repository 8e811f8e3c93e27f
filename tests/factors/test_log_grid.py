"""Positive parameters on a grid of logarithms: moments, derivatives, density and draws agree."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import gammaln, logsumexp
from scipy.stats import kstest, lognorm

from bayesvb.factors.log_grid import LogGrid

GRID = LogGrid(low=-4.5, high=9.0, centre=1.5, sd=2.0)


def log_lik(shape, n):
    """Gamma responses with mean 1 and true shape 3: the sum depends on their number and on one."""
    return n * (shape * np.log(shape) - gammaln(shape) - 1.1758 * shape)


@pytest.mark.parametrize("n", [5, 1000, 100_000])
def test_moments_are_those_of_numerical_integration(n):
    """Also where the posterior is a hundred times narrower than the spacing of the nodes."""
    law = GRID.posterior(log_lik(GRID.values, n)[None])
    logs = law.mean_log[0] + law.sd_log[0] * np.linspace(-14.0, 14.0, 4001)
    logs = np.clip(logs, GRID.low, GRID.high)
    whole = log_lik(np.exp(logs), n) + GRID.log_density_of_logs(logs)
    weight = np.exp(whole - whole.max()) * np.gradient(logs)
    weight /= weight.sum()
    mean = weight @ logs
    sd = np.sqrt(weight @ (logs - mean) ** 2)
    assert abs(law.mean_log[0] - mean) < 0.003 * sd
    assert law.sd_log[0] == pytest.approx(sd, rel=1e-3)


def test_expected_weights_are_derivatives_of_the_log_norm(rng):
    sums = log_lik(GRID.values, 40) + 0.1 * rng.normal(size=(2, 32))
    law, change = GRID.posterior(sums), rng.normal(size=(2, 32))
    ends = [GRID.posterior(sums + step * change) for step in (1e-4, -1e-4)]
    slope = (ends[0].log_norm - ends[1].log_norm) / 2e-4
    assert_allclose(slope, (law.weights * change).sum(axis=1), rtol=1e-6)
    bend = (ends[0].weights - ends[1].weights) / 2e-4
    found = (law.covariance @ change[..., None])[..., 0]
    assert_allclose(found, bend, rtol=1e-5, atol=1e-8)


def test_draws_have_the_density_and_the_prior_is_log_normal(rng):
    law = GRID.posterior(log_lik(GRID.values, 40)[None])
    values = np.exp(np.linspace(0.0, 2.5, 501))
    density = np.exp(law.log_density(values[:, None])[:, 0])
    below = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]) * np.diff(values))])
    assert below[-1] == pytest.approx(1.0, abs=1e-4)
    assert kstest(law.draws(4000, rng)[:, 0], lambda x: np.interp(x, values, below)).pvalue > 0.01
    prior = lognorm(2.0, scale=np.exp(1.5))
    assert_allclose(GRID.log_prior(values), prior.logpdf(values))
    assert kstest(GRID.prior_draws((2000,), rng), prior.cdf).pvalue > 0.01


def test_the_divergence_is_that_of_the_density():
    law = GRID.posterior(log_lik(GRID.values, 40)[None])
    values = np.exp(law.points)
    log_q, log_p = law.log_density(values.T).T, GRID.log_prior(values)
    assert law.kl() == pytest.approx(float((law.probabilities * (log_q - log_p)).sum()), abs=1e-6)
    assert logsumexp(np.log(law.probabilities)) == pytest.approx(0.0, abs=1e-12)


def test_sums_that_fall_over_many_orders_are_not_overshot():
    """A Weibull log likelihood: doubly exponential in the log of the shape."""
    grid = LogGrid(low=-3.0, high=3.0, centre=0.0, sd=1.0)
    z = np.linspace(-3.0, 2.0, 50)
    with np.errstate(over="ignore"):
        each = [50 * np.log(c) + (c * z - np.exp(c * z)).sum() for c in grid.values]
    sums = np.maximum(each, -1e300)
    law = grid.posterior(np.array([sums]))
    assert np.abs(law.weights @ np.clip(sums, -1e4, None) - max(sums)) < 5.0
    assert law.sd_log[0] < 0.2
    trimmed = grid.trimmed(np.array([sums]))
    assert trimmed.max() == 0.0
    assert trimmed.min() > -1e6
    assert_allclose(grid.posterior(trimmed).mean_log, law.mean_log, rtol=1e-12)
    others = np.flatnonzero(~law.active[0])
    assert 8 <= law.active.sum() < 24
    assert np.abs(law.weights[0, others]).max() < 1e-12


def test_sums_that_are_not_finite_are_of_no_data():
    with pytest.raises(np.linalg.LinAlgError):
        GRID.posterior(np.full((1, 32), np.nan))
