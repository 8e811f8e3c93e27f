"""A Gaussian fitted by stochastic gradients to densities of which the best Gaussian is known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from bayesvb.engines.gaussian_guide import GaussianGuide, GuideFit

PRECISION = np.array([[4.0, 3.0], [3.0, 5.0]])
CENTRE = np.array([1.0, -2.0])


def potential(vector):
    shift = vector - CENTRE
    return 0.5 * shift @ PRECISION @ shift


def test_draws_have_the_density_that_is_said(rng):
    root = np.linalg.cholesky(np.linalg.inv(PRECISION))
    guide = GaussianGuide(CENTRE, root)
    law = stats.multivariate_normal(CENTRE, np.linalg.inv(PRECISION))
    draws, log_density = guide.draws(20_000, rng)
    assert_allclose(log_density, law.logpdf(draws), rtol=1e-10)
    assert_allclose(guide.entropy, law.entropy(), rtol=1e-12)
    assert_allclose(draws.mean(axis=0), CENTRE, atol=0.02)
    assert_allclose(np.cov(draws.T), np.linalg.inv(PRECISION), atol=0.02)


@pytest.mark.parametrize("full", [False, True])
def test_a_guide_of_draws_has_their_mean_and_variances(full, rng):
    vectors = rng.multivariate_normal(CENTRE, np.linalg.inv(PRECISION), 4000)
    guide = GaussianGuide.of_draws(vectors, full=full)
    covariance = guide.root @ guide.root.T
    assert_allclose(guide.mean, vectors.mean(axis=0))
    assert_allclose(np.diagonal(covariance), vectors.var(axis=0), rtol=1e-3)
    assert_allclose(covariance[0, 1], np.cov(vectors.T)[0, 1] if full else 0.0, rtol=1e-3)


def test_a_guide_of_few_draws_is_a_gaussian(rng):
    guide = GaussianGuide.of_draws(rng.normal(size=(3, 8)), full=True)
    assert (np.diagonal(guide.root) > 0.0).all()


@pytest.mark.mcmc
@pytest.mark.parametrize("full", [False, True])
def test_the_best_gaussian_is_found(full, x64):
    import jax

    settings = GuideFit(full, steps=3000, particles=16, learning_rate=0.02, decaying=True)
    start = GaussianGuide(np.zeros(2), np.eye(2))
    *_, (steps, bound, guide) = settings.stages(potential, start, jax.random.PRNGKey(1))
    assert steps == 3000
    best = np.linalg.inv(PRECISION) if full else np.diag(1.0 / np.diagonal(PRECISION))
    assert_allclose(guide.mean, CENTRE, atol=0.03)  # a twentieth of a standard deviation
    assert_allclose(guide.root @ guide.root.T, best, atol=0.02)
    law = GaussianGuide(CENTRE, np.linalg.cholesky(best))
    expected = law.entropy - 0.5 * np.trace(PRECISION @ best)
    assert_allclose(bound, expected, atol=0.1)
    assert np.tril(guide.root).tolist() == guide.root.tolist()


@pytest.mark.mcmc
def test_a_gaussian_of_many_numbers_stays_near_its_target(x64):
    import jax

    n, settings = 150, GuideFit(True, steps=400, particles=8, learning_rate=0.02, decaying=True)
    start = GaussianGuide(np.zeros(n), np.eye(n))
    exact = start.entropy - 0.5 * n
    *_, (_, bound, _) = settings.stages(lambda x: 0.5 * x @ x, start, jax.random.PRNGKey(1))
    assert bound > exact - 0.025 * n  # with covariances in steps as large as scales: - 0.053 n


@pytest.mark.mcmc
def test_stages_are_told_as_they_come_and_the_last_one_may_be_short(x64):
    import jax

    settings = GuideFit(True, steps=250, particles=4, learning_rate=0.05, decaying=False)
    start = GaussianGuide(np.zeros(2), np.eye(2))
    found = list(settings.stages(potential, start, jax.random.PRNGKey(1)))
    assert [steps for steps, _, _ in found] == [*range(25, 250, 25), 250]
    assert found[-1][1] > found[0][1]


@pytest.mark.mcmc
def test_a_gradient_that_is_not_finite_moves_nothing(x64):
    import jax
    import jax.numpy as jnp

    settings = GuideFit(False, steps=10, particles=1, learning_rate=0.1, decaying=False)
    start = GaussianGuide(np.zeros(2), 0.1 * np.eye(2))
    stages = settings.stages(lambda v: jnp.nan * v.sum(), start, jax.random.PRNGKey(1))
    *_, (_, _, guide) = stages
    assert_allclose(guide.mean, 0.0)
    assert_allclose(guide.root, start.root)
