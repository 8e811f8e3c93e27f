"""The product bound on the log normaliser, against its formula written out and against draws."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from bayesvb.gates.softmax_bouchard import product_bound


def cases(seed, *, n_experts=4, n_rows=300, largest=3.0):
    """Logits and variances over many orders of magnitude; ``largest`` is a power of ten."""
    rng = np.random.default_rng(seed)
    logit = rng.normal(size=(n_experts, n_rows)) * 10.0 ** rng.uniform(-1.0, 1.7, size=n_rows)
    exponent = rng.uniform(-6.0, largest, size=n_rows) + rng.uniform(-2.0, 0.0, logit.shape)
    return logit, 10.0**exponent


def bound_at(logit, variance, shift):
    """As it is printed, ``lambda`` terms and all, at the best ``xi`` of this shift."""
    distance = logit - shift
    xi = np.sqrt(distance**2 + variance)
    curve = np.tanh(0.5 * xi) / (4.0 * xi)
    terms = 0.5 * (distance - xi) + curve * (distance**2 + variance - xi**2)
    return shift + (terms + np.logaddexp(0.0, xi)).sum(axis=0)


every_size = pytest.mark.parametrize("n_experts", [2, 3, 5, 20])


@every_size
def test_no_shift_is_better(n_experts):
    logit, variance = cases(1, n_experts=n_experts)
    bound, _, _ = product_bound(logit, variance)
    for n in range(0, 300, 7):

        def at(shift, n=n):
            return bound_at(logit[:, n], variance[:, n], shift)

        best = minimize_scalar(at, bracket=(logit[:, n].min(), logit[:, n].max() + 1.0)).fun
        assert bound[n] == pytest.approx(best, rel=1e-10, abs=1e-10)
    rng = np.random.default_rng(2)
    for _ in range(20):
        other = bound_at(logit, variance, rng.normal(size=300) * 10.0 ** rng.uniform(-3.0, 2.0))
        assert (bound <= other + 1e-9 * (1.0 + np.abs(other))).all()


@every_size
def test_the_bound_is_above_the_mean_over_draws(n_experts):
    logit, variance = cases(3, n_experts=n_experts, n_rows=60, largest=1.0)
    bound, *_ = product_bound(logit, variance)
    half = np.random.default_rng(4).standard_normal((2000, n_experts, 1)) * np.sqrt(variance)
    values = logsumexp(np.stack([logit + half, logit - half]), axis=2).mean(axis=0)
    error = values.std(axis=0) / np.sqrt(len(values))
    assert (bound >= values.mean(axis=0) - 4.0 * error - 1e-10).all()


@every_size
def test_the_excess_over_equal_logits_is_the_known_one(n_experts):
    zeros = np.zeros((n_experts, 1))
    bound, share, _ = product_bound(zeros, zeros)
    k = n_experts
    excess = np.log(k - 1.0) + k * np.log(k / (k - 1.0)) - np.log(k)
    assert bound[0] - np.log(k) == pytest.approx(excess, abs=1e-9)
    assert_allclose(share, 1.0 / k, atol=1e-9)


def test_the_bound_is_exact_where_one_component_dominates():
    logit = np.array([[0.0], [60.0], [-5.0]])
    bound, share, _ = product_bound(logit, np.zeros_like(logit))
    assert bound[0] == pytest.approx(60.0, abs=1e-6)
    assert_allclose(share[:, 0], [0.0, 1.0, 0.0], atol=1e-6)


def test_one_expert_needs_no_bound():
    logit, variance = cases(5, n_experts=1)
    bound, share, omega = product_bound(logit, variance)
    assert_allclose(bound, logit[0])
    assert_allclose(share, 1.0)
    assert_allclose(omega, 0.0)


@every_size
def test_shares_and_weights_are_derivatives(n_experts):
    logit, variance = cases(6, n_experts=n_experts, n_rows=100, largest=0.5)
    variance = variance + 0.01
    _, share, omega = product_bound(logit, variance)
    for k in range(n_experts):
        step = 1e-5 * np.eye(n_experts)[:, k : k + 1]
        up, down = (product_bound(logit + sign * step, variance)[0] for sign in (1.0, -1.0))
        assert_allclose((up - down) / 2e-5, share[k], atol=2e-5)
        up, down = (product_bound(logit, variance + sign * step)[0] for sign in (1.0, -1.0))
        assert_allclose((up - down) / 2e-5, 0.5 * omega[k], atol=2e-5)


@pytest.mark.parametrize("largest", [0.5, 3.0, 6.0])
def test_what_a_row_contributes_does_not_depend_on_the_others(largest):
    logit, variance = cases(7, n_rows=64, largest=largest)
    together = product_bound(logit, variance)
    for start, stop in ((0, 1), (1, 18), (18, 64)):
        part = slice(start, stop)
        alone = product_bound(logit[:, part].copy(), variance[:, part].copy())
        for mine, theirs in zip(alone, together, strict=True):
            assert_allclose(mine, theirs[..., part], rtol=1e-9, atol=1e-9)
