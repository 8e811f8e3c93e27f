"""Roots of many functions at once: secants in a bracket, against bisection."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import ndtr

from bayesvb.numerics.root_finding import crossings


def bisected(function, low, high, halvings=60):
    for _ in range(halvings):
        middle = 0.5 * (low + high)
        below = function(middle) < 0.0
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return 0.5 * (low + high)


@pytest.mark.parametrize("scale", [1e-4, 1e-2, 1.0, 5.0])
@pytest.mark.parametrize("prob", [0.025, 0.37, 0.9])
def test_crossings_are_those_of_bisection_in_fewer_steps(rng, scale, prob):
    centre, asked = 3.0 * rng.normal(size=(39, 50)), []

    def function(y):
        asked.append(1)
        return ndtr((y - centre) / scale).mean(axis=0) - prob

    low, high = centre.min(axis=0) - 9.0 * scale, centre.max(axis=0) + 9.0 * scale
    found = crossings(function, low, high, 1e-9)
    assert len(asked) < (20 if scale >= 1.0 else 60)
    expected = bisected(function, low, high)
    assert_allclose((found - expected) / (high - low), 0.0, atol=3e-9)


def test_a_root_at_an_end_is_found_and_a_bracket_may_be_a_point():
    x = np.array([1.0, 2.0])
    for low, high in ((x, x + 1.0), (x - 1.0, x), (x, x)):
        assert_allclose(crossings(lambda y: y - x, low, high, 1e-9), x, atol=2e-9)


def test_a_step_is_where_it_is():
    found = crossings(lambda y: np.where(y < 1.3, -1.0, 1.0), np.zeros(1), np.full(1, 9.0), 1e-9)
    assert found[0] == pytest.approx(1.3, abs=2e-8)
