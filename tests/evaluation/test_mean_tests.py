"""Tests of means of skewed numbers: level, symmetry, case weights, monotone."""

import numpy as np
import pytest
from scipy.stats import norm

from bayesvb.evaluation.mean_tests import mean_below


def below(values: np.ndarray, limit: float) -> float:
    """The usual normal test."""
    error = values.std(ddof=1) / np.sqrt(len(values))
    return float(norm.cdf((values.mean() - limit) / error))


def test_that_of_numbers_without_skewness_it_is_the_usual_test() -> None:
    """Only the transformation of skewness is different."""
    rng = np.random.default_rng(1)
    half = rng.normal(size=100)
    values = np.concatenate([half, -half]) - 0.1
    assert mean_below(values, 0.0) == pytest.approx(below(values, 0.0), rel=1e-12)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.quick(sign=(1.0,))
def test_that_the_level_is_kept_where_numbers_are_skewed(sign: float) -> None:
    """Of exponential numbers, skewed either way, the usual test is wrong by more."""
    rng = np.random.default_rng(2)
    samples = sign * (rng.exponential(size=(4000, 60)) - 1.0)
    ours = np.array([mean_below(one, 0.0) for one in samples])
    usual = np.array([below(one, 0.0) for one in samples])
    error = 3.0 * np.sqrt(0.03 * 0.97 / 4000)
    assert abs((ours < 0.03).mean() - 0.03) < 0.01 + error
    assert abs((ours < 0.03).mean() - 0.03) < abs((usual < 0.03).mean() - 0.03)


def test_that_it_grows_with_the_limit_and_falls_with_the_values() -> None:
    """The transformation is monotone."""
    values = np.random.default_rng(3).exponential(size=30)
    limits = np.linspace(-1.0, 4.0, 60)
    p = [mean_below(values, limit) for limit in limits]
    assert (np.diff(p) <= 0.0).all()
    assert p[0] > 0.99
    assert p[-1] < 0.01


def test_that_a_row_of_weight_two_is_two_rows() -> None:
    """Case weights are numbers of rows."""
    values, weights = np.array([1.0, -2.0, 0.5, -0.2]), np.array([2.0, 1.0, 3.0, 1.0])
    repeated = np.repeat(values, weights.astype(int))
    assert mean_below(values, 0.1, weights) == pytest.approx(mean_below(repeated, 0.1), rel=1e-12)


@pytest.mark.parametrize("values", [np.array([-3.0]), np.full(5, -3.0)])
def test_that_nothing_is_beyond_doubt_without_spread(values: np.ndarray) -> None:
    """The error is not known then."""
    assert mean_below(values, 0.0) == 1.0
