"""Weighted medians are medians of repeated rows."""

import numpy as np
import pytest

from bayesvb.numerics.medians import median


@pytest.mark.parametrize("rows", [1, 2, 7, 40])
def test_whole_weights_are_repeated_rows(rng, rows):
    for _ in range(50):
        values = np.round(rng.normal(size=rows), 1)  # ties among them
        weight = rng.integers(0, 4, rows).astype(float)
        weight[0] += 1.0
        expected = np.median(np.repeat(values, weight.astype(int)))
        assert median(values, weight) == pytest.approx(expected, rel=1e-15, abs=1e-15)


def test_ones_are_no_weights(rng):
    for rows in (5, 6):
        values = rng.normal(size=rows)
        assert median(values, np.ones(rows)) == pytest.approx(median(values), rel=1e-15)
        assert median(values) == np.median(values)


def test_the_sum_of_the_weights_does_not_matter(rng):
    """Though a tenth six times is not quite the half of twelve tenths."""
    values = rng.normal(size=12)
    expected = median(values)
    for size in (0.1, 1.0 / 3.0, 7e-5):
        assert median(values, np.full(12, size)) == pytest.approx(expected, rel=1e-14)


def test_half_of_the_weight_lies_on_either_side(rng):
    values, weight = rng.normal(size=31), rng.gamma(0.5, size=31)
    found = median(values, weight)
    assert weight[values < found].sum() <= 0.5 * weight.sum()
    assert weight[values > found].sum() <= 0.5 * weight.sum()
