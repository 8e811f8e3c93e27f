"""Transformations of a response against quadrature, and their moments against closed forms."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

from bayesvb.distributions.drawn_student_mixture import DrawnStudentMixture
from bayesvb.distributions.normal_mixture import NormalMixture
from bayesvb.distributions.transformations import TRANSFORMATIONS, written_function
from bayesvb.errors import DataError

EVERY = pytest.mark.parametrize("name", TRANSFORMATIONS)


@EVERY
def test_undo_is_the_inverse_and_the_slope_its_derivative(name):
    one, y = TRANSFORMATIONS[name], np.linspace(-3.0, 3.0, 13)
    z = one.apply(y)
    assert (np.diff(z) > 0.0).all()
    assert_allclose(one.undo(z), y, atol=1e-12)
    slope = (one.apply(y + 1e-6) - one.apply(y - 1e-6)) / 2e-6
    assert_allclose(np.exp(one.log_slope(y)), slope, rtol=1e-8)


@EVERY
def test_values_out_of_range_are_told_and_missing_ones_are_kept(name):
    one = TRANSFORMATIONS[name]
    beyond = np.array([-1.5, np.nan])
    assert one.inside(beyond).tolist() == [False, True]
    assert one.undo(beyond)[0] == -np.inf and np.isnan(one.undo(beyond)[1])


@EVERY
def test_moments_of_a_mixture_of_normals_are_its_integrals(name):
    one = TRANSFORMATIONS[name]
    weights, location, scale = (
        np.array([[0.3], [0.7]]),
        np.array([[-0.5], [0.4]]),
        np.array([[0.2], [0.6]]),
    )
    mean, sd = one.moments(NormalMixture(weights, location, scale))

    def expected(power):
        def at(y):
            density = sum(
                w * stats.norm.pdf(y, m, s)
                for w, m, s in zip(weights[:, 0], location[:, 0], scale[:, 0], strict=True)
            )
            return density * float(one.apply(np.array(y))) ** power

        return integrate.quad(at, -8.0, 12.0, points=[-0.5, 0.4, 2.0], epsabs=1e-13, limit=500)[0]

    assert_allclose(mean, expected(1), rtol=1e-8)
    assert_allclose(sd, np.sqrt(expected(2) - expected(1) ** 2), rtol=1e-8)


def test_narrow_components_and_far_ones_lose_no_digits():
    tiny = NormalMixture(np.ones((1, 1)), np.zeros((1, 1)), np.full((1, 1), 1e-7))
    assert_allclose(TRANSFORMATIONS["exp"].moments(tiny)[1], 1e-7, rtol=1e-6)
    far = NormalMixture(np.array([[1.0], [0.0]]), np.array([[1.0], [900.0]]), np.ones((2, 1)))
    mean, sd = TRANSFORMATIONS["exp"].moments(far)  # what has no weight does not count
    assert_allclose(
        [mean[0], sd[0]],
        stats.lognorm(1.0, scale=np.e).stats("m").item() * np.array([1.0, np.sqrt(np.expm1(1.0))]),
    )


def test_student_tails_have_moments_of_log_odds_only():
    one = np.ones((1, 1))
    tails = DrawnStudentMixture(one, 0.3 * one, 0.8 * one, 3.0 * one)
    with pytest.raises(DataError, match="infinite"):
        TRANSFORMATIONS["exp"].moments(tails)
    law = stats.t(3.0, 0.3, 0.8)
    exact = integrate.quad(
        lambda y: law.pdf(y) / (1.0 + np.exp(-y)), -300.0, 300.0, points=[0.3], limit=500
    )[0]
    assert_allclose(TRANSFORMATIONS["expit"].moments(tails)[0], exact, atol=2e-7)


def test_functions_are_read_as_formulas_write_them():
    assert written_function("log(`my wage`)") == ("exp", "my wage")
    assert written_function("np.log1p(a + b)") == ("expm1", "a + b")
    assert written_function("log(a) * log(b)") == (None, "log(a) * log(b)")
    assert written_function("sqrt(y)") == (None, "sqrt(y)")
