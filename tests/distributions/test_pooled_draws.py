"""Averages over draws of mixtures, against the mixtures of each draw."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from bayesvb.distributions.drawn_student_mixture import DrawnStudentMixture
from bayesvb.distributions.normal_mixture import NormalMixture
from bayesvb.distributions.pooled_draws import PooledDraws
from bayesvb.errors import DataError

EXPERTS, DRAWS, ROWS = 2, 5, 3
POINTS = np.array([-1.0, 0.2, 2.5])


def parts(seed=1):
    rng = np.random.default_rng(seed)
    shape = (EXPERTS, DRAWS, ROWS)
    weights = np.moveaxis(rng.dirichlet(np.ones(EXPERTS), (DRAWS, ROWS)), -1, 0)
    return weights, rng.normal(size=shape), rng.uniform(0.2, 1.5, shape)


@pytest.fixture(params=["normal", "student"])
def drawn(request):
    if request.param == "normal":
        return NormalMixture(*parts())
    return DrawnStudentMixture(*parts(), np.full((EXPERTS, DRAWS, ROWS), 5.0))


@pytest.fixture
def pooled(drawn):
    return PooledDraws.of(drawn)


def test_what_is_linear_in_the_distribution_is_the_average_over_draws(drawn, pooled):
    assert_allclose(pooled.mean(), drawn.mean().mean(axis=0))
    for point in POINTS:
        at = np.full(ROWS, point)
        assert_allclose(pooled.cdf(at), drawn.below(point).mean(axis=0))
        assert_allclose(np.exp(pooled.log_density(at)), drawn.density(point).mean(axis=0))
    assert_allclose(pooled.cdf_at(POINTS)[1], pooled.cdf(np.full(ROWS, POINTS[1])))
    assert_allclose(pooled.density_at(POINTS)[2], drawn.density(POINTS[2]).mean(axis=0))


def test_the_variance_has_that_between_the_draws(drawn, pooled):
    total = (drawn.sd() ** 2).mean(axis=0) + drawn.mean().var(axis=0)
    assert_allclose(pooled.sd() ** 2, total)


def test_quantiles_invert_the_distribution_function(pooled):
    q = np.array([0.0, 0.03, 0.5, 0.97, 1.0])
    found = pooled.quantile(q)
    assert np.isneginf(found[0]).all() and np.isposinf(found[-1]).all()
    for p, values in zip(q[1:-1], found[1:-1], strict=True):
        assert_allclose(pooled.cdf(values), p, atol=1e-7)
    with pytest.raises(DataError, match=r"q = 1\.2 is not a probability"):
        pooled.quantile(np.array([1.2]))


def test_draws_have_the_distribution(pooled):
    drawn = pooled.draws(4000, np.random.default_rng(3))
    for row in range(ROWS):
        one = drawn[:, row]
        below = np.array([pooled.cdf(np.full(ROWS, x))[row] for x in one[:400]])
        assert stats.kstest(below, "uniform").pvalue > 1e-3


def test_a_change_of_units_moves_everything(pooled):
    moved = pooled.affine(3.0, -2.0)
    assert_allclose(moved.mean(), 3.0 - 2.0 * pooled.mean())
    assert_allclose(moved.sd(), 2.0 * pooled.sd())
    assert_allclose(moved.cdf(3.0 - 2.0 * POINTS), 1.0 - pooled.cdf(POINTS))


def test_rows_are_joined_and_mixtures_are_stacked(drawn, pooled):
    twice = pooled.joined([pooled])
    assert_allclose(twice.mean(), np.tile(pooled.mean(), 2))
    other = pooled.affine(1.0, 1.0)
    both = pooled.stacked([other], np.array([0.25, 0.75]))
    assert_allclose(both.mean(), pooled.mean() + 0.75)
    assert_allclose(both.weights.sum(axis=0), 1.0)


def test_weights_by_label_are_averages_over_draws(drawn, pooled):
    assert_allclose(pooled.by_label(EXPERTS).weights, drawn.weights.mean(axis=1))


def test_far_out_the_log_density_is_finite(pooled):
    assert np.isfinite(pooled.log_density(np.full(ROWS, 1e3))).all()


def test_other_forms_are_refused(unchecked):
    with pytest.raises(DataError, match="cannot be averaged over draws of a object"):
        PooledDraws.of(object())
