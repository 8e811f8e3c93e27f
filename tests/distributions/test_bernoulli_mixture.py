"""Mixtures of zeros and ones: probabilities, quantiles, draws and stacks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bayesvb.distributions.bernoulli_mixture import BernoulliMixture, DrawnBernoulliMixture
from bayesvb.errors import DataError

ONE = np.array([[0.2, 0.9, 1e-12], [0.6, 0.3, 0.5]])
WEIGHTS = np.array([[0.3, 1.0, 1.0], [0.7, 0.0, 0.0]])
MIXTURE = BernoulliMixture(WEIGHTS, 1.0 - ONE, ONE)
MEAN = np.array([0.48, 0.9, 1e-12])


def test_probabilities_of_both_values():
    assert_allclose(MIXTURE.mean(), MEAN)
    assert_allclose(MIXTURE.sd(), np.sqrt(MEAN * (1.0 - MEAN)))
    assert_allclose(MIXTURE.density_at(np.array([0.0, 1.0, 0.5])), [1.0 - MEAN, MEAN, np.zeros(3)])
    assert_allclose(MIXTURE.log_density(np.array([1.0, 0.0, 1.0])), np.log([0.48, 0.1, 1e-12]))
    assert_allclose(
        MIXTURE.cdf_at(np.array([-1.0, 0.0, 0.5, 1.0])),
        [np.zeros(3), 1.0 - MEAN, 1.0 - MEAN, np.ones(3)],
    )


def test_the_smaller_probability_keeps_its_digits():
    far = BernoulliMixture(np.ones((1, 1)), np.full((1, 1), 1e-30), np.ones((1, 1)))
    assert_allclose(far.log_density(np.zeros(1)), np.log(1e-30))


def test_quantiles_are_the_smallest_values_with_enough_below():
    q = np.array([0.0, 0.1, 0.52, 0.53, 1.0])
    found = MIXTURE.quantile(q)
    assert (MIXTURE.cdf_at(np.zeros(1))[0] >= q[:, None])[found == 0.0].all()
    assert (MIXTURE.cdf_at(np.zeros(1))[0] < q[:, None])[found == 1.0].all()
    with pytest.raises(DataError, match="not a probability"):
        MIXTURE.quantile(np.array([1.5]))


def test_draws_have_the_probability(rng):
    draws = MIXTURE.draws(20_000, rng)
    assert_allclose(draws.mean(axis=0), MEAN, atol=4.5 * 0.5 / np.sqrt(20_000))


def test_stacks_and_labels():
    both = MIXTURE.stacked([MIXTURE], np.array([0.25, 0.75]))
    assert_allclose(both.mean(), MEAN)
    assert_allclose(both.by_label(2).weights, WEIGHTS)
    assert_allclose(MIXTURE.joined([MIXTURE]).mean(), np.tile(MEAN, 2))
    assert MIXTURE.affine(0.0, 1.0) is MIXTURE
    with pytest.raises(DataError, match="cannot be shifted by 2"):
        MIXTURE.affine(2.0, 1.0)


def test_given_draws_both_tails_and_the_value_between():
    each = [np.repeat(values[:, None], 2, axis=1) for values in (WEIGHTS, 1.0 - ONE, ONE)]
    drawn = DrawnBernoulliMixture(*each)
    assert drawn.mean().shape == (2, 3)
    assert_allclose(drawn.mean(), np.tile(MEAN, (2, 1)))
    assert_allclose(drawn.below(1.0) + drawn.density(1.0), 1.0)
    assert_allclose(drawn.above(0.0), drawn.density(1.0), atol=1e-15)
    assert_array_equal(drawn.quantile(0.5), np.tile([0.0, 1.0, 0.0], (2, 1)))
    assert_allclose(drawn.sd(), np.tile(MIXTURE.sd(), (2, 1)))
