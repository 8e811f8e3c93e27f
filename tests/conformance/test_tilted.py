"""The tilted bound on the log normaliser, against its formula written out and against draws."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp

from bayesvb.gates import tilted_bound as module
from bayesvb.gates.tilted_bound import tilted_bound


def cases(seed, *, n_experts=4, n_rows=400, largest=4.0, smallest=-8.0):
    """Logits and variances over many orders of magnitude; ``largest`` is a power of ten."""
    rng = np.random.default_rng(seed)
    logit = rng.normal(size=(n_experts, n_rows)) * 10.0 ** rng.uniform(-1.0, 1.7, size=n_rows)
    exponent = rng.uniform(smallest, largest, size=n_rows) + rng.uniform(-2.0, 0.0, logit.shape)
    return logit, 10.0**exponent


def bound_at(logit, variance, tilt):
    """The bound as it is printed, for any tilt."""
    quadratic = 0.5 * (tilt**2 * variance).sum(axis=0)
    return quadratic + logsumexp(logit + 0.5 * (1.0 - 2.0 * tilt) * variance, axis=0)


EXPERTS = (1, 2, 3, 5, 10)
every_size = pytest.mark.parametrize("n_experts", EXPERTS)


@every_size
def test_the_bound_is_that_of_its_tilt(n_experts):
    logit, variance = cases(1, n_experts=n_experts)
    bound, share, tilt = tilted_bound(logit, variance)
    assert_allclose(bound, bound_at(logit, variance, tilt), rtol=1e-12, atol=1e-12)
    terms = logit + (0.5 - tilt) * variance
    assert_allclose(share, np.exp(terms - logsumexp(terms, axis=0)), rtol=1e-7, atol=1e-12)


@every_size
@pytest.mark.parametrize("largest", [0.5, 4.0])
def test_the_tilt_is_the_share_at_the_minimum(n_experts, largest):
    logit, variance = cases(2, n_experts=n_experts, largest=largest)
    _, share, tilt = tilted_bound(logit, variance)
    assert_allclose(tilt, share, atol=2e-6)
    assert_allclose(tilt.sum(axis=0), 1.0, atol=1e-9)


@every_size
def test_the_tilt_settles_however_large_the_variances_are(n_experts):
    """Up to 1e6, where a step for the normaliser may lead to where every tilt underflows."""
    for seed in range(20):
        logit, variance = cases(seed, n_experts=n_experts, largest=6.0, smallest=0.0)
        bound, share, tilt = tilted_bound(logit, variance)
        assert np.isfinite(bound).all()
        assert_allclose(tilt, share, atol=2e-6)


@every_size
@pytest.mark.parametrize("size", [1e-3, 0.1, 1.0])
def test_no_other_tilt_is_better(n_experts, size):
    logit, variance = cases(3, n_experts=n_experts)
    bound, _, tilt = tilted_bound(logit, variance)
    rng = np.random.default_rng(4)
    for _ in range(20):
        other = bound_at(logit, variance, tilt + size * rng.normal(size=tilt.shape))
        assert (bound <= other + 1e-10 * (1.0 + np.abs(other))).all()


@every_size
def test_the_bound_is_tighter_than_log_concavity(n_experts):
    logit, variance = cases(5, n_experts=n_experts)
    bound, *_ = tilted_bound(logit, variance)
    assert (bound <= logsumexp(logit + 0.5 * variance, axis=0) * (1.0 + 1e-14) + 1e-12).all()


@every_size
def test_the_bound_is_above_the_log_normaliser_of_the_means(n_experts):
    """Jensen the other way: the log normaliser is convex."""
    logit, variance = cases(6, n_experts=n_experts)
    bound, *_ = tilted_bound(logit, variance)
    least = logsumexp(logit, axis=0)
    assert (bound >= least - 1e-12 * (1.0 + np.abs(least))).all()


@pytest.mark.parametrize("n_experts", [2, 3, 6])
@pytest.mark.parametrize("largest", [0.0, 1.0, 4.0])
@pytest.mark.quick(n_experts=(3, 6))
def test_the_bound_is_above_the_mean_over_draws(n_experts, largest):
    logit, variance = cases(7, n_experts=n_experts, n_rows=60, largest=largest, smallest=-2.0)
    bound, *_ = tilted_bound(logit, variance)
    half = np.random.default_rng(8).standard_normal((4000, n_experts, 1)) * np.sqrt(variance)
    values = logsumexp(np.stack([logit + half, logit - half]), axis=2).mean(axis=0)
    error = values.std(axis=0) / np.sqrt(len(values))
    assert (bound >= values.mean(axis=0) - 4.0 * error - 1e-11).all()


def test_one_expert_needs_no_bound():
    logit, variance = cases(9, n_experts=1)
    bound, share, tilt = tilted_bound(logit, variance)
    # Beside a variance of 1e4 a logit keeps what is left of its sixteen digits.
    assert_allclose(bound, logit[0], rtol=1e-14, atol=1e-11)
    assert_array_equal(share, 1.0)
    assert_array_equal(tilt, 1.0)


@every_size
def test_without_variance_the_bound_is_exact(n_experts):
    logit, _ = cases(10, n_experts=n_experts)
    bound, share, _ = tilted_bound(logit, np.zeros_like(logit))
    assert_allclose(bound, logsumexp(logit, axis=0), rtol=1e-14, atol=1e-14)
    assert_allclose(share, np.exp(logit - logsumexp(logit, axis=0)), rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("largest", [0.5, 3.0])
def test_the_shares_are_the_derivatives_in_the_logits(largest):
    logit, variance = cases(11, n_rows=100, largest=largest)
    _, share, _ = tilted_bound(logit, variance)
    for k in range(len(logit)):
        step = 1e-5 * np.eye(len(logit))[:, k : k + 1]
        slope = (
            tilted_bound(logit + step, variance)[0] - tilted_bound(logit - step, variance)[0]
        ) / 2e-5
        assert_allclose(slope, share[k], atol=1e-5)


@pytest.mark.parametrize(("largest", "rounding"), [(0.5, 0.0), (4.0, 1e-12)])
def test_what_a_row_contributes_does_not_depend_on_the_others(largest, rounding):
    """To the last bit for small variances; rows with large ones go on until all have settled."""
    logit, variance = cases(12, n_rows=64, largest=largest)
    together = tilted_bound(logit, variance)
    for start, stop in ((0, 1), (1, 18), (18, 64)):
        part = slice(start, stop)
        alone = tilted_bound(logit[:, part].copy(), variance[:, part].copy())
        for mine, theirs in zip(alone, together, strict=True):
            assert_allclose(mine, theirs[..., part], rtol=rounding, atol=rounding)


@every_size
def test_a_row_alone_has_the_tilt_that_it_has_among_others(n_experts):
    """A first step for the normaliser may be short by chance, while logarithms have not settled."""
    rng = np.random.default_rng(14)
    logit = rng.normal(scale=3.0, size=(n_experts, 400))
    variance = rng.uniform(0.1, 6.0, size=logit.shape)
    together = tilted_bound(logit, variance)[2]
    alone = [tilted_bound(logit[:, n : n + 1], variance[:, n : n + 1])[2] for n in range(400)]
    assert_allclose(np.concatenate(alone, axis=1), together, rtol=1e-9, atol=1e-12)


def test_the_arguments_are_left_as_they_were():
    logit, variance = cases(13)
    kept = logit.copy(), variance.copy()
    tilted_bound(logit, variance)
    assert_array_equal(kept, (logit, variance))


def test_steps_for_large_variances_settle(monkeypatch):
    """The slower method is for rows whose variances differ by orders of magnitude."""
    rng = np.random.default_rng(3)
    logit = 2.0 * rng.normal(size=(4, 400))
    variance = np.exp(rng.uniform(np.log(5.0), np.log(50.0), size=(4, 400)))
    monkeypatch.setattr(module, "_by_omega", pytest.fail)
    tilted_bound(logit, variance)
