"""What the paper on Bayesian PCA misprints in its predictive density and its terms of the bound.

Agarwal, Bishop (2003), Improved Variational Approximation for Bayesian PCA. Each test holds with
the right formula and fails with the printed one.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import digamma
from scipy.stats import multivariate_normal

from bayesvb.data.blocks import Block
from bayesvb.factors.loadings import Loadings
from bayesvb.models.pca.scores import LatentPosterior

LOG_2PI = np.log(2.0 * np.pi)


def law(seed):
    """Posterior of loadings, centre and noise of three variables, the centre not by itself."""
    rng = np.random.default_rng(seed)
    q = int(rng.integers(1, 3))
    root = rng.normal(size=(1, q + 1, q + 3))
    precision = root @ np.swapaxes(root, 1, 2)
    return Loadings.from_precision(
        rng.normal(size=(3, q + 1)), precision, *rng.uniform(2.0, 9.0, 2)
    )


@dataclass(frozen=True)
class Paper:
    """``q(mu | W, tau) = N(W s + m, 1 / (beta tau))``, ``q(w | tau) = N(M, 1 / (tau L))``."""

    s: np.ndarray
    m: np.ndarray
    beta: float
    M: np.ndarray
    L: np.ndarray
    a: float
    b: float

    @classmethod
    def of(cls, q):
        (v,) = q.precision
        beta, cross = v[-1, -1], v[:-1, -1]
        s, loadings = -cross / beta, q.mean[:, :-1]
        inner = v[:-1, :-1] - np.outer(cross, cross) / beta
        return cls(s, q.mean[:, -1] - loadings @ s, beta, loadings.T, inner, q.shape, q.rate)


def test_the_printed_signs_of_the_predictive_disagree_with_simulation(rng):
    """Eqs 58, 59 and 107 to 118: ``x - s`` and ``-m`` where ``x + s`` and ``m`` belong."""
    q, n = replace(law(29), shape=8.0, rate=4.0), 400_000
    g = Paper.of(q)
    x = rng.normal(size=len(g.s)) + 1.0
    drawn, tau = q.draws(n, rng)
    mean = drawn @ np.append(x, 1.0)
    t = mean + rng.standard_normal(mean.shape) / np.sqrt(tau)[:, None]
    error = t.std(axis=0) / n**0.5
    inverse = np.linalg.inv(g.L)

    def variance(u):
        return g.b / (g.a - 1.0) * (1.0 + 1.0 / g.beta + u @ inverse @ u)

    assert (np.abs(t.mean(axis=0) - (g.M.T @ (x + g.s) + g.m)) < 4.0 * error).all()
    printed = g.M.T @ x - (g.M.T @ g.s + g.m)
    assert (np.abs(t.mean(axis=0) - printed) > 20.0 * error).any()
    square = (t - t.mean(axis=0)) ** 2
    error = square.std(axis=0) / n**0.5
    assert (np.abs(square.mean(axis=0) - variance(x + g.s)) < 4.0 * error).all()
    assert (np.abs(square.mean(axis=0) - variance(x - g.s)) > 20.0 * error).all()
    block = Block({"variables": np.zeros((3, 1))}, np.empty((0, 1)))
    known = replace(
        LatentPosterior.of(q, block), mean=x[:, None], covariance=np.zeros((1, len(x), len(x)))
    )
    assert_allclose(known.fitted(q)[:, 0], g.M.T @ (x + g.s) + g.m, rtol=1e-10)
    assert_allclose(known.variance(q)[:, 0], variance(x + g.s), rtol=1e-10)


def test_the_printed_logs_of_means_of_the_centre_cancel_in_the_bound_but_are_wrong(rng):
    """Eqs 38 and 43 have ``log(beta E tau)`` where ``log beta + E log tau`` belongs."""
    q, beta0, n = replace(law(33), shape=2.0, rate=1.5), 0.7, 200_000
    g = Paper.of(q)
    drawn, tau = q.draws(n, rng)
    w, mu = drawn[:, :, :-1], drawn[:, :, -1]
    square = 3.0 / g.beta + 3.0 * g.s @ np.linalg.inv(g.L) @ g.s
    square += g.a / g.b * ((g.M.T @ g.s + g.m) ** 2).sum()
    means, log_mean = digamma(g.a) - np.log(g.b), np.log(g.a / g.b)
    cases = (  # precision of the centre, where it is, and the expected square
        (beta0, np.zeros_like(mu), beta0 * square),
        (g.beta, w @ g.s + g.m, 3.0),
    )
    printed, right = [], []
    for beta, at, pull in cases:
        density = 1.5 * (np.log(beta * tau) - LOG_2PI)
        density -= 0.5 * beta * tau * ((mu - at) ** 2).sum(axis=1)
        right.append(1.5 * (np.log(beta) + means - LOG_2PI) - 0.5 * pull)
        printed.append(1.5 * (np.log(beta) + log_mean - LOG_2PI) - 0.5 * pull)
        error = density.std() / n**0.5
        assert abs(density.mean() - right[-1]) < 4.0 * error
        assert abs(density.mean() - printed[-1]) > 20.0 * error
    assert right[0] - right[1] == pytest.approx(printed[0] - printed[1], rel=1e-12)


def eq_110(g, t, x, tau, *, sign=1.0, shared=True):
    """Log of eq. 110 for one row; as printed with ``sign=-1`` and ``shared=False``.

    The integral over ``W`` has ``tau / 2`` before the whole exponent, not ``beta tau / 2``.
    """
    dims, u, apart = len(t), x + sign * g.s, t - sign * g.m
    narrow = g.beta / (g.beta + 1.0)
    both = g.L + narrow * np.outer(u, u)
    pull = g.L @ g.M + narrow * np.outer(u, apart)
    common = tau if shared else narrow * tau
    value = 0.5 * dims * (np.log(narrow * tau) - LOG_2PI) - 0.5 * narrow * tau * apart @ apart
    value += 0.5 * dims * (np.linalg.slogdet(g.L)[1] - np.linalg.slogdet(both)[1])
    value += 0.5 * dims * len(u) * np.log(tau / common)
    value -= 0.5 * tau * (g.M * (g.L @ g.M)).sum()
    return value + 0.5 * common * (pull * np.linalg.solve(both, pull)).sum()


def test_the_integral_over_the_loadings_is_the_density_of_a_row_and_not_as_printed(rng):
    """Eqs 110 to 113: the common factor ``tau / 2``, and the signs of ``s`` and ``m``."""
    for seed in range(20):
        q, tau = law(seed), float(rng.uniform(0.5, 2.0))
        g, t = Paper.of(q), rng.normal(size=len(q.mean))
        x = rng.normal(size=len(g.s))
        z = np.append(x, 1.0)
        variance = (1.0 + z @ q.covariance[0] @ z) / tau
        expected = multivariate_normal(q.mean @ z, variance * np.eye(len(t))).logpdf(t)
        assert eq_110(g, t, x, tau) == pytest.approx(expected, rel=1e-9, abs=1e-9)
        assert abs(eq_110(g, t, x, tau, sign=-1.0) - expected) > 1e-4
        assert abs(eq_110(g, t, x, tau, shared=False) - expected) > 1e-4
