"""Mixtures of Gaussians, full and diagonal: the bound, its maximisers, and how rows are split."""

from dataclasses import dataclass
from functools import reduce
from math import lgamma, log, pi
from operator import add

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose
from scipy.special import digamma, logsumexp, multigammaln

from bayesvb.data.blocks import Block
from bayesvb.data.sources import InMemorySource
from bayesvb.engines.base import Budget
from bayesvb.engines.cavi import Cavi, cavi
from bayesvb.engines.restarts import search
from bayesvb.experts import GAUSSIAN_EXPERTS
from bayesvb.factors import Dirichlet
from bayesvb.gates import DirichletGate
from bayesvb.linear.precisions import DensePrecision
from bayesvb.models.mixture import Mixture
from bayesvb.numerics.runtime import single_threaded_blas
from bayesvb.numerics.streams import Streams

every_form = pytest.mark.parametrize("form", GAUSSIAN_EXPERTS)


@dataclass(frozen=True)
class Problem:
    """Rows, a mixture, and a soft partition of the rows to start from."""

    model: Mixture
    block: Block
    partition: np.ndarray

    def start(self):
        return self.model.first_stats(self.model.partition_stats(self.block, self.partition))

    def posterior(self, sweeps=5):
        posterior = self.model.update(self.start())
        for _ in range(sweeps):
            posterior = self.model.update(self.model.e_step(posterior, self.block).stats)
        return posterior

    def bound(self, posterior):
        return self.model.e_step(posterior, self.block).bound - self.model.kl(posterior)


def problem(form, seed, *, experts=None, rows=None, dims=None, weighted=False):
    rng = np.random.default_rng(seed)
    rows, dims = rows or int(rng.integers(3, 40)), dims or int(rng.integers(1, 5))
    experts = experts or int(rng.integers(2, 5))
    centres = 2.0 * rng.normal(size=(dims, 3))
    x = centres[:, rng.integers(0, 3, rows)] + rng.normal(size=(dims, rows))
    root = rng.normal(size=(dims, dims + 2))
    prior = GAUSSIAN_EXPERTS[form](
        rng.normal(size=dims),
        float(rng.uniform(0.2, 2.0)),
        dims - 1 + float(rng.uniform(0.5, 4.0)),
        root @ root.T / dims + 0.1 * np.eye(dims),
    )
    weight = rng.integers(0, 4, rows).astype(float) if weighted else None
    block = Block({"variables": x}, np.zeros((0, rows)), weight)
    gate = DirichletGate(Dirichlet(np.full(experts, rng.uniform(0.2, 2.0))))
    return Problem(Mixture(prior, gate), block, rng.dirichlet(np.full(experts, 0.5), rows).T.copy())


# The bound, written out in another way: dense matrices, one row and one component at a time.


def dense_full(prior, q, k):
    return {
        "m": q.mean[k], "be": float(q.mean_precision[k]), "nu": float(q.dof[k]),
        "Wi": q.scatter[k], "m0": prior.mean, "be0": float(prior.mean_precision),
        "nu0": float(prior.dof), "Wi0": prior.scatter,
    }  # fmt: skip


def full_log_lik(e, x):
    d, scale = len(x), np.linalg.inv(e["Wi"])
    log_det = sum(digamma((e["nu"] + 1 - i) / 2) for i in range(1, d + 1))
    log_det += d * log(2.0) + np.linalg.slogdet(scale)[1]
    pull = e["nu"] * (x - e["m"]) @ scale @ (x - e["m"])
    return 0.5 * (log_det - d * log(2 * pi) - d / e["be"] - pull)


def full_kl(e):
    d, scale, shift = len(e["m"]), np.linalg.inv(e["Wi"]), e["m"] - e["m0"]

    def log_b(inverse, nu):
        constant = 0.5 * nu * np.linalg.slogdet(inverse)[1] - 0.5 * nu * d * log(2.0)
        return constant - multigammaln(nu / 2, d)

    log_det = sum(digamma((e["nu"] + 1 - i) / 2) for i in range(1, d + 1))
    log_det += d * log(2.0) + np.linalg.slogdet(scale)[1]
    normal = d * log(e["be"] / e["be0"]) - d + d * e["be0"] / e["be"]
    normal += e["be0"] * e["nu"] * shift @ scale @ shift
    wishart = log_b(e["Wi"], e["nu"]) - log_b(e["Wi0"], e["nu0"])
    wishart += 0.5 * (e["nu"] - e["nu0"]) * log_det - 0.5 * e["nu"] * d
    return 0.5 * normal + wishart + 0.5 * e["nu"] * np.trace(e["Wi0"] @ scale)


def dense_diagonal(prior, q, k):
    return {
        "m": q.mean[k, :, 0], "be": float(q.precision[k, 0, 0]), "a": float(q.shape[k]),
        "b": q.rate[k], "m0": prior.mean[:, 0], "be0": float(prior.precision[0, 0]),
        "a0": float(prior.shape), "b0": prior.rate,
    }  # fmt: skip


def diagonal_log_lik(e, x):
    total = 0.0
    for i, value in enumerate(x):
        total += 0.5 * (digamma(e["a"]) - log(e["b"][i]) - log(2 * pi) - 1.0 / e["be"])
        total -= 0.5 * e["a"] / e["b"][i] * (value - e["m"][i]) ** 2
    return total


def diagonal_kl(e):
    total = 0.0
    for i in range(len(e["m"])):
        a, b, a0, b0 = e["a"], e["b"][i], e["a0"], e["b0"][i]
        ratio = e["be0"] / e["be"]
        total += 0.5 * (ratio - 1 - log(ratio) + e["be0"] * a / b * (e["m"][i] - e["m0"][i]) ** 2)
        total += (a - a0) * digamma(a) - lgamma(a) + lgamma(a0) + a0 * log(b / b0)
        total += a * (b0 - b) / b
    return total


WRITTEN_OUT = {
    "full": (dense_full, full_log_lik, full_kl),
    "diagonal": (dense_diagonal, diagonal_log_lik, diagonal_kl),
}


def bound_written_out(form, p, posterior):
    dense, log_lik, kl = WRITTEN_OUT[form]
    alpha, alpha0 = posterior.gate.concentration, p.model.gate.prior.concentration
    experts = [dense(p.model.experts.prior, posterior.experts, k) for k in range(len(alpha))]
    log_pi = digamma(alpha) - digamma(alpha.sum())
    total = 0.0
    for n, x in enumerate(p.block.designs["variables"].T):
        score = np.array([log_lik(e, x) for e in experts]) + log_pi
        r = np.exp(score - logsumexp(score))
        weight = 1.0 if p.block.weight is None else p.block.weight[n]
        total += weight * (r @ score - (r * np.log(np.where(r > 0.0, r, 1.0))).sum())
    total -= lgamma(alpha.sum()) - lgamma(alpha0.sum()) + (alpha - alpha0) @ log_pi
    total += sum(lgamma(a) - lgamma(a0) for a, a0 in zip(alpha, alpha0, strict=True))
    return total - sum(map(kl, experts))


@every_form
@pytest.mark.parametrize("weighted", [False, True])
def test_the_bound_is_the_formula_written_out(form, weighted):
    for seed in range(10):
        p = problem(form, seed, weighted=weighted)
        for sweeps in (0, 5):
            posterior = p.posterior(sweeps)
            expected = bound_written_out(form, p, posterior)
            assert p.bound(posterior) == pytest.approx(expected, rel=1e-10, abs=1e-8)


@every_form
@pytest.mark.parametrize(
    "seeds", [range(40), pytest.param(range(40, 200), marks=pytest.mark.heavy)], ids=["few", "many"]
)
def test_the_bound_never_falls(form, seeds):
    for seed in seeds:
        p = problem(form, seed)
        posterior = p.model.update(p.start())
        bounds = []
        for _ in range(12):
            sweep = p.model.e_step(posterior, p.block)
            bounds.append(sweep.bound - p.model.kl(posterior))
            posterior = p.model.update(sweep.stats)
        assert (np.diff(bounds) > -1e-11 * np.abs(bounds[:-1])).all()


def free_energy(form, p, posterior, responsibilities):
    """Bound for given responsibilities, as a function of the posterior of the experts."""
    terms = p.model.experts.local(posterior, p.block).expected_log_density
    return float((p.block.weighted(responsibilities) * terms).sum() - p.model.experts.kl(posterior))


def moved(form, posterior, rng, size):
    """The posterior with every number moved a little, inside its domain."""
    if form == "full":
        root = np.eye(posterior.n_dims) + size * rng.normal(size=posterior.scatter.shape)
        return type(posterior)._from_scatter(
            posterior.mean + size * rng.normal(size=posterior.mean.shape),
            posterior.mean_precision * np.exp(size * rng.normal(size=posterior.dof.shape)),
            posterior.dof + size * rng.normal(size=posterior.dof.shape),
            root @ posterior.scatter @ np.swapaxes(root, 1, 2),
        )
    precision = posterior.precision * np.exp(size * rng.normal(size=posterior.precision.shape))
    return type(posterior)(
        posterior.mean + size * rng.normal(size=posterior.mean.shape),
        DensePrecision(precision),
        posterior.shape * np.exp(size * rng.normal(size=posterior.shape.shape)),
        posterior.rate * np.exp(size * rng.normal(size=posterior.rate.shape)),
    )


@every_form
def test_the_gradient_is_zero_after_the_update_and_no_move_raises_the_bound(form, rng):
    """Central differences along random directions, the same draw forwards and backwards."""
    for seed in range(20):
        p = problem(form, seed)
        best = p.posterior(2).experts
        r = p.partition
        best = p.model.experts.update(p.model.experts.partition_stats(r, p.block))
        top = free_energy(form, p, best, r)
        for direction in range(5):
            ahead, behind = (
                free_energy(form, p, moved(form, best, np.random.default_rng(direction), h), r)
                for h in (1e-4, -1e-4)
            )
            curvature = (2.0 * top - ahead - behind) / 1e-8
            assert curvature > 0.0
            assert abs(ahead - behind) / 2e-4 < 1e-3 * curvature
            assert max(ahead, behind) < top


@every_form
def test_one_component_gives_the_exact_log_evidence(form):
    """By the product rule: each row is Student t given the rows before it."""
    for seed in range(20):
        p = problem(form, seed, experts=1, rows=25)
        x, experts = p.block.designs["variables"], p.model.experts
        expected = 0.0
        for n in range(25):
            past = Block({"variables": x[:, :n]}, np.zeros((0, n)))
            q = experts.update(experts.partition_stats(np.ones((1, n)), past))
            expected += evidence_of_row(form, q, x[:, n])
        assert p.bound(p.posterior()) == pytest.approx(expected, rel=1e-8)


def evidence_of_row(form, q, x):
    """By scipy, from the parameters alone."""
    d = len(x)
    if form == "full":
        dof = q.dof[0] + 1 - d
        shape = q.scatter[0] * (1 + q.mean_precision[0]) / (q.mean_precision[0] * dof)
        return scipy.stats.multivariate_t(q.mean[0], shape, df=dof).logpdf(x)
    spread = np.sqrt(q.rate[0] / q.shape[0] * (1.0 + 1.0 / q.precision[0, 0, 0]))
    return scipy.stats.t(2 * q.shape[0], q.mean[0, :, 0], spread).logpdf(x).sum()


# Blocks and threads


@every_form
def test_many_blocks_are_one_block_and_threads_keep_every_bit(form):
    p = problem(form, 3, rows=3000, dims=4, experts=5, weighted=True)
    start = p.start()
    one = InMemorySource((p.block,))
    runs = [
        cavi(p.model, source, start, tol=0.0, max_iter=30)
        for source in (
            one,
            *(InMemorySource(tuple(p.block.split(500)), workers=n) for n in (1, 2, 4)),
        )
    ]
    for run in runs[2:]:
        assert (run.trace == runs[1].trace).all()
        assert (run.stats.to_vector() == runs[1].stats.to_vector()).all()
    assert_allclose(runs[1].trace[:10], runs[0].trace[:10], rtol=1e-12)


@every_form
def test_sums_of_a_split_add_up(form):
    p = problem(form, 4, rows=50, weighted=True)
    posterior = p.posterior()
    with single_threaded_blas():
        whole = p.model.e_step(posterior, p.block)
        parts = reduce(add, (p.model.e_step(posterior, b) for b in p.block.split(7)))
    assert parts.bound == pytest.approx(whole.bound, rel=1e-12)
    assert_allclose(parts.stats.to_vector(), whole.stats.to_vector(), rtol=1e-11, atol=1e-12)


@every_form
def test_integer_weights_are_repeated_rows(form):
    p = problem(form, 5, rows=40, weighted=True)
    times = p.block.weight.astype(int)
    x = np.repeat(p.block.designs["variables"], times, axis=1)
    posterior = p.posterior()
    there = p.model.e_step(posterior, Block({"variables": x}, np.zeros((0, x.shape[1]))))
    here = p.model.e_step(posterior, p.block)
    assert here.bound == pytest.approx(there.bound, rel=1e-11)
    assert_allclose(here.stats.to_vector(), there.stats.to_vector(), rtol=1e-10, atol=1e-12)


@every_form
def test_the_search_finds_separated_components_and_empties_the_others(form, rng):
    centres = np.array([[-4.0, 0.0, 4.0], [0.0, 5.0, 0.0]])
    label = rng.integers(0, 3, 600)
    x = centres[:, label] + 0.5 * rng.normal(size=(2, 600))
    experts = GAUSSIAN_EXPERTS[form](np.zeros(2), 0.1, 3.0, 0.5 * np.eye(2))
    model = Mixture(experts, DirichletGate(Dirichlet(np.full(6, 0.01))))
    source = InMemorySource(tuple(Block({"variables": x}, np.zeros((0, 600))).split(256)))
    streams = Streams(1, 6)
    found = search(model, source, Cavi(), restarts=6, budget=Budget(), streams=streams).final
    q = model.update(found.stats)
    assert found.converged
    assert (q.gate.mean > 0.01).sum() == 3
    order = np.argsort(-q.gate.mean)[:3]
    mean = q.experts.mean[order].reshape(3, 2)
    nearest = np.abs(mean[:, :, None] - centres).sum(axis=1).min(axis=0)
    assert (nearest < 0.2).all()


@every_form
def test_a_new_labelling_keeps_the_bound(form):
    p, order = problem(form, 6, experts=4), [2, 0, 3, 1]
    stats = p.model.e_step(p.posterior(), p.block).stats
    other, other_sums = p.model.permuted(order, stats)
    here, there = p.model.update(stats), other.update(other_sums)
    expected = p.model.e_step(here, p.block).bound - p.model.kl(here)
    found = other.e_step(there, p.block).bound - other.kl(there)
    assert found == pytest.approx(expected, rel=1e-12)
    assert_allclose(there.experts.mean, here.experts.mean[order])


# Draws and densities


@every_form
def test_the_likelihood_and_the_densities_are_those_of_scipy(form, rng):
    p = problem(form, 7, dims=3, rows=20, experts=3)
    posterior, x = p.posterior(), p.block.designs["variables"]
    draws = p.model.draws(posterior, 6, rng)
    covariances = p.model.experts.covariances(draws)
    expected = np.zeros((6, 3, 20))
    for d, k in np.ndindex(6, 3):
        law = scipy.stats.multivariate_normal(draws["mean"][d, k], covariances[d, k])
        expected[d, k] = law.logpdf(x.T) + np.log(draws["gate"][d, k])
    assert_allclose(p.model.log_lik(draws, p.block), logsumexp(expected, axis=1), rtol=1e-9)


@every_form
@pytest.mark.parametrize("experts", [1, 3])
def test_the_bound_is_below_its_monte_carlo_value_and_close(form, rng, experts):
    p = problem(form, 8, experts=experts, rows=100, dims=2)
    posterior = p.posterior(60)
    draws = p.model.draws(posterior, 4000, rng)
    log_joint = p.model.log_lik(draws, p.block).sum(axis=1) + p.model.log_prior(draws)
    values = log_joint - p.model.log_posterior(posterior, draws)
    error = 4.5 * values.std() / np.sqrt(len(values)) + 1e-9
    assert values.mean() > p.bound(posterior) - error
    assert values.mean() < p.bound(posterior) + (0.0 if experts == 1 else 0.1 * 100) + error


@every_form
def test_drawn_rows_have_the_moments_of_their_experts(form, rng):
    p = problem(form, 9, dims=2, rows=4000, experts=2)
    draws = p.model.draws(p.posterior(), 3, rng)
    covariances = p.model.experts.covariances(draws)
    found = p.model.responses(draws, p.block, rng)
    assert found.shape == (3, 2, 4000)
    for d in range(3):
        w, m = draws["gate"][d], draws["mean"][d]
        mean = w @ m
        spread = np.einsum("k,kij->ij", w, covariances[d] + m[:, :, None] * m[:, None, :])
        spread -= np.outer(mean, mean)
        error = 5.0 * np.sqrt(np.diag(spread) / 4000)
        assert (np.abs(found[d].mean(axis=1) - mean) < error).all()
        assert_allclose(np.cov(found[d]), spread, atol=0.25 * np.abs(spread).max())


def test_both_forms_give_one_variable_the_same_prior_and_agree_in_one_dimension():
    full, diagonal = (problem(form, 10, dims=3, experts=1) for form in ("full", "diagonal"))
    empty = Block({"variables": np.zeros((3, 0))}, np.zeros((0, 0)))
    laws = []
    for p in (full, diagonal):
        q = p.model.experts.update(p.model.experts.partition_stats(np.ones((1, 0)), empty))
        laws.append([p.model.experts.joint_predictive(q, np.ones(1)).marginal(i) for i in range(3)])
    for one, other in zip(*laws, strict=True):
        assert_allclose(one.scale, other.scale)
        assert_allclose(one.dof, other.dof)
    for seed in range(20):
        one, other = (problem(form, seed, dims=1) for form in ("full", "diagonal"))
        assert one.bound(one.posterior()) == pytest.approx(
            other.bound(other.posterior()), rel=1e-11
        )


@every_form
def test_empty_components_fall_back_to_the_prior(form):
    p = problem(form, 11, experts=3)
    partition = np.zeros_like(p.partition)
    partition[0] = 1.0
    q = p.model.experts.update(p.model.experts.partition_stats(partition, p.block))
    prior = p.model.experts.prior
    mean = q.mean.reshape(3, -1)
    assert_allclose(mean[1:], np.broadcast_to(prior.mean.ravel(), mean[1:].shape), rtol=1e-12)
    whole = p.model.experts.kl(q)
    alone = problem(form, 11, experts=1)
    one = alone.model.experts.update(alone.model.experts.partition_stats(partition[:1], p.block))
    assert whole == pytest.approx(p.model.experts.kl(one), rel=1e-10)
