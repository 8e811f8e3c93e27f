from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.special import expit, logsumexp, polygamma, softmax
from scipy.stats import norm

from bayesvb.numerics.special import (
    SMALLEST_XI,
    digamma_excess,
    expected_expit,
    expected_softmax,
    jaakkola,
    log_sum_exp,
    log_total,
    normal_points,
    softplus,
)

VARIANCES = (0.0, 1e-12, 0.3, 4.0, 25.0, 1e3, 1e6)


@pytest.mark.parametrize("scale", [0.0, 1.0, 1e3, 1e8])
def test_log_sum_exp_normalises_at_any_scale(rng, scale):
    terms = scale * rng.normal(size=(5, 40))
    kept = terms.copy()
    norm_, shares = log_sum_exp(terms)
    assert_allclose(norm_, logsumexp(terms, axis=0), rtol=1e-14)
    assert_allclose(shares, softmax(terms, axis=0), rtol=1e-12, atol=1e-300)
    assert_array_equal(terms, kept)


def test_log_sum_exp_takes_a_component_that_is_impossible():
    norm_, shares = log_sum_exp(np.array([[0.5], [-np.inf]]))
    assert_array_equal(norm_, [0.5])
    assert_array_equal(shares, [[1.0], [0.0]])


# The quadratic bound


def test_jaakkola_agrees_with_the_formulas(rng):
    xi = 10.0 ** rng.uniform(-4.0, 2.8, size=(3, 200))
    log_cosh, omega = jaakkola(xi)
    assert_allclose(log_cosh, np.log(2.0 * np.cosh(0.5 * xi)), rtol=1e-14)
    assert_allclose(omega, np.tanh(0.5 * xi) / (2.0 * xi), rtol=1e-10)


def test_jaakkola_has_its_limits_at_zero_and_at_infinity():
    log_cosh, omega = jaakkola(np.array([[0.0, 1e-300, 1e-7, SMALLEST_XI, 1e4, 1e200]]))
    assert_allclose(log_cosh[0, :4], np.log(2.0), atol=2e-11)
    assert_allclose(omega[0, :4], 0.25, atol=1e-10)
    assert_allclose(log_cosh[0, 4:], [5e3, 5e199], rtol=1e-15)
    assert_allclose(omega[0, 4:], [5e-5, 5e-201], rtol=1e-15)


def test_the_quadratic_bound_holds_everywhere_and_touches_at_xi(rng):
    xi = 10.0 ** rng.uniform(-3.0, 2.0, size=(1, 50))
    log_cosh, omega = jaakkola(xi)

    def bound(u):
        return 0.5 * u + log_cosh + 0.5 * omega * (u**2 - xi**2)

    u = np.linspace(-150.0, 150.0, 601)[:, None]
    exact = np.logaddexp(0.0, u)
    assert (bound(u) >= exact - 1e-12 * (1.0 + exact)).all()
    for touching in (xi, -xi):
        assert_allclose(bound(touching), np.logaddexp(0.0, touching), rtol=1e-12, atol=1e-11)


# Expectations over normal logits


def logistic_normal_integral(mean, variance):
    """The logistic distribution function at a logistic variate: ``P(noise <= u)``, by quadrature.

    Integrating over the logistic noise keeps the integrand smooth for any variance.
    """
    spread = np.sqrt(variance)

    def integrand(noise):
        below = float(noise <= mean) if spread == 0.0 else norm.sf((noise - mean) / spread)
        return below * expit(noise) * expit(-noise)

    edges = [float(np.clip(mean + c * spread, -45.0, 45.0)) for c in (-9.0, -1.0, 0.0, 1.0, 9.0)]
    pieces = sorted({-45.0, 0.0, 45.0, *edges})
    return sum(
        quad(integrand, a, b, epsabs=1e-13, epsrel=1e-12, limit=200)[0] for a, b in pairwise(pieces)
    )


@pytest.mark.parametrize("variance", VARIANCES)
def test_expected_expit_is_the_integral_for_any_variance(variance):
    mean = np.array([-12.0, -3.1, -0.4, 0.0, 1.7, 8.0])
    found = expected_expit(mean, np.full(6, variance))
    assert_allclose(found, [logistic_normal_integral(m, variance) for m in mean], atol=3e-9)


def test_expected_expit_of_the_other_class_is_the_rest(rng):
    mean, variance = 5.0 * rng.normal(size=(3, 50)), 10.0 ** rng.uniform(-6.0, 4.0, size=(3, 50))
    assert_allclose(expected_expit(mean, variance) + expected_expit(-mean, variance), 1.0)


def test_expected_softmax_without_variance_is_the_softmax(rng):
    for n_experts in (1, 2, 3, 6):
        logit = 3.0 * rng.normal(size=(n_experts, 30))
        found = expected_softmax(logit, np.zeros_like(logit))
        assert_allclose(found, softmax(logit, axis=0), atol=3e-9)


@pytest.mark.parametrize(
    ("n_experts", "largest", "error"),
    [(2, 4.0, 1e-8), (3, 4.0, 3e-3), (5, 4.0, 3e-3), (5, 16.0, 7e-3)],
)
def test_expected_softmax_is_the_mean_over_draws(rng, n_experts, largest, error):
    logit = 2.0 * rng.normal(size=(n_experts, 12))
    variance = rng.uniform(0.0, largest, size=logit.shape)
    n_draws = 100_000
    half = rng.standard_normal((n_draws // 2, n_experts, 1))
    drawn = np.concatenate([half, -half]) * np.sqrt(variance) + logit
    weights = softmax(drawn, axis=1)
    found = expected_softmax(logit, variance)
    noise = 4.0 * weights.std(axis=0) / np.sqrt(n_draws)
    assert (np.abs(found - weights.mean(axis=0)) < error + noise).all()
    assert_allclose(found.sum(axis=0), 1.0, rtol=1e-12)


def test_normal_points_are_standard_normal_and_always_the_same():
    points = normal_points(3)
    assert_array_equal(points, normal_points.__wrapped__(3))
    assert_allclose(points.mean(axis=0), 0.0, atol=0.01)
    assert_allclose(np.cov(points.T), np.eye(3), atol=0.06)


@pytest.mark.parametrize("a", [0.3, 2.0, 50.0, 1e5, 9e5, 1.1e6, 1e8])
def test_the_digamma_excess_has_the_slope_of_its_terms(a):
    """``d/da (a digamma(a) - log Gamma(a) - a) = a trigamma(a) - 1``, with the series too."""
    step = 1e-3 * a
    slope = (digamma_excess(a + step) - digamma_excess(a - step)) / (2.0 * step)
    assert slope == pytest.approx(a * polygamma(1, a) - 1.0, rel=1e-4, abs=1e-9 / step)


def test_the_digamma_excess_stays_finite_and_joins_its_series():
    assert float(digamma_excess(1e300)) == pytest.approx(
        0.5 * (np.log(1e300) - np.log(2 * np.pi) - 1)
    )
    below, above = digamma_excess(np.array([0.999999e6, 1.000001e6]))
    assert above - below == pytest.approx(1e-6, rel=0.01)


def test_logits_that_hardly_vary_have_the_weights_of_their_means(rng):
    mean = rng.normal(size=(4, 6))
    expected = np.exp(mean) / np.exp(mean).sum(axis=0)
    for variance, digits in ((0.0, 1e-14), (9e-9, 1e-8), (1.1e-8, 1e-7)):
        found = expected_softmax(mean, np.full_like(mean, variance))
        assert_allclose(found, expected, atol=digits)


@pytest.mark.parametrize("axis", [0, 1])
def test_log_totals_are_those_of_scipy(rng, axis):
    terms = 30.0 * rng.normal(size=(4, 5, 6))
    terms[:, :, 0] = -np.inf
    terms[1, 2, 1] = np.inf
    assert_allclose(log_total(terms, axis=axis), logsumexp(terms, axis=axis), rtol=1e-13)


def test_softplus_is_log_one_plus_exp(rng):
    logits = np.concatenate([30.0 * rng.normal(size=40), [-np.inf, np.inf, 0.0, 800.0, -800.0]])
    assert_allclose(softplus(logits), np.logaddexp(0.0, logits), rtol=1e-13, atol=1e-15)
