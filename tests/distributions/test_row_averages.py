"""Averages over rows are mixtures of the rows' distributions with equal weights."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate

from bayesvb.distributions.row_averages import RowAverages
from bayesvb.distributions.student_mixture import StudentMixture

N, AVERAGES = 3, 4
Q = np.array([0.05, 0.5, 0.95])


@pytest.fixture
def rows():
    rng = np.random.default_rng(3)
    shape = (2, N * AVERAGES)
    weights = rng.dirichlet(np.ones(2), shape[1]).T.copy()
    return StudentMixture(
        weights, rng.normal(size=shape), rng.gamma(3.0, size=shape), np.array([4.0, 9.0])
    )


@pytest.fixture
def averages(rows):
    return RowAverages(rows, N)


def test_densities_are_averages_and_their_integrals_the_distribution_function(rows, averages):
    points = np.linspace(-4.0, 4.0, 5)
    given = rows.density_at(points)
    for j in range(AVERAGES):
        own = slice(N * j, N * (j + 1))
        assert_allclose(averages.density_at(points)[:, j], given[:, own].mean(axis=1))
    total, _ = integrate.quad(lambda y: averages.density_at(np.array([y]))[0, 1], -np.inf, 1.0)
    assert_allclose(averages.cdf_at(np.array([1.0]))[0, 1], total, rtol=1e-6)
    y = np.arange(AVERAGES) - 1.5
    assert_allclose(averages.cdf(y), np.diag(averages.cdf_at(y)))
    assert_allclose(np.exp(averages.log_density(y)), np.diag(averages.density_at(y)))


def test_quantiles_invert_the_distribution_function(averages):
    found = averages.quantile(Q)
    for p, values in zip(Q, found, strict=True):
        assert_allclose(averages.cdf(values), p, atol=1e-8)


def test_moments_and_draws_agree(averages):
    drawn = averages.draws(40_000, np.random.default_rng(1))
    assert_allclose(drawn.mean(axis=0), averages.mean(), atol=4.0 * averages.sd().max() / 200.0)
    assert_allclose(drawn.std(axis=0), averages.sd(), rtol=0.1)
    assert_allclose(averages.weights.sum(axis=0), 1.0)


def test_an_average_of_one_row_is_the_row(rows):
    alone = RowAverages(rows, 1)
    assert_allclose(alone.mean(), rows.mean())
    assert_allclose(alone.sd(), rows.sd())
    assert_allclose(alone.quantile(Q), rows.quantile(Q))


def test_rows_count_by_their_shares_as_by_being_there_as_often(rows):
    """Shares of 1/4, 1/4, 2/4 are those of four rows, the third of them there twice."""
    shares = np.array([0.25, 0.25, 0.5])
    often = np.concatenate([N * j + np.array([0, 1, 2, 2]) for j in range(AVERAGES)])
    each = StudentMixture(
        rows.weights[:, often], rows.location[:, often], rows.scale[:, often], rows.dof
    )
    found, expected = RowAverages(rows, N, shares), RowAverages(each, 4)
    y = np.arange(AVERAGES) - 1.5
    for verb in ("mean", "sd"):
        assert_allclose(getattr(found, verb)(), getattr(expected, verb)())
    for verb in ("cdf", "log_density"):
        assert_allclose(getattr(found, verb)(y), getattr(expected, verb)(y))
    assert_allclose(found.density_at(y), expected.density_at(y))
    assert_allclose(found.quantile(Q), expected.quantile(Q), atol=1e-7)
    assert_allclose(found.weights, expected.weights)
    drawn = found.draws(40_000, np.random.default_rng(1))
    assert_allclose(drawn.mean(axis=0), found.mean(), atol=4.0 * found.sd().max() / 200.0)
