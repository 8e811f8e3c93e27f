"""Mixtures of Student t draw by draw, beside scipy's distribution."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from bayesvb.distributions.drawn_student_mixture import DrawnStudentMixture
from bayesvb.distributions.normal_mixture import NormalMixture

DOF = np.array([[0.2, 1.0, 2.0], [2.5, 7.0, 400.0]])
"""Draws by rows; tails heavier than Cauchy's, no variance, nearly normal."""


def one_component():
    location, scale = np.array([[[1.0, -2.0, 0.3]] * 2]), np.array([[[0.5, 3.0, 1.0]] * 2])
    y = DrawnStudentMixture(np.ones((1, 2, 3)), location, scale, DOF[None])
    return y, stats.t(DOF, location[0], scale[0])


def mixture(seed=1):
    rng = np.random.default_rng(seed)
    weights = np.moveaxis(rng.dirichlet(np.ones(3), (2, 4)), -1, 0)
    location, scale = rng.normal(size=(3, 2, 4)), np.exp(rng.normal(size=(3, 2, 4)))
    return DrawnStudentMixture(weights, location, scale, 2.1 + rng.gamma(1.0, 5.0, (3, 2, 4)))


@pytest.mark.parametrize("value", [-300.0, -0.7, 1.0, 2.5])
def test_one_component_is_scipys(value):
    y, law = one_component()
    assert_allclose(y.density(value), law.pdf(value), rtol=1e-10)
    assert_allclose(y.below(value), law.cdf(value), rtol=1e-9)
    assert_allclose(y.above(value), law.sf(value), rtol=1e-9)


@pytest.mark.parametrize("q", [1e-6, 0.05, 0.5, 0.9])
def test_quantiles_of_one_component_are_scipys(q):
    y, law = one_component()
    assert_allclose(y.quantile(q), law.ppf(q), rtol=1e-6, atol=1e-8)


def test_moments_of_one_component_are_scipys_where_there_are_any():
    y, law = one_component()
    assert_allclose(y.mean(), y.location[0])  # the centre where there is no mean
    assert_allclose(y.sd()[1], law.std()[1], rtol=1e-12)
    assert np.isinf(y.sd()[0]).all()


def test_a_mixture_is_the_weighted_sum_of_its_components():
    y = mixture()
    law = stats.t(y.dof, y.location, y.scale)
    assert_allclose(y.density(0.4), (y.weights * law.pdf(0.4)).sum(axis=0), rtol=1e-10)
    assert_allclose(y.above(0.4), (y.weights * law.sf(0.4)).sum(axis=0), rtol=1e-9)
    mean = (y.weights * law.mean()).sum(axis=0)
    second = (y.weights * (law.var() + law.mean() ** 2)).sum(axis=0)
    assert_allclose(y.mean(), mean, rtol=1e-12)
    assert_allclose(y.sd(), np.sqrt(second - mean**2), rtol=1e-10)


def test_many_degrees_of_freedom_are_a_normal():
    y = mixture()
    close = DrawnStudentMixture(y.weights, y.location, y.scale, np.full(y.dof.shape, 1e7))
    normal = NormalMixture(y.weights, y.location, y.scale)
    assert_allclose(close.quantile(0.07), normal.quantile(0.07), rtol=1e-5, atol=1e-6)
    assert_allclose(close.density(1.3), normal.density(1.3), rtol=1e-5)


def test_a_component_without_weight_does_not_matter():
    y, law = one_component()
    nothing = [np.concatenate([part, part]) for part in (y.location, y.scale, y.dof)]
    weights = np.concatenate([y.weights, 0.0 * y.weights])
    nothing[0][1] += 1e6
    nothing[2][1] = 0.5  # no variance
    both = DrawnStudentMixture(weights, *nothing)
    assert_allclose(both.quantile(0.25), y.quantile(0.25), rtol=1e-7, atol=1e-8)
    assert_allclose(both.sd()[1], law.std()[1], rtol=1e-12)
