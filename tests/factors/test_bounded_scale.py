"""A standard deviation that coefficients share, on a grid: moments, divergence, draws."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import halfnorm, norm

from bayesvb.factors.bounded_scale import BoundedScale


def weight(s, squares, count, lowest):
    """Density of ``s`` given coefficients, up to a constant."""
    return halfnorm(scale=0.5).pdf(s) * s**-count * np.exp(-0.5 * squares / s**2) * (s >= lowest)


@pytest.mark.parametrize(("squares", "count"), [(0.0, 3.0), (0.4, 1.0), (3.0, 20.0)])
def test_moments_are_those_of_integrals(squares, count):
    scale = BoundedScale.half_normal(0.5, lowest=0.1)
    mean, variance, _ = scale.moments(np.array(squares), count)

    def integral(power):
        def values(s):
            return weight(s, squares, count, 0.1) * s**-power

        return quad(values, 0.1, 4.0, limit=200)[0]

    total, first, second = (integral(power) for power in (0, 2, 4))
    # Equal steps of log s: the grid weighs its first point, at the cut, as a whole step.
    assert mean == pytest.approx(first / total, rel=0.03)
    assert variance == pytest.approx(second / total - (first / total) ** 2, rel=0.06)


def test_the_divergence_is_that_of_the_weights_on_the_grid():
    scale = BoundedScale.half_normal(1.0, lowest=0.2)
    squares, count = np.array([0.3, 5.0]), 4.0
    mean, _, found = scale.moments(squares, count)
    for k in range(2):
        log_weight = scale.log_weight + 0.5 * (
            count * np.log(scale.precision) - squares[k] * scale.precision
        )
        weights = np.exp(log_weight - np.logaddexp.reduce(log_weight))
        divergence = weights @ (np.log(weights) - scale.log_weight)
        lacking = 0.5 * count * (np.log(mean[k]) - weights @ np.log(scale.precision))
        assert found[k] == pytest.approx(divergence + lacking, rel=1e-10)


def test_no_value_is_below_the_bound_and_draws_are_half_normal_above_it(rng):
    scale = BoundedScale.half_normal(1.0, lowest=0.2)
    drawn = scale.draws(4000, rng) ** -0.5
    assert drawn.min() >= 0.2 * (1 - 1e-12)
    expected = 2.0 * norm.sf(1.0) / (2.0 * norm.sf(0.2))
    assert (drawn > 1.0).mean() == pytest.approx(expected, abs=0.04)


def test_a_bound_above_the_scale_of_the_prior_is_that_scale():
    assert BoundedScale.half_normal(1.0, lowest=5.0).precision.max() == pytest.approx(1.0)
