"""Expected softplus and its derivatives: against quadrature, differences, and each other."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from bayesvb.numerics.logistic_normal import softplus_moments

MEAN = np.array([-6.0, -1.3, 0.0, 0.4, 2.5, 9.0])
VARIANCE = np.array([0.0, 0.004, 0.01, 0.019, 0.3, 1.0, 4.0, 25.0, 100.0])


@pytest.mark.parametrize("variance", [2e-4, 4e-3, 0.019])
def test_the_series_ends_where_its_terms_are_small(variance):
    """The whole grid has one variance, so that the number of terms is the one for it."""
    spread = np.full_like(MEAN, variance)
    found = softplus_moments(MEAN, spread, 4)
    z = np.linspace(-12.0, 12.0, 4001)
    weight = np.exp(-0.5 * z**2) / np.exp(-0.5 * z**2).sum()
    u = MEAN[:, None] + np.sqrt(variance) * z
    q = expit(u) * expit(-u)
    exact = [np.logaddexp(0.0, u), expit(u), q, q * (1.0 - 2.0 * expit(u)), q * (1.0 - 6.0 * q)]
    for order, (one, values) in enumerate(zip(found, exact, strict=True)):
        assert_allclose(one, values @ weight, atol=1e-9 if order < 3 else 3e-8)


def grids():
    return [grid.ravel() for grid in np.meshgrid(MEAN, VARIANCE)]


def test_moments_are_those_of_quadrature():
    """The trapezoidal rule, whose error is below rounding for these smooth functions."""
    mean, variance = grids()
    z = np.linspace(-12.0, 12.0, 4001)
    weight = np.exp(-0.5 * z**2) / np.exp(-0.5 * z**2).sum()
    u = mean[:, None] + np.sqrt(variance)[:, None] * z
    value, share, slope = softplus_moments(mean, variance)
    assert_allclose(value, np.logaddexp(0.0, u) @ weight, atol=2e-8)
    assert_allclose(share, expit(u) @ weight, atol=4e-9)
    assert_allclose(slope, (expit(u) * expit(-u)) @ weight, atol=2e-8)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_each_order_is_the_derivative_of_the_one_before(order):
    mean, variance = grids()
    step = 1e-4
    ends = [softplus_moments(mean + side * step, variance, order - 1)[-1] for side in (1, -1)]
    found = softplus_moments(mean, variance, order)[-1]
    assert_allclose(found, (ends[0] - ends[1]) / (2.0 * step), atol=2e-8)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_derivatives_in_the_variance_are_half_of_those_of_two_orders_higher(order):
    """Exactly, also where the variance is large: Bonnet and Price."""
    mean, variance = grids()
    variance, step = variance + 2e-4, 1e-4
    ends = [softplus_moments(mean, variance + side * step, order)[-1] for side in (1, -1)]
    found = 0.5 * softplus_moments(mean, variance, order + 2)[-1]
    assert_allclose(found, (ends[0] - ends[1]) / (2.0 * step), atol=2e-8)
