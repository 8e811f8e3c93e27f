"""Experts with independent priors of coefficients and noise, under every gate."""

from dataclasses import replace
from math import lgamma, log, pi

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose
from scipy.special import digamma, logsumexp

from bayesvb.data.blocks import Block
from bayesvb.engines.cavi import cavi
from bayesvb.experts.linear_semiconjugate import NormalAndGamma, SemiConjugateExperts
from bayesvb.factors import Gamma, Normal
from bayesvb.models.mixture import Mixture

ONE = np.ones((1, 1))


@pytest.fixture
def make_semi(make_problem):
    """The problems of the other experts, with these."""

    def build(name, **options):
        problem = make_problem(name, **options)
        conjugate = problem.model.experts.prior
        coefficients = Normal.from_precision(conjugate.mean, conjugate.precision)
        noise = Gamma(np.full(len(conjugate.rate), 1.5), conjugate.rate)
        experts = SemiConjugateExperts(NormalAndGamma(coefficients, noise))
        return replace(problem, model=Mixture(experts, problem.model.gate))

    return build


def bound_of(problem, stats):
    posterior = problem.model.update(stats)
    return problem.model.e_step(posterior, problem.block).bound - problem.model.kl(posterior)


@pytest.mark.heavy
def test_the_bound_never_falls(gate_name, make_semi):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        problem = make_semi(
            gate_name,
            seed=seed,
            experts=int(rng.integers(1, 6)),
            rows=int(rng.integers(6, 200)),
            terms=int(rng.integers(1, 5)),
            responses=int(rng.integers(1, 3)),
            weighted=bool(rng.integers(0, 2)),
        )
        for accelerate in (False, True):
            ascent = cavi(
                problem.model, problem.source(), problem.start(), max_iter=25, accelerate=accelerate
            )
            assert (np.diff(ascent.trace) >= -1e-9 * np.abs(ascent.trace[1:])).all()
            assert ascent.bound == pytest.approx(bound_of(problem, ascent.stats), rel=1e-12)


@pytest.mark.heavy
def test_a_plain_sweep_needs_no_safeguard(make_semi):
    for seed in range(20):
        problem = make_semi("stick-breaking", seed=seed, experts=4, rows=60, responses=2)
        stats, last = problem.start(), -np.inf
        for _ in range(15):
            posterior = problem.model.update(stats)
            sweep = problem.model.e_step(posterior, problem.block)
            bound = sweep.bound - problem.model.kl(posterior)
            assert bound >= last - 1e-9 * abs(bound)
            stats, last = problem.model.global_step(posterior, sweep.stats), bound


def expected_log_lik(q, k, x, y):
    total = 0.0
    for i, observed in enumerate(y):
        a, b = q.noise.shape[k, i], q.noise.rate[k, i]
        m, c = q.coefficients.mean[k, i], q.coefficients.covariance[k, i]
        square = (observed - x @ m) ** 2 + x @ c @ x
        total += 0.5 * (digamma(a) - log(b) - log(2.0 * pi) - a / b * square)
    return total


def kl_written_out(experts, q):
    prior, total = experts.prior, 0.0
    for k, i in np.ndindex(*q.noise.shape.shape):
        shift = q.coefficients.mean[k, i] - prior.coefficients.mean[i]
        p0, c = prior.coefficients.precision, q.coefficients.covariance[k, i]
        total += 0.5 * (np.trace(p0 @ c) + shift @ p0 @ shift - len(shift))
        total -= 0.5 * (np.linalg.slogdet(p0)[1] + np.linalg.slogdet(c)[1])
        a, b = q.noise.shape[k, i], q.noise.rate[k, i]
        a0, b0 = prior.noise.shape[i], prior.noise.rate[i]
        total += (a - a0) * digamma(a) - lgamma(a) + lgamma(a0)
        total += a0 * log(b / b0) + a * (b0 - b) / b
    return total


@pytest.mark.parametrize("responses", [1, 2])
def test_the_bound_is_the_formula_written_out(make_semi, responses):
    problem = make_semi("dirichlet", seed=1, rows=20, terms=3, responses=responses, weighted=True)
    block, q = problem.block, problem.posterior()
    total = -kl_written_out(problem.model.experts, q.experts) - problem.model.gate.kl(q.gate)
    for n, weight in enumerate(block.weight):
        x, y = block.designs["mean"][:, n], block.response[:, n]
        score = [expected_log_lik(q.experts, k, x, y) for k in range(3)] + q.gate.expected_log
        total += weight * logsumexp(score)
    found = problem.model.e_step(q, block).bound - problem.model.kl(q)
    assert found == pytest.approx(total, rel=1e-9)


@pytest.mark.heavy
def test_no_change_of_one_factor_gains_at_the_end(make_semi):
    """A shift of the coefficients' mean or spread, of the noise's shape or rate."""
    problem = make_semi("dirichlet", seed=2, rows=60, responses=2)
    q = problem.posterior(300)
    block, model = problem.block, problem.model
    best = model.e_step(q, block).bound - model.kl(q)
    rng = np.random.default_rng(3)
    for _ in range(100):
        size = 10.0 ** rng.uniform(-4.0, -1.0)
        c, noise = q.experts.coefficients, q.experts.noise
        mean = c.mean + size * rng.normal(size=c.mean.shape)
        scale = np.exp(size * rng.normal(size=c.log_det.shape))[..., None, None]
        a, b = (v * np.exp(size * rng.normal(size=v.shape)) for v in (noise.shape, noise.rate))
        moved = (
            NormalAndGamma(Normal.from_precision(mean, c.precision), noise),
            NormalAndGamma(Normal.from_precision(c.mean, c.precision * scale), noise),
            NormalAndGamma(c, Gamma(a, b)),
        )
        for experts in moved:
            other = replace(q, experts=experts)
            assert model.e_step(other, block).bound - model.kl(other) <= best + 1e-9


def test_the_bound_of_one_expert_is_below_the_evidence_and_close(make_semi):
    """The evidence by quadrature over the noise precision, which is one-dimensional."""
    for seed in range(5):
        problem = make_semi("dirichlet", seed=seed, experts=1, rows=40)
        prior, x = problem.model.experts.prior, problem.block.designs["mean"]
        y, spread = problem.block.response[0], x.T @ prior.coefficients.covariance @ x
        law = scipy.stats.gamma(float(prior.noise.shape[0]), scale=1.0 / float(prior.noise.rate[0]))
        nodes = law.ppf((np.arange(4000) + 0.5) / 4000)
        values, vectors = np.linalg.eigh(spread)
        residual = vectors.T @ (y - prior.coefficients.mean[0] @ x)
        variance = values + 1.0 / nodes[:, None]
        terms = -0.5 * (np.log(2.0 * pi * variance) + residual**2 / variance).sum(axis=1)
        evidence = logsumexp(terms) - log(4000)
        ascent = cavi(problem.model, problem.source(), problem.start(), tol=1e-12)
        assert evidence - 0.1 < ascent.bound < evidence + 0.01


def test_densities_are_those_of_scipy(make_semi, rng):
    problem = make_semi("dirichlet", seed=4, responses=2)
    experts, q = problem.model.experts, problem.posterior().experts
    draws = experts.draws(q, 5, rng)
    for posterior in (q, None):
        factor = posterior or experts.prior
        mean = np.broadcast_to(factor.coefficients.mean, (3, 2, 2))
        covariance = np.broadcast_to(factor.coefficients.covariance, (3, 2, 2, 2))
        shape, rate = (np.broadcast_to(v, (3, 2)) for v in (factor.noise.shape, factor.noise.rate))
        expected = np.zeros(5)
        for d, k, i in np.ndindex(5, 3, 2):
            law = scipy.stats.multivariate_normal(mean[k, i], covariance[k, i])
            expected[d] += law.logpdf(draws["coefficients"][d, k, i])
            gamma = scipy.stats.gamma(shape[k, i], scale=1.0 / rate[k, i])
            expected[d] += gamma.logpdf(draws["precision"][d, k, i])
        assert_allclose(experts.log_density(posterior, draws), expected, rtol=1e-9)


@pytest.mark.parametrize(("shape", "ratio", "most"), [(3.0, 0.5, 0.006), (1.0, 10.0, 0.035)])
def test_the_predictive_distribution_is_as_close_as_it_says(shape, ratio, most):
    """To the integral over the noise; ``ratio`` is the variance of the mean over ``b / a``."""
    posterior = NormalAndGamma(
        Normal.from_precision(np.zeros((1, 1, 1)), np.full((1, 1, 1, 1), 4.0 / ratio)),
        Gamma(np.full((1, 1), shape), np.full((1, 1), 0.25 * shape)),
    )
    experts = SemiConjugateExperts(posterior)
    given = experts.predictive(posterior, ONE, Block({"mean": ONE}, ONE), 0)
    nodes = 4.0 * scipy.stats.gamma(shape, scale=1.0 / shape).ppf((np.arange(4000) + 0.5) / 4000)
    y = np.linspace(-7.5, 7.5, 1001) * np.sqrt(1.0 + ratio)
    exact = scipy.stats.norm.cdf(y[:, None] / np.sqrt(0.25 * ratio + 1.0 / nodes)).mean(axis=1)
    found = scipy.stats.t.cdf(y / given.scale[0, 0], given.dof[0])
    assert given.location[0, 0] == 0.0
    assert 0.5 * most < np.abs(found - exact).max() < most


@pytest.mark.heavy
def test_the_predictive_distribution_is_the_mean_over_draws(make_semi, rng):
    problem = make_semi("dirichlet", seed=5, experts=1, rows=100)
    model, q, block = problem.model, problem.posterior(30), problem.block.part(0, 10)
    draws = model.draws(q, 40_000, rng)
    location = (draws["coefficients"][:, 0, 0] @ block.designs["mean"]).T
    y = model.predictive(q, block).quantile(np.array([0.02, 0.1, 0.3, 0.5, 0.8, 0.97]))
    below = scipy.stats.norm.cdf((y[:, :, None] - location) * np.sqrt(draws["precision"][:, 0, 0]))
    found = model.predictive(q, block)
    expected = np.array([found.cdf(row) for row in y])
    error = 4.5 * below.std(axis=2) / np.sqrt(40_000)
    assert (np.abs(below.mean(axis=2) - expected) < error + 0.001).all()


def test_a_new_labelling_keeps_the_bound(gate_name, make_semi):
    problem, order = make_semi(gate_name, seed=6, experts=4, responses=2), [2, 0, 3, 1]
    posterior = problem.posterior()
    stats = problem.model.global_step(
        posterior, problem.model.e_step(posterior, problem.block).stats
    )
    model, new_sums = problem.model.permuted(order, stats)
    relabelled = replace(problem, model=model)
    assert bound_of(relabelled, new_sums) == pytest.approx(bound_of(problem, stats), rel=1e-12)
    assert_allclose(new_sums.experts.weight, stats.experts.weight[order])


def test_extrapolated_precisions_that_are_none_are_refused(make_semi):
    problem = make_semi("dirichlet", seed=7)
    stats = problem.start()
    for size in (-1.0, 0.0):
        with pytest.raises(np.linalg.LinAlgError):
            none = replace(stats.experts, precision=size * stats.experts.precision)
            problem.model.experts.update(none)
