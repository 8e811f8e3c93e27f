"""Transformations of a response against quadrature, and their moments against closed forms."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

from bayesvb.distributions.drawn_student_mixture import DrawnStudentMixture
from bayesvb.distributions.normal_mixture import NormalMixture
from bayesvb.distributions.transformations import (
    TRANSFORMATIONS,
    Exponential,
    inverse_of,
    written_function,
)
from bayesvb.errors import DataError

KNOWN = {**TRANSFORMATIONS, "composed": Exponential(rate=0.7, shift=-0.4, factor=0.5)}
EVERY = pytest.mark.parametrize("name", KNOWN)


@EVERY
def test_undo_is_the_inverse_and_the_slope_its_derivative(name):
    one, y = KNOWN[name], np.linspace(-3.0, 3.0, 13)
    z = one.apply(y)
    assert (np.diff(z) > 0.0).all()
    assert_allclose(one.undo(z), y, atol=1e-12)
    slope = (one.apply(y + 1e-6) - one.apply(y - 1e-6)) / 2e-6
    assert_allclose(np.exp(one.log_slope(y)), slope, rtol=1e-8)


@EVERY
def test_values_out_of_range_are_told_and_missing_ones_are_kept(name):
    one = KNOWN[name]
    beyond = np.array([-1.5, np.nan])
    assert one.inside(beyond).tolist() == [False, True]
    assert one.undo(beyond)[0] == -np.inf and np.isnan(one.undo(beyond)[1])


@EVERY
def test_moments_of_a_mixture_of_normals_are_its_integrals(name):
    one = KNOWN[name]
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


@pytest.mark.parametrize(
    ("response", "function", "column"),
    [
        ("log(z + 1)", lambda z: np.log(z + 1.0), "z"),
        ("np.log10(0.5 + z / 10)", lambda z: np.log10(0.5 + z / 10.0), "z"),
        ("log1p(3 * z)", lambda z: np.log1p(3.0 * z), "z"),
        ("log2(2 * (`my z` + 4) - 1)", lambda z: np.log2(2.0 * (z + 4.0) - 1.0), "my z"),
        ("log(z)", np.log, "z"),
    ],
)
def test_logarithms_of_linear_functions_are_undone_as_a_whole(response, function, column):
    z = np.geomspace(1e-3, 1e3, 7)
    found, name = inverse_of(response)
    assert name == column
    assert_allclose(found.apply(function(z)), z, rtol=1e-10)
    assert_allclose(found.undo(z), function(z), rtol=1e-12)


@pytest.mark.parametrize("inside", ["a / b", "z + z0", "1 - z", "z**2", "f(z)", "z + k[0]"])
def test_an_expression_that_is_not_an_increasing_line_is_returned_as_it_is(inside):
    assert inverse_of(f"log({inside})") == (TRANSFORMATIONS["exp"], inside)


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
