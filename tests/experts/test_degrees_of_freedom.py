"""Degrees of freedom from sums, and the functions of them, beside scipy's distributions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.optimize import minimize_scalar
from scipy.special import digamma, polygamma

from bayesvb.experts import degrees_of_freedom
from bayesvb.experts.degrees_of_freedom import (
    DOF_RANGE,
    PRIOR_RATE,
    PRIOR_SHAPE,
    gamma_shape,
    learned_dof,
    log_dof_sd,
    log_partition,
    log_peak,
    log_prior,
)

DOF = np.array([0.1, 1.0, 4.5, 300.0])


def test_functions_are_those_of_the_distributions():
    assert_allclose(log_peak(DOF), stats.t(DOF).logpdf(0.0), rtol=1e-12)
    row = stats.gamma(0.5 * DOF, scale=2.0 / DOF)
    assert_allclose(log_partition(DOF) - 0.5 * DOF, row.logpdf(1.0), rtol=1e-9)
    prior = stats.gamma(PRIOR_SHAPE, scale=1.0 / PRIOR_RATE)
    assert float(log_prior(DOF)) == pytest.approx(prior.logpdf(DOF).sum(), rel=1e-12)


@pytest.mark.parametrize("dof", [0.5, 4.0, 60.0])
def test_known_precisions_give_the_degrees_of_freedom_of_largest_posterior(rng, dof):
    u = rng.gamma(0.5 * dof, 2.0 / dof, 500)

    def loss(log_dof):
        law = stats.gamma(0.5 * np.exp(log_dof), scale=2.0 / np.exp(log_dof))
        return -law.logpdf(u).sum() - float(log_prior(np.exp([log_dof])))

    expected = np.exp(minimize_scalar(loss, bounds=(-3.0, 9.0), options={"xatol": 1e-10}).x)
    assert learned_dof(500.0, float((np.log(u) - u).sum())) == pytest.approx(expected, rel=1e-5)
    step, at = 1e-3, np.log(expected)
    curvature = (loss(at + step) - 2.0 * loss(at) + loss(at - step)) / step**2
    assert log_dof_sd(500.0, expected) == pytest.approx(curvature**-0.5, rel=1e-4)


def test_without_rows_they_are_the_mode_of_the_prior():
    assert learned_dof(0.0, 0.0) == pytest.approx((PRIOR_SHAPE - 1.0) / PRIOR_RATE)


def test_they_stay_in_their_range():
    assert learned_dof(1e9, -1e12) == DOF_RANGE[0]
    assert learned_dof(1e12, -1e12) == DOF_RANGE[1]


@pytest.mark.parametrize(("total", "tail"), [(-1.0, -2.0), (3.0, np.nan), (3.0, -np.inf)])
def test_sums_of_no_rows_are_refused(total, tail):
    with pytest.raises(np.linalg.LinAlgError):
        learned_dof(total, tail)


def test_a_gamma_shape_is_that_of_its_log_variance():
    variance = 10.0 ** np.linspace(-6.0, 6.0, 25)
    assert_allclose(polygamma(1, gamma_shape(variance)), variance, rtol=1e-10)


@pytest.mark.parametrize("dof", [1.0, 3.0, 10.0])
def test_newton_steps_are_few(dof, monkeypatch):
    """A step that is a tenth too short takes twice as many."""
    calls, slope = [], degrees_of_freedom._slope

    def counted(*given):
        calls.append(given)
        return slope(*given)

    monkeypatch.setattr(degrees_of_freedom, "_slope", counted)
    total = np.array([50.0])
    learned_dof(total, total * (digamma(0.5 * dof) - np.log(0.5 * dof) - 1.0))
    assert len(calls) <= 10
