"""Extrapolation between sweeps: how far it goes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayesvb.engines.cavi import squared_extrapolation


@pytest.mark.parametrize(
    ("factor", "length"),
    [
        (0.9, 10.0),  # slow: as far as the fixed point, 1 / (1 - factor)
        (0.999, 64.0),  # slower than the longest step allows
        (0.5, 2.0),
        (-0.5, 1.0),  # beyond and back: 2 / 3, which would fall short of the second sweep
    ],
)
def test_a_step_is_between_two_sweeps_and_the_longest(factor, length):
    start = np.array([2.0, -1.0, 0.5])
    once, twice = factor * start, factor**2 * start
    ahead, found = squared_extrapolation(start, once, twice, longest=64.0)
    assert found == pytest.approx(length)
    # (1 - l (1 - f))^2 times the start, which is the fixed point for l = 1 / (1 - f)
    assert_allclose(ahead, (1.0 - length * (1.0 - factor)) ** 2 * start, atol=1e-12)


def test_a_map_that_only_shifts_is_followed_as_far_as_allowed():
    start = np.zeros(2)
    ahead, length = squared_extrapolation(start, start + 1.0, start + 2.0, longest=16.0)
    assert length == 16.0
    assert_allclose(ahead, 32.0)
