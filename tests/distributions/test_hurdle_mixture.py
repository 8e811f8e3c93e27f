"""Amounts with zeros: densities, distribution functions, quantiles, moments and draws agree."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import gamma

from bayesvb.distributions.gamma_mixture import DrawnGammaMixture, GammaMixture
from bayesvb.distributions.hurdle_mixture import DrawnHurdleMixture, HurdleMixture

ZERO = np.array([[0.0, 0.2, 0.9], [0.0, 0.4, 0.5]])
WEIGHTS = np.array([[0.3, 0.6, 1.0], [0.7, 0.4, 0.0]])


@pytest.fixture(scope="module")
def law():
    u, spread = np.array([[0.0, 0.5, 1.0], [1.5, -1.0, 0.0]]), np.full((2, 3), 0.05)
    nothing = np.full((2, 3), np.nan)  # its weights are not read
    amounts = GammaMixture(nothing, u, spread, np.full((2, 3), 0.7), spread)
    return HurdleMixture(WEIGHTS, amounts, ZERO)


def test_density_cdf_and_moments_are_of_one_distribution(law):
    at_zero = (WEIGHTS * ZERO).sum(axis=0)
    assert_allclose(law.density_at(np.zeros(1))[0], at_zero)
    assert_allclose(law.cdf(np.zeros(3)), at_zero)
    assert_allclose(law.cdf_at(np.array([-1.0, 1e9])), [[0.0] * 3, [1.0] * 3])
    assert (law.density_at(np.array([-1.0])) == 0.0).all()
    for row in range(3):

        def integral(power, end=np.inf, row=row):
            function = lambda y: y**power * law.density_at(np.array([y]))[0, row]  # noqa: E731
            return quad(function, 0.0, end, limit=200)[0]

        assert_allclose(integral(0), 1.0 - at_zero[row], rtol=1e-6)
        assert_allclose(integral(0, 2.0), law.cdf(np.full(3, 2.0))[row] - at_zero[row], rtol=1e-6)
        mean, square = integral(1), integral(2)
        assert_allclose(law.mean()[row], mean, rtol=1e-5)
        assert_allclose(law.sd()[row], np.sqrt(square - mean**2), rtol=1e-5)


def test_quantiles_invert_the_cdf_and_are_zero_up_to_its_probability(law):
    q = np.array([0.0, 0.1, 0.35, 0.95, 1.0])
    found, at_zero = law.quantile(q), law.cdf(np.zeros(3))
    assert ((found == 0.0) == (q[:, None] <= at_zero)).all()
    assert (found[-1] == np.inf).all()
    for one, prob in zip(found[1:-1], q[1:-1], strict=True):
        assert_allclose(law.cdf(one), np.maximum(prob, at_zero), atol=1e-8)


def test_draws_have_zeros_and_amounts(law, rng):
    drawn = law.draws(20_000, rng)
    assert_allclose((drawn == 0.0).mean(axis=0), law.cdf(np.zeros(3)), atol=0.02)
    assert_allclose(drawn.mean(axis=0), law.mean(), rtol=0.05)
    assert law.has_mass(np.array([0.0, 1.0])).tolist() == [True, False]


def test_drawn_mixtures_are_those_of_scipy():
    weights = np.array([0.3, 0.7])[:, None, None] * np.ones((2, 4, 3))
    u = np.linspace(-1.0, 1.0, 24).reshape(2, 4, 3)
    zero = np.linspace(0.1, 0.8, 12).reshape(1, 4, 3)
    found = DrawnHurdleMixture(weights, DrawnGammaMixture(weights, u, 2.0 + 0.0 * u), zero)
    each = gamma(2.0, scale=np.exp(u) / 2.0)
    part = weights * (1.0 - zero)
    assert_allclose(found.density(0.0), zero[0])
    assert_allclose(found.density(0.7), (part * each.pdf(0.7)).sum(axis=0))
    assert_allclose(found.above(0.7), (part * each.sf(0.7)).sum(axis=0))
    assert_allclose(found.above(0.0), 1.0 - zero[0])
    assert_allclose(found.above(-1.0), 1.0)
    assert_allclose(found.below(0.7), zero[0] + (part * each.cdf(0.7)).sum(axis=0))
    assert (found.below(0.0) == 0.0).all()
    assert_allclose(found.mean(), (part * np.exp(u)).sum(axis=0))
    second = (part * 1.5 * np.exp(2.0 * u)).sum(axis=0)
    assert_allclose(found.sd(), np.sqrt(second - found.mean() ** 2))
    median = found.quantile(0.5)
    assert ((median == 0.0) == (zero[0] >= 0.5)).all()
    above = median > 0.0
    up_to = zero[0] + (part * each.cdf(median)).sum(axis=0)
    assert_allclose(up_to[above], 0.5, atol=1e-8)
