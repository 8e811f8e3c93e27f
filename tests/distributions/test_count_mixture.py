"""Mixtures of distributions of counts: against sums, draws and scipy, family by family."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binom, nbinom, poisson

from bayesvb.distributions.count_laws import (
    LARGEST,
    BinomialLaw,
    NegativeBinomialLaw,
    PoissonLaw,
)
from bayesvb.distributions.count_mixture import (
    BinomialMixture,
    DrawnCountMixture,
    NegativeBinomialMixture,
    PoissonMixture,
)
from bayesvb.errors import DataError

WEIGHTS = np.array([[0.3, 1.0, 0.5], [0.7, 0.0, 0.5]])
PREDICTOR = np.array([[0.0, -3.0, 2.5], [2.0, 1.0, 3.5]])
VARIANCE = np.array([[0.0, 0.4, 0.01], [0.1, 1.0, 0.05]])
TRIALS = np.tile([1.0, 7.0, 40.0], (2, 1))
LOG_DISPERSION = np.array([[1.0, 2.0, 1.5], [2.0, 0.5, 3.0]])
GIVEN = WEIGHTS, PREDICTOR, VARIANCE
MIXTURES = {
    "poisson": PoissonMixture(*GIVEN),
    "binomial": BinomialMixture(*GIVEN, TRIALS),
    "negative binomial": NegativeBinomialMixture(*GIVEN, LOG_DISPERSION, 0.1 + 0.0 * VARIANCE),
}
COUNTS = np.arange(0.0, 360.0)


@pytest.fixture(params=MIXTURES)
def mixture(request):
    return MIXTURES[request.param]


def test_probabilities_sum_to_one_and_have_the_moments(mixture):
    mass = mixture.density_at(COUNTS)
    assert_allclose(mass.sum(axis=0), 1.0, rtol=1e-8)
    assert_allclose(COUNTS @ mass, mixture.mean(), rtol=1e-6)
    second = COUNTS**2 @ mass - mixture.mean() ** 2
    assert_allclose(np.sqrt(second), mixture.sd(), rtol=1e-5)
    some = COUNTS[::24]
    assert_allclose(mixture.cdf_at(some), np.cumsum(mass, axis=0)[::24], atol=1e-9)
    assert (mixture.density_at(np.array([-1.0, 0.5])) == 0.0).all()
    assert_allclose(mixture.cdf_at(np.array([-0.5]))[0], 0.0)
    assert_allclose(mixture.cdf(np.full(3, 2.7)), mixture.cdf(np.full(3, 2.0)))


@pytest.mark.parametrize(
    ("law", "known"),
    [
        (PoissonLaw(np.array([1.3])), poisson(np.exp(1.3))),
        (BinomialLaw(np.array([1.3]), np.array([9.0])), binom(9, 1.0 / (1.0 + np.exp(-1.3)))),
        (
            NegativeBinomialLaw(np.array([1.3]), np.log([2.5])),
            nbinom(2.5, 2.5 / (2.5 + np.exp(1.3))),
        ),
    ],
    ids=MIXTURES,
)
def test_laws_are_those_of_scipy(law, known):
    y = COUNTS[:12]
    assert_allclose(law.log_mass(y), known.logpmf(y), rtol=1e-10)
    assert_allclose(law.up_to(y), known.cdf(y), rtol=1e-10)
    assert_allclose(np.ravel([law.mean, law.variance]), known.stats("mv"), rtol=1e-12)


def test_a_large_dispersion_is_poisson():
    """Gamma functions of it cancel."""
    far = NegativeBinomialLaw(np.array([1.3]), np.array([23.0]))
    assert_allclose(far.log_mass(COUNTS[:30]), PoissonLaw(np.array([1.3])).log_mass(COUNTS[:30]),
                    atol=1e-6)  # fmt: skip


def test_quantiles_are_the_smallest_counts_with_enough_below(mixture):
    q = np.array([1e-6, 0.05, 0.5, 0.95, 1.0 - 1e-9])
    for level, found in zip(q, mixture.quantile(q), strict=True):
        assert (mixture.cdf(found) >= level).all()
        assert (mixture.cdf(found - 1.0) < level).all()
    most = TRIALS[0] if isinstance(mixture, BinomialMixture) else np.full(3, np.inf)
    assert_array_equal(mixture.quantile(np.array([0.0, 1.0])), [np.zeros(3), most])
    with pytest.raises(DataError, match="not a probability"):
        mixture.quantile(np.array([-0.1]))


def test_draws_have_the_distribution(mixture, rng):
    draws = mixture.draws(10_000, rng)
    assert (np.abs(draws.mean(axis=0) - mixture.mean()) < 4.5 * mixture.sd() / 100.0).all()
    for at in (0.0, 5.0, 60.0):
        error = 4.5 * 0.5 / 100.0
        assert_allclose((draws <= at).mean(axis=0), mixture.cdf(np.full(3, at)), atol=error)


def test_stacks_and_labels(mixture):
    both = mixture.stacked([mixture], np.array([0.25, 0.75]))
    assert_allclose(both.mean(), mixture.mean())
    assert_allclose(both.by_label(2).weights, WEIGHTS)
    assert_allclose(mixture.joined([mixture]).mean(), np.tile(mixture.mean(), 2))
    assert mixture.affine(0.0, 1.0) is mixture
    with pytest.raises(DataError, match="multiplied by 2"):
        mixture.affine(0.0, 2.0)


def test_quantiles_are_found_where_the_mean_is_beyond_whole_floats():
    """A cell without observations has a predictor of a huge variance."""
    one = np.ones((1, 1))
    law = NegativeBinomialMixture(one, 4.0 * one, 200.0 * one, 2.0 * one, 0.1 * one)
    median, high = law.quantile(np.array([0.5, 0.95]))[:, 0]
    assert law.mean()[0] > 2.0**53
    assert 30.0 < median < 80.0 < 1e6 < high <= LARGEST


def test_given_draws_tails_and_quantiles_agree(mixture):
    two = np.moveaxis(np.repeat(WEIGHTS[:, None], 2, axis=1), 0, 1)
    drawn = DrawnCountMixture.of(two, mixture.law(PREDICTOR[:, None], 0.0, (slice(None), None)))
    known = replace(mixture, variance=0.0 * VARIANCE)
    if isinstance(mixture, NegativeBinomialMixture):
        known = replace(known, dispersion_sd=0.0 * VARIANCE)
    for value in (0.0, 3.0, 7.5):
        assert_allclose(drawn.below(value) + drawn.density(value) + drawn.above(value), 1.0)
        below = known.cdf(np.full(3, np.ceil(value) - 1.0))
        assert_allclose(drawn.below(value), np.tile(below, (2, 1)), atol=1e-14)
    assert_allclose(drawn.mean(), np.tile(known.mean(), (2, 1)))
    assert_allclose(drawn.sd(), np.tile(known.sd(), (2, 1)))
    assert_array_equal(drawn.quantile(0.5)[0], known.quantile(np.array([0.5]))[0])
