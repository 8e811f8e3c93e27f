"""Mixtures of Poisson distributions: against sums, draws and scipy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import poisson

from bayesvb.distributions.poisson_mixture import DrawnPoissonMixture, PoissonMixture
from bayesvb.errors import DataError

WEIGHTS = np.array([[0.3, 1.0, 0.5], [0.7, 0.0, 0.5]])
LOG_RATE = np.array([[0.0, -3.0, 2.5], [2.0, 1.0, 3.5]])
VARIANCE = np.array([[0.0, 0.4, 0.01], [0.1, 1.0, 0.05]])
MIXTURE = PoissonMixture(WEIGHTS, LOG_RATE, VARIANCE)
COUNTS = np.arange(0.0, 250.0)


def test_probabilities_sum_to_one_and_have_the_moments():
    mass = MIXTURE.density_at(COUNTS)
    assert_allclose(mass.sum(axis=0), 1.0, rtol=1e-9)
    assert_allclose(COUNTS @ mass, MIXTURE.mean(), rtol=1e-8)
    second = COUNTS**2 @ mass - MIXTURE.mean() ** 2
    assert_allclose(np.sqrt(second), MIXTURE.sd(), rtol=1e-7)
    assert_allclose(MIXTURE.cdf_at(COUNTS), np.cumsum(mass, axis=0), atol=1e-9)
    assert (MIXTURE.density_at(np.array([-1.0, 0.5])) == 0.0).all()
    assert_allclose(MIXTURE.cdf_at(np.array([-0.5]))[0], 0.0)
    assert_allclose(MIXTURE.cdf(np.full(3, 2.7)), MIXTURE.cdf(np.full(3, 2.0)))


def test_without_variance_it_is_the_poisson_distribution():
    one = PoissonMixture(np.ones((1, 1)), np.full((1, 1), 1.3), np.zeros((1, 1)))
    law = poisson(np.exp(1.3))
    assert_allclose(one.density_at(COUNTS[:30])[:, 0], law.pmf(COUNTS[:30]), rtol=1e-10)
    assert_array_equal(one.quantile(np.array([0.01, 0.5, 0.99]))[:, 0], law.ppf([0.01, 0.5, 0.99]))


def test_quantiles_are_the_smallest_counts_with_enough_below():
    q = np.array([1e-6, 0.05, 0.5, 0.95, 1.0 - 1e-9])
    for level, found in zip(q, MIXTURE.quantile(q), strict=True):
        assert (MIXTURE.cdf(found) >= level).all()
        assert (MIXTURE.cdf(found - 1.0) < level).all()
    assert_array_equal(MIXTURE.quantile(np.array([0.0, 1.0])), [np.zeros(3), np.full(3, np.inf)])
    with pytest.raises(DataError, match="not a probability"):
        MIXTURE.quantile(np.array([-0.1]))


def test_draws_have_the_distribution(rng):
    draws = MIXTURE.draws(40_000, rng)
    assert_allclose(draws.mean(axis=0), MIXTURE.mean(), atol=4.5 * MIXTURE.sd().max() / 200.0)
    for at in (0.0, 5.0, 60.0):
        error = 4.5 * 0.5 / 200.0
        assert_allclose((draws <= at).mean(axis=0), MIXTURE.cdf(np.full(3, at)), atol=error)


def test_stacks_and_labels():
    both = MIXTURE.stacked([MIXTURE], np.array([0.25, 0.75]))
    assert_allclose(both.mean(), MIXTURE.mean())
    assert_allclose(both.by_label(2).weights, WEIGHTS)
    assert_allclose(MIXTURE.joined([MIXTURE]).mean(), np.tile(MIXTURE.mean(), 2))
    assert MIXTURE.affine(0.0, 1.0) is MIXTURE
    with pytest.raises(DataError, match="multiplied by 2"):
        MIXTURE.affine(0.0, 2.0)


def test_given_draws_tails_and_quantiles_agree():
    rate = np.exp(np.repeat(LOG_RATE[:, None], 2, axis=1))
    drawn = DrawnPoissonMixture(np.repeat(WEIGHTS[:, None], 2, axis=1), rate)
    known = PoissonMixture(WEIGHTS, LOG_RATE, 0.0 * VARIANCE)
    for value in (0.0, 3.0, 7.5):
        assert_allclose(drawn.below(value) + drawn.density(value) + drawn.above(value), 1.0)
        below = known.cdf(np.full(3, np.ceil(value) - 1.0))
        assert_allclose(drawn.below(value), np.tile(below, (2, 1)), atol=1e-14)
    assert_allclose(drawn.mean(), np.tile(known.mean(), (2, 1)))
    assert_allclose(drawn.sd(), np.tile(known.sd(), (2, 1)))
    assert_array_equal(drawn.quantile(0.5)[0], known.quantile(np.array([0.5]))[0])
