"""Regressions with common coefficients: exact given the noise, densities, derivatives, limits."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import gamma, multivariate_normal

from bayesvb.factors.bounded_scale import BoundedScale
from bayesvb.factors.coupled_normal_gamma import CommonColumns, CommonEffectPrior
from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma
from bayesvb.linear.precisions import DensePrecision
from bayesvb.numerics.linalg import pack, quadratic_weights

PLACES = np.array([1, 2, 3])


@dataclass(frozen=True)
class Problem:
    """A prior, and sums of rows of three components."""

    prior: CommonEffectPrior
    sums: tuple

    @property
    def posterior(self):
        return posterior(self.prior, self.sums)


def posterior(prior, sums):
    """Posterior of these sums, of which those of products are matrices."""
    weight, xx, xy, yy = sums
    return prior.posterior(weight, pack(xx), xy, yy)


@pytest.fixture
def problem(rng) -> Problem:
    """Three components of four columns, the last of which is not wide."""
    x = rng.normal(size=(3, 40, 4))
    x[..., 0] = 1.0
    noise = rng.normal(size=(3, 40)) * np.array([0.5, 1.0, 0.7])[:, None]
    y = x @ np.array([0.3, 1.0, -0.5, 0.2]) + noise
    xx, xy = np.swapaxes(x, 1, 2) @ x, (np.swapaxes(x, 1, 2) @ y[..., None])[..., 0][:, None]
    regression = MatrixNormalGamma.prior(np.zeros((1, 4)), 0.01 * np.eye(4), 0.5, np.array([0.01]))
    wide = np.array([True, True, False])
    columns = CommonColumns(PLACES, wide, BoundedScale.half_normal(1.0, lowest=0.2))
    precision = np.array([0.01, 5.0, 20.0, 100.0, 2.0, 2.0, 0.5])
    prior = CommonEffectPrior.of(regression, columns, precision)
    return Problem(prior, (np.full(3, 40.0), xx, xy, (y**2).sum(axis=1)[:, None]))


def joint_normal(problem, tau):
    """Mean and covariance of common and all other coefficients given the noise precisions."""
    prior, (_, xx, xy, _) = problem.prior, problem.sums
    precision, linear = np.zeros((15, 15)), np.zeros(15)
    precision[:3, :3] = np.diag(prior.common)
    for k in range(3):
        own = slice(3 + 4 * k, 7 + 4 * k)
        precision[own, own] += tau[k] * (xx[k] + np.diag(prior.terms))
        linear[own] = tau[k] * xy[k, 0]
        for i, j in enumerate(PLACES):
            pull = tau[k] * prior.terms[j]
            precision[i, i] += pull
            precision[i, 3 + 4 * k + j] -= pull
            precision[3 + 4 * k + j, i] -= pull
    covariance = np.linalg.inv(precision)
    return covariance @ linear, covariance


def test_given_the_noise_coefficients_are_those_of_the_joint_normal(problem):
    found = problem.posterior
    tau = found.expected_precision[:, 0]
    mean, covariance = joint_normal(problem, tau)
    assert_allclose(found.common, mean[:3], rtol=1e-10)
    assert_allclose(found.mean[:, 0], mean[3:].reshape(3, 4), rtol=1e-10)
    assert_allclose(found.common_covariance, covariance[:3, :3], rtol=1e-9)
    for k in range(3):
        own = slice(3 + 4 * k, 7 + 4 * k)
        assert_allclose(found.covariance[k] / tau[k], covariance[own, own], rtol=1e-9)


def test_draws_have_the_moments_of_the_joint_normal(problem, rng):
    known = problem.posterior
    fixed = replace(known, shape=known.shape * 1e8, rate=known.rate * 1e8)  # the noise is known
    drawn, _ = fixed.draws(40_000, rng)
    mean, covariance = joint_normal(problem, known.expected_precision[:, 0])
    flat = drawn.reshape(len(drawn), -1)
    error = np.sqrt(np.diag(covariance)[3:] / len(flat))
    assert (np.abs(flat.mean(axis=0) - mean[3:]) < 5.0 * error).all()
    assert_allclose(np.cov(flat.T), covariance[3:, 3:], atol=6e-4)


def test_as_differences_vanish_components_have_one_line(problem):
    terms = np.array([0.01, 1e8, 1e8, 1e8])
    found = posterior(replace(problem.prior, terms=terms), problem.sums)
    assert_allclose(found.mean[:, 0, 1:] - found.common, 0.0, atol=1e-6)
    # Weighted least squares of all rows, with an intercept for each component.
    tau, (_, xx, xy, _) = found.expected_precision[:, 0], problem.sums
    precision, linear = np.diag(problem.prior.common), np.zeros(3)
    for k in range(3):
        rest = xx[k][1:, 1:] - np.outer(xx[k][1:, 0], xx[k][0, 1:]) / (xx[k][0, 0] + 0.01)
        precision = precision + tau[k] * rest
        shift = xx[k][1:, 0] * xy[k, 0, 0] / (xx[k][0, 0] + 0.01)
        linear = linear + tau[k] * (xy[k, 0, 1:] - shift)
    assert_allclose(found.common, np.linalg.solve(precision, linear), rtol=1e-6)


def test_log_densities_are_those_of_normal_and_gamma_distributions(problem, rng):
    known, prior = problem.posterior, problem.prior
    coefficients, precision = known.draws(3, rng)
    slope = known.slope.reshape(12, 3)
    found = known.log_density(coefficients, precision)[:, 0, 0]
    before = prior.log_density(coefficients, precision)[:, 0, 0]
    for s in range(3):
        covariance = slope @ known.common_covariance @ slope.T
        for k in range(3):
            own = slice(4 * k, 4 * k + 4)
            covariance[own, own] += known.conditional[k] / precision[s, k, 0]
        normal = multivariate_normal.logpdf(coefficients[s].ravel(), known.mean.ravel(), covariance)
        noise = gamma.logpdf(precision[s, :, 0], known.shape, scale=1.0 / known.rate[:, 0]).sum()
        assert found[s] == pytest.approx(normal + noise, rel=1e-9)
        assert before[s] == pytest.approx(
            prior_density(prior, coefficients[s, :, 0], precision[s, :, 0]), rel=1e-9
        )
    twice = np.array([2, 0, 1, 0])
    again = known.log_density(coefficients[twice], precision[twice])[:, 0, 0]
    assert_allclose(again, found[twice], rtol=1e-12)


def prior_density(prior, beta, tau):
    """By matrices, summed over the grid of the scale of wide columns."""
    spread = {j: np.diag(1.0 / (tau * prior.terms[j])) for j in range(4)}
    zero = np.zeros(3)
    total = gamma.logpdf(tau, 0.5, scale=100.0).sum()
    total += multivariate_normal.logpdf(beta[:, 0], zero, spread[0])
    total += multivariate_normal.logpdf(beta[:, 3], zero, spread[3] + 1.0 / prior.common[2])
    grid = prior.columns.spread
    each = [
        sum(multivariate_normal.logpdf(beta[:, j], zero, spread[j] + 1.0 / ell) for j in (1, 2))
        for ell in grid.precision
    ]
    return total + np.logaddexp.reduce(np.array(each) + grid.log_weight)


def expectations(law):
    """Expected sufficient statistics and squares, in one row."""
    tau, mean = law.expected_precision[:, 0], law.mean[:, 0]
    second = tau[:, None, None] * mean[:, :, None] * mean[:, None] + law.covariance
    parts = (
        0.5 * law.expected_log_precision[:, 0],
        -0.5 * quadratic_weights(second),
        tau[:, None] * mean,
        -0.5 * tau,
        law.summed_squares(),
    )
    return np.concatenate([np.ravel(part) for part in parts])


def test_changes_of_expectations_are_differences(problem, rng):
    n = 4
    xx = rng.normal(size=(n, 3, 4, 4))
    change = (
        rng.normal(size=(n, 3)),
        xx + np.swapaxes(xx, -1, -2),
        rng.normal(size=(n, 3, 1, 4)),
        rng.normal(size=(n, 3, 1)),
        0.01 * rng.normal(size=(n, 7)),
    )
    directions = change[0], DensePrecision(change[1]), *change[2:]
    moments, squares = problem.posterior.expectations_along(*directions)
    for i in range(n):
        ends = []
        for step in (1e-5, -1e-5):
            sums = (s + step * c[i] for s, c in zip(problem.sums, change[:4], strict=True))
            precision = np.concatenate([problem.prior.terms, problem.prior.common])
            prior = CommonEffectPrior.of(
                problem.prior.regression, problem.prior.columns, precision + step * change[4][i]
            )
            ends.append(expectations(posterior(prior, sums)))
        found = np.concatenate([*(part[i].ravel() for part in moments), squares[i]])
        assert_allclose(found, (ends[0] - ends[1]) / 2e-5, rtol=1e-6, atol=1e-7)


def test_sums_of_no_data_are_refused(problem):
    weight, xx, xy, yy = problem.sums
    with pytest.raises(np.linalg.LinAlgError):
        posterior(problem.prior, (weight, xx, xy, -yy))


def test_common_coefficients_are_averages_weighted_by_precision(problem, rng):
    coefficients, precision = problem.posterior.draws(5, rng)
    terms, common = (np.tile(one, (5, 1)) for one in (problem.prior.terms, problem.prior.common))
    found = problem.prior.common_given(coefficients, precision, terms, common)
    weight = precision * problem.prior.terms[PLACES]
    linear, total = (weight * coefficients[:, :, 0, 1:]).sum(axis=1), weight.sum(axis=1)
    assert_allclose(found[:, 2], linear[:, 2] / (total[:, 2] + problem.prior.common[2]))
    # Those of wide columns are shrunk by a scale between the ends of its grid.
    ends = np.sort([linear / (total + ell) / (linear / total) for ell in (0.0, 25.0)], axis=0)
    share = found / (linear / total)
    assert ((share >= ends[0]) & (share <= ends[1]))[:, :2].all()
