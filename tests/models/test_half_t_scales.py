"""The posterior over scales of terms, against quadrature and sums of densities."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp
from scipy.stats import gamma, kstest, multivariate_normal, t

from bayesvb.factors.gamma import Gamma
from bayesvb.linear.designs import DenseDesign
from bayesvb.models.arrow_regression import RegressionSums
from bayesvb.models.half_t_scales import (
    HalfTScales,
    ScaledRegression,
    ScaleProposal,
    log_half_t,
    low_discrepancy,
)

SHAPE, RATE = 0.5, 0.005


def problem(n_groups=6, slopes=False, seed=0, correlated=False):
    """A regression with a covariate and groups, perhaps with slopes, and its rows."""
    rng = np.random.default_rng(seed)
    g, x = np.repeat(np.arange(n_groups), 6), rng.normal(size=6 * n_groups)
    y = 0.5 * x + rng.normal(size=n_groups)[g] + rng.normal(size=len(g))
    one = np.eye(n_groups)[g]
    design = np.hstack([np.stack([np.ones(len(g)), x], axis=1), one])
    membership = [np.r_[np.zeros(2), np.ones(n_groups)]]
    if slopes or correlated:
        design = np.hstack([design, one * x[:, None]])
        membership = [np.r_[membership[0], np.zeros(n_groups)],
                      np.r_[np.zeros(2 + n_groups), np.ones(n_groups)]]  # fmt: skip
    membership = np.array(membership)
    blocks = [np.flatnonzero(own) for own in membership]
    moments = design.T @ design, design.T @ y, float(len(y)), y @ y
    sums = RegressionSums.from_columns(*moments, blocks)
    fixed = np.where(membership.any(axis=0), 0.0, 0.01)
    unit = np.full(len(membership), y.std())
    joint = ((0, 1),) if correlated else ()
    return ScaledRegression(sums, membership, fixed, unit, SHAPE, RATE, joint), design, y


def prior_covariance(model, sd, correlation=0.0):
    """Covariance of the coefficients in units of noise, with these relative sds of the blocks."""
    found = np.diag(1.0 / (model.fixed + sd**-2.0 @ model.membership))
    if model.correlated:
        first, second = (np.flatnonzero(own) for own in model.membership)
        found[first, second] = found[second, first] = correlation * sd.prod()
    return found


def test_half_t_is_the_folded_student_t():
    sd = np.array([[0.1, 2.0], [5.0, 0.0]])
    expected = np.log(2.0) + t.logpdf(sd, 3, scale=np.array([1.0, 2.5]))
    assert_allclose(log_half_t(sd, np.array([1.0, 2.5])), expected, rtol=1e-12)


@pytest.mark.parametrize("correlated", [False, True])
@pytest.mark.parametrize("curves", [(), (1,)])
def test_the_joint_density_is_that_of_rows_and_priors(correlated, curves):
    """With the coefficients integrated out by the normal distribution of the rows."""
    model, x, y = problem(slopes=True, correlated=correlated)
    of_curves = Gamma(np.array([0.5])[: len(curves)], np.array([0.3])[: len(curves)])
    model = replace(model, curves=curves, curve_precision=of_curves)
    log_scale, z = np.array([-0.3, -1.0]), np.array([0.7] * correlated)
    t, log_noise = np.concatenate([log_scale, z])[None], np.array([[0.2]])
    known = model.given(t)
    found = model.log_joint(t, log_noise, known.residual, known.log_volume)
    tau, sd = np.exp(-2.0 * 0.2), np.exp(log_scale + 0.2)
    prior = prior_covariance(model, np.exp(log_scale), np.tanh(0.7))
    cov = (np.eye(len(y)) + x @ prior @ x.T) / tau
    expected = multivariate_normal(cov=cov).logpdf(y) + gamma.logpdf(tau, SHAPE, scale=1 / RATE)
    each = log_half_t(sd, model.unit) + np.log(sd)
    if curves:  # of log s, whose 1 / s^2 in units of the noise is gamma
        precision = np.exp(-2.0 * log_scale[1])
        each[1] = gamma.logpdf(precision, 0.5, scale=1 / 0.3) + np.log(2.0 * precision)
    expected += each.sum() + np.log(2.0 * tau)
    expected += np.log(0.5 * (1.0 - np.tanh(z) ** 2)).sum()  # of a uniform correlation
    assert_allclose(found[0, 0], expected, rtol=1e-10)
    weights = prior @ x.T @ np.linalg.inv(np.eye(len(y)) + x @ prior @ x.T)
    location, spread = known.lines(DenseDesign(np.eye(x.shape[1])))
    assert_allclose(location[0], weights @ y, atol=1e-10)  # generalised least squares
    assert_allclose(spread[0], np.diag(prior - weights @ x @ prior), rtol=1e-9)


def test_evidence_and_quantiles_are_those_of_quadrature():
    model, _, _ = problem()
    found = HalfTScales.of(model)
    grid = np.linspace(-7.0, 5.0, 4001)[:, None]
    log_p = model.log_marginal(grid)
    total = logsumexp(log_p) + np.log(grid[1, 0] - grid[0, 0])
    assert_allclose(found.log_evidence, total, atol=0.01)
    below = np.exp(log_p - logsumexp(log_p)).cumsum()
    order = np.argsort(found.t[:, 0])
    own = np.exp(found.log_weight[order]).cumsum()
    at = [0.05, 0.25, 0.5, 0.75, 0.95]
    expected = grid[np.searchsorted(below, at), 0]
    assert_allclose(found.t[order][np.searchsorted(own, at), 0], expected, atol=0.1)


@pytest.mark.parametrize("case", [{}, {"slopes": True}, {"correlated": True}])
def test_every_draw_has_the_same_ratio_to_the_joint_density(case):
    model, x, y = problem(**case)
    found = HalfTScales.of(model)
    n = len(model.unit)
    b, tau, numbers, log_q = found.draws(200, np.random.default_rng(1))
    scale, correlation = numbers[:, :n], numbers[:, n:]
    residual = y - b @ x.T
    log_p = 0.5 * len(y) * np.log(tau / (2.0 * np.pi)) - 0.5 * tau * (residual**2).sum(axis=1)
    for i in range(len(tau)):
        r = correlation[i, 0] if model.correlated else 0.0
        prior = prior_covariance(model, scale[i] ** -0.5, r) / tau[i]
        log_p[i] += multivariate_normal(cov=prior).logpdf(b[i])
    log_p += gamma.logpdf(tau, SHAPE, scale=1.0 / RATE)
    sd = 1.0 / np.sqrt(scale * tau[:, None])
    log_p += (log_half_t(sd, model.unit) + np.log(0.5 * sd / scale)).sum(axis=1)
    log_p += correlation.shape[1] * np.log(0.5)
    assert_allclose(log_p - log_q, found.log_evidence, atol=1e-8)


def test_predictions_are_the_average_over_draws():
    model, x, _ = problem()
    found = HalfTScales.of(model)
    law = found.predictive(DenseDesign(x[:4].T))
    b, tau, _, _ = found.draws(40_000, np.random.default_rng(2))
    line = b @ x[:4].T
    assert_allclose(law.mean(), line.mean(axis=0), atol=0.03)
    y = line + np.random.default_rng(3).normal(size=line.shape) / np.sqrt(tau)[:, None]
    low, high = law.quantile(np.array([0.05, 0.95]))
    assert_allclose((y < low).mean(axis=0), 0.05, atol=0.008)
    assert_allclose((y > high).mean(axis=0), 0.05, atol=0.008)


def log_evidence(model):
    """By quadrature over the logarithm of one scale."""
    grid = np.linspace(-7.0, 5.0, 1201)[:, None]
    return logsumexp(model.log_marginal(grid)) + np.log(grid[1, 0] - grid[0, 0])


@pytest.mark.parametrize("copies", [1.0, 0.4])
def test_rows_are_left_out_as_by_quadrature_without_them(copies):
    """A row of little weight is left out with its weight, and predicted as one row."""
    model, x, y = problem()
    y = y + np.where(np.arange(len(y)) == 7, 4.0, 0.0)  # one row far off

    def without(row, weight):
        w = np.where(np.arange(len(y)) == row, weight, 1.0)
        blocks = [np.flatnonzero(own) for own in model.membership]
        sums = RegressionSums.from_columns((x.T * w) @ x, (x.T * w) @ y, w.sum(), w @ y**2, blocks)
        return replace(model, sums=sums)

    rows = np.array([0, 7, 20])
    integrated = HalfTScales.of(without(0, 1.0))
    weight = np.full(len(rows), copies)
    found = integrated.predictions_without(DenseDesign(x[rows].T), y[rows], weight)
    for i, row in enumerate(rows):
        rest = without(row, 1.0 - copies)
        expected = log_evidence(without(row, 2.0 - copies)) - log_evidence(rest)
        assert found[0, i] == pytest.approx(expected, abs=0.02)
        law = HalfTScales.of(rest).predictive(DenseDesign(x[[row]].T))
        assert found[1, i] == pytest.approx(law.cdf(y[[row]])[0], abs=0.01)


def test_rows_that_stay_are_predicted_by_the_posterior():
    model, x, y = problem()
    integrated = HalfTScales.of(model)
    found = integrated.predictions_without(DenseDesign(x.T), y, np.zeros(len(y)))
    law = integrated.predictive(DenseDesign(x.T))
    assert_allclose(found[0], law.log_density(y), atol=2e-3)
    assert_allclose(found[1], law.cdf(y), atol=2e-3)


def test_few_groups_leave_their_sd_open_and_many_do_not():
    """The interval of the sd of groups: wide and around the truth, then narrow."""
    widths = []
    for n_groups in (6, 200):
        model, _, _ = problem(n_groups)
        _, tau, scale, _ = HalfTScales.of(model).draws(1000, np.random.default_rng(0))
        low, high = np.quantile(1.0 / np.sqrt(scale[:, 0] * tau), [0.05, 0.95])
        assert low < 1.0 < high
        widths.append(high - low)
    assert widths[1] < 0.3 < 0.8 < widths[0]


@pytest.mark.parametrize("n_axes", [1, 2, 5])
def test_points_fill_the_cube_evenly(n_axes):
    points = low_discrepancy(256, n_axes)
    for axis in points.T:
        assert kstest(axis, "uniform").statistic < 0.02
    between = np.corrcoef(points.T).reshape(n_axes, n_axes) - np.eye(n_axes)
    assert np.abs(between).max() < 0.1


def test_values_are_proposed_with_the_density_that_is_stated():
    axes, sides = np.array([[1.0, 0.0], [0.8, 0.5]]), np.array([[0.5, 2.0], [1.0, 1.0]])
    one = ScaleProposal(centre=np.array([1.0, -2.0]), axes=axes, sides=sides)
    values, normal = one.points(4000), multivariate_normal([1.5, -1.5], [[1.0, 0.7], [0.7, 1.0]])
    weight = np.exp(normal.logpdf(values) - one.log_density(values)) / len(values)
    assert_allclose(weight.sum(), 1.0, rtol=0.01)
    adapted = one.adapted(values, weight / weight.sum())
    assert_allclose(adapted.centre, normal.mean, atol=0.02)
    assert_allclose(adapted.axes @ adapted.axes.T, normal.cov, atol=0.03)
    assert one.adapted(values[:1], np.ones(1)) is one
