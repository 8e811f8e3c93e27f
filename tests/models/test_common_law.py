"""Coefficients around common ones: densities of proposals, their gradients and completions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import gammaln, logsumexp

from bayesvb.factors.gamma import Gamma
from bayesvb.models.common_law import CommonLaw
from bayesvb.models.integrated_scales import IntegratedScales

SHAPE, RATE, N_COMPONENTS = 0.5, 0.05, 3


def law_of(wide, sds=(0.5, 1.0, 2.0)):
    """An intercept and three columns in two blocks, all with a common part."""
    wide, sd = np.array(wide), np.array(sds)
    member = np.array([[0.0, 1.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    of_terms = Gamma(np.full(2, SHAPE), np.full(2, RATE))
    counts = (N_COMPONENTS - 1.0) * member.sum(axis=1)
    fixed = np.diag([0.01, 0.0, 0.0, 0.0])
    differences = IntegratedScales(fixed, member, counts, of_terms, N_COMPONENTS)
    common = (~wide)[None].astype(float)[: int((~wide).any())]
    own = Gamma(np.full(len(common), SHAPE), np.full(len(common), RATE))
    penalised = IntegratedScales(np.zeros((3, 3)), common, common.sum(axis=1), own, 1)
    log_weight = np.log(np.full(len(sd), 1.0 / len(sd)))
    return CommonLaw(differences, np.array([1, 2, 3]), wide, sd**2, log_weight, penalised)


def coefficients(n=6, seed=0):
    rng = np.random.default_rng(seed)
    u = rng.standard_normal((n, N_COMPONENTS, 1, 4))
    return u, 0.5 * rng.standard_normal((n, N_COMPONENTS, 1))


@pytest.mark.parametrize("wide", [(True, True, True), (False, True, True), (False,) * 3])
def test_gradients_are_those_of_differences(wide):
    law = law_of(wide)
    u, t = coefficients()
    _, by_u, by_t = law.log_prior(u, t)
    for at in np.ndindex(*u.shape[1:]):
        step = np.zeros_like(u)
        step[(slice(None), *at)] = 1e-5
        change = law.log_prior(u + step, t)[0] - law.log_prior(u - step, t)[0]
        assert_allclose(change / 2e-5, by_u[(slice(None), *at)], atol=1e-5, rtol=1e-5)
    for at in np.ndindex(*t.shape[1:]):
        step = np.zeros_like(t)
        step[(slice(None), *at)] = 1e-5
        change = law.log_prior(u, t + step)[0] - law.log_prior(u, t - step)[0]
        assert_allclose(change / 2e-5, by_t[(slice(None), *at)], atol=1e-5, rtol=1e-5)


def log_exact(law, u, t):
    """Common coefficients integrated in closed form, precisions on a grid, block by block."""
    beta, tau = u[:, 0] * np.exp(-0.5 * t), np.exp(t)[:, 0]
    logs = np.linspace(-14.0, 14.0, 1401)
    total = []
    for variance, log_weight in zip(law.variance, law.log_weight, strict=True):
        value = log_weight
        for block in law.differences.membership:
            each = SHAPE * logs - RATE * np.exp(logs)
            for column in np.flatnonzero(block):
                precision = np.exp(logs)[:, None] * tau
                covariance = (1.0 / precision)[:, :, None] * np.eye(len(tau)) + variance
                root = np.linalg.cholesky(covariance)
                standard = np.linalg.solve(root, beta[:, column][None, :, None])[..., 0]
                each = each - 0.5 * (standard**2).sum(axis=1)
                each = each - np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
            value = value + logsumexp(each)
        total.append(value)
    # In units of the noise, and with the intercept's prior, whose precision is fixed.
    return logsumexp(total) - 1.5 * t.sum() - 0.005 * (u[:, 0, 0] ** 2).sum()


def test_proposals_have_the_density_of_integration_where_common_coefficients_are_wide():
    """Up to a constant; the only term left out is small beside the common variance."""
    law = law_of((True, True, True), sds=(20.0, 40.0))
    u, t = coefficients(8)
    value = law.log_prior(u, t)[0]
    exact = np.array([log_exact(law, one, own) for one, own in zip(u, t, strict=True)])
    assert_allclose(value - exact, (value - exact)[0], atol=0.02)


def test_proposals_are_near_the_exact_density_where_common_coefficients_are_not_wide():
    law = law_of((True, True, True))
    u, t = coefficients(40)
    value = law.log_prior(u, t)[0]
    exact = np.array([log_exact(law, one, own) for one, own in zip(u, t, strict=True)])
    assert np.std(value - exact) < 0.2


def test_precisions_are_drawn_from_their_gamma_distributions():
    law = law_of((False, True, True))
    u, t = coefficients(1)
    many = np.repeat(u, 20_000, axis=0), np.repeat(t, 20_000, axis=0)
    (own, common), log_density = law.draw(*many, np.random.default_rng(1))
    tau, beta = np.exp(t[0, :, 0]), u[0, :, 0] * np.exp(-0.5 * t[0])
    centre = tau @ beta / tau.sum()
    squares = tau @ (beta - centre) ** 2
    shape = np.array([SHAPE + 2.0, SHAPE + 1.0])
    rate = RATE + 0.5 * np.array([squares[1] + squares[2], squares[3]])
    assert_allclose(own.mean(axis=0), shape / rate, rtol=0.03)
    of_common = SHAPE + 0.5, RATE + 0.5 * centre[1] ** 2
    assert_allclose(common.mean(), of_common[0] / of_common[1], rtol=0.05)
    both = [
        (shape[0], rate[0], own[:, 0]),
        (shape[1], rate[1], own[:, 1]),
        (*of_common, common[:, 0]),
    ]
    expected = sum(a * np.log(b) - gammaln(a) + (a - 1.0) * np.log(x) - b * x for a, b, x in both)
    assert_allclose(log_density, expected)
