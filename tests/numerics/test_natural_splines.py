"""Natural splines: the smoothing spline of scipy, curvature as a sum of squares, lines outside."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.interpolate import CubicSpline, make_smoothing_spline

from bayesvb.numerics import natural_splines
from bayesvb.numerics.natural_splines import natural_spline, spread_knots


@pytest.fixture(scope="module")
def x():
    return np.sort(np.random.default_rng(0).uniform(3.0, 9.0, 40))


def columns(spline, x):
    return np.column_stack([np.ones(len(x)), spline.unpenalised(x)[:, 0], spline.wiggles(x)])


@pytest.mark.parametrize("penalty", [1e-3, 0.1, 10.0])
def test_with_a_knot_at_every_value_it_is_the_smoothing_spline(penalty, x):
    y = np.sin(x) + 0.3 * np.random.default_rng(1).normal(size=len(x))
    spline = natural_spline(x, spread_knots(x, len(x)))
    design = columns(spline, x)
    weight = penalty * spline.bend / (x[-1] - x[0]) ** 3
    ridge = np.diag([0.0, 0.0] + [weight] * (len(x) - 2))
    found = design @ np.linalg.solve(design.T @ design + ridge, design.T @ y)
    assert_allclose(found, make_smoothing_spline(x, y, lam=penalty)(x), atol=1e-8)


@pytest.mark.parametrize("size", [3, 5, 12])
def test_squares_of_coefficients_are_the_integral_of_the_squared_second_derivative(size, x):
    spline = natural_spline(x, spread_knots(x, size))
    fine = np.linspace(x[0], x[-1], 40001)
    step = fine[1] - fine[0]
    bends = np.diff(spline.wiggles(fine), 2, axis=0) / step**2
    found = step * bends.T @ bends * (x[-1] - x[0]) ** 3
    assert_allclose(found, spline.bend * np.eye(size - 2), atol=2e-3 * spline.bend)


def test_wiggles_have_no_mean_and_no_slope_and_sum_to_one(x):
    wiggles = natural_spline(x, spread_knots(x, 8)).wiggles(x)
    assert_allclose(wiggles.mean(axis=0), 0.0, atol=1e-12)
    assert_allclose(x @ wiggles, 0.0, atol=1e-10)
    squares = (wiggles**2).mean(axis=0)
    assert_allclose(squares.sum(), 1.0)
    assert squares.argmax() == 0


def test_beyond_the_knots_it_is_a_line(x):
    spline = natural_spline(x, spread_knots(x, 8))
    for end in (x[0], x[-1]):
        outward = end + np.sign(end - x.mean()) * np.arange(5.0)
        assert_allclose(np.diff(spline.wiggles(outward), 2, axis=0), 0.0, atol=1e-12)
    just = np.array([x[-1] - 1e-6, x[-1], x[-1] + 1e-6])
    slopes = np.diff(spline.wiggles(just), axis=0)
    assert_allclose(slopes[0], slopes[1], rtol=1e-5)


@pytest.mark.parametrize(("shift", "unit"), [(0.0, 1e-8), (1e4, 1.0), (-3.0, 1e12)])
def test_it_does_not_depend_on_the_unit_of_x(shift, unit, x):
    one = natural_spline(x, spread_knots(x, 8)).wiggles(x)
    moved = shift + unit * x
    other = natural_spline(moved, spread_knots(moved, 8)).wiggles(moved)
    assert_allclose(one, other, atol=1e-8)


def test_knots_are_quantiles_with_the_ends():
    assert spread_knots(np.arange(11.0), 3).tolist() == [0.0, 5.0, 10.0]


@pytest.mark.parametrize("size", [3, 4, 25])
def test_values_and_curvatures_are_those_of_scipy(size):
    knots = np.sort(np.random.default_rng(size).uniform(size=size))
    cubic = CubicSpline(knots, np.eye(size), bc_type="natural")
    inside = np.linspace(knots[0], knots[-1], 201)
    assert_allclose(natural_splines._cardinal(inside, knots), cubic(inside), atol=1e-12)
    assert_allclose(natural_splines._curvatures(knots), cubic(knots, 2), rtol=1e-10, atol=1e-8)
