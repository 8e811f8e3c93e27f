"""Uniform correlation matrices: their marginal distributions, factors and densities."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import beta, kstest

from bayesvb.factors.uniform_correlation import UniformCorrelation


@pytest.mark.parametrize("n_effects", [2, 3])
def test_each_correlation_has_the_beta_distribution_of_a_uniform_matrix(n_effects):
    prior = UniformCorrelation(n_effects)
    found = prior.correlations(prior.draws(2000, np.random.default_rng(0)))
    shape = 0.5 * n_effects  # Lewandowski, Kurowicka and Joe (2009), eta = 1
    for each in found.T:
        assert kstest(0.5 * (1.0 + each), beta(shape, shape).cdf).pvalue > 0.01


def test_factors_are_of_the_matrix_also_near_its_limits():
    prior = UniformCorrelation(3)
    z = np.array([[0.3, -1.2, 0.7], [8.0, -30.0, 0.0], [0.0, 0.0, 0.0]])
    root = prior.root(z)
    assert_allclose(root @ np.swapaxes(root, 1, 2), prior.matrix(prior.correlations(z)), atol=1e-15)
    assert np.isfinite(np.linalg.inv(root)).all()
    assert np.isfinite(prior.log_density(np.array([[400.0, 0.0, 0.0]]))).all()


def test_the_density_is_normalised_and_the_jacobian_that_of_differences():
    prior, z = UniformCorrelation(2), np.linspace(-15.0, 15.0, 3001)[:, None]
    assert_allclose(np.exp(prior.log_density(z)).sum() * 0.01, 1.0, rtol=1e-10)
    prior, z, step = UniformCorrelation(3), np.array([0.4, -0.8, 0.3]), 1e-6
    moved = step * np.eye(3)
    slopes = (prior.correlations(z + moved) - prior.correlations(z - moved)) / (2.0 * step)
    assert_allclose(prior.log_jacobian(z), np.linalg.slogdet(slopes)[1], rtol=1e-8)
