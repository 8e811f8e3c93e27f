"""Half-t standard deviations: density, grid and draws are of one distribution."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import logsumexp
from scipy.stats import kstest, t

from bayesvb.factors.half_t import HalfTScale

SCALE = HalfTScale(2.0)


def density(log_precision):
    """Of the log of the precision."""
    precision = np.exp(log_precision)
    return float(np.exp(SCALE.log_density(np.array([precision]))[0])) * precision


def test_the_density_of_the_precision_is_that_of_a_half_t_standard_deviation():
    below = quad(density, 0.0, 60.0)[0]  # standard deviations up to one
    assert below == pytest.approx(2.0 * t.cdf(0.5, 3) - 1.0, rel=1e-6)
    assert quad(density, -60.0, 60.0, limit=200)[0] == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize(("n", "squares"), [(4, 3.0), (12, 0.2), (300, 80.0)])
def test_moments_on_the_grid_are_those_of_numerical_integration(n, squares):
    log_precision = np.log(n / squares) + np.linspace(-12.0, 12.0, 20_001)
    precision, step = np.exp(log_precision), 24.0 / 20_000
    each = SCALE.log_density(precision) + log_precision
    each += 0.5 * (n * log_precision - squares * precision) + np.log(step)
    log_evidence = logsumexp(each)
    weight = np.exp(each - log_evidence)
    expected, spread = weight @ precision, weight @ precision**2 - (weight @ precision) ** 2
    mean, variance, divergence = SCALE.grid.moments(np.array(squares), float(n))
    assert mean == pytest.approx(expected, rel=1e-4)
    assert variance == pytest.approx(spread, rel=1e-3)
    own = 0.5 * (n * np.log(mean) - squares * mean) - log_evidence
    assert divergence == pytest.approx(own, abs=1e-3)  # 0.0007 of the prior is off the grid


def test_draws_have_the_distribution():
    sd = SCALE.draws(4000, np.random.default_rng(0)) ** -0.5
    assert kstest(sd / 2.0, lambda s: 2.0 * t.cdf(s, 3) - 1.0).pvalue > 0.01
