"""The lower bound of a mixture: written out row by row, and exact for one component."""

from math import lgamma, log, pi

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize, minimize_scalar
from scipy.special import digamma
from scipy.stats import multivariate_t

from bayesvb.data.blocks import Block
from bayesvb.gates import GATES


def dense(model, posterior):
    """Plain arrays of a posterior and of its prior, per expert."""
    prior, q = model.experts.prior, posterior.experts
    return [
        {
            "m": q.mean[k],
            "V": q.precision[k],
            "a": float(q.shape[k]),
            "b": q.rate[k],
            "m0": prior.mean,
            "V0": prior.precision,
            "a0": float(prior.shape),
            "b0": prior.rate,
        }
        for k in range(len(q.mean))
    ]


def expected_log_lik(e, x, y):
    """``E log N(y | x' b, 1 / tau)``, summed over the responses of one row."""
    total = 0.0
    for i, observed in enumerate(y):
        total += 0.5 * (digamma(e["a"]) - log(e["b"][i]) - log(2.0 * pi))
        residual = observed - x @ e["m"][i]
        total -= 0.5 * (e["a"] / e["b"][i] * residual**2 + x @ np.linalg.solve(e["V"], x))
    return total


def kl_gamma(a, b, a0, b0):
    return (
        (a - a0) * digamma(a) - lgamma(a) + lgamma(a0) + a0 * (log(b) - log(b0)) + a * (b0 - b) / b
    )


def kl_experts(e):
    total = 0.0
    for i in range(len(e["m"])):
        shift = e["m"][i] - e["m0"][i]
        total += 0.5 * (
            np.linalg.slogdet(e["V"])[1]
            - np.linalg.slogdet(e["V0"])[1]
            - len(shift)
            + np.trace(np.linalg.solve(e["V"], e["V0"]))
            + e["a"] / e["b"][i] * shift @ e["V0"] @ shift
        )
        total += kl_gamma(e["a"], e["b"][i], e["a0"], e["b0"][i])
    return total


def kl_normal(mean, covariance, mean0, precision0):
    shift = mean - mean0
    trace = np.trace(precision0 @ covariance) + shift @ precision0 @ shift - len(mean)
    return 0.5 * (trace - np.linalg.slogdet(precision0)[1] - np.linalg.slogdet(covariance)[1])


def softmax_terms(gate, q, z):
    """Logits less the tilted bound, its tilt found by a general optimiser."""
    t, s = q.mean @ z, np.array([z @ c @ z for c in q.covariance])

    def bound(a):
        inside = t + 0.5 * (1.0 - 2.0 * a) * s
        top = inside.max()
        return 0.5 * (a**2 * s).sum() + top + log(np.exp(inside - top).sum())

    start = np.full(len(t), 1.0 / len(t))
    found = minimize(bound, start, method="BFGS", options={"gtol": 1e-9})
    return t - found.fun


def jensen_terms(gate, q, z):
    """``t - log sum exp(t + s / 2)``; one component needs no bound."""
    t, s = q.mean @ z, np.array([z @ c @ z for c in q.covariance])
    return np.zeros(1) if len(t) == 1 else t - np.logaddexp.reduce(t + 0.5 * s)


def bouchard_terms(gate, q, z):
    """Logits less the product bound, its shift found by a general optimiser."""
    t, s = q.mean @ z, np.array([z @ c @ z for c in q.covariance])
    if len(t) == 1:
        return np.zeros(1)

    def bound(alpha):
        xi = np.sqrt((t - alpha) ** 2 + s)
        return alpha + (0.5 * (t - alpha - xi) + np.logaddexp(0.0, xi)).sum()

    return t - minimize_scalar(bound, method="brent", options={"xtol": 1e-12}).fun


def stick_terms(gate, q, z):
    """``t_k - sum_{l <= k} F_l`` by component, with the best ``xi`` of every stick."""
    order = gate.order or range(len(q.mean) + 1)
    terms, left = np.zeros(len(q.mean) + 1), 0.0
    for stick, component in enumerate(order):
        if stick == len(q.mean):
            terms[component] = left
            continue
        t = q.mean[stick] @ z
        xi = np.sqrt(t**2 + z @ q.covariance[stick] @ z)
        bound = 0.5 * (t - xi) + np.logaddexp(0.0, xi)
        terms[component] = left + t - bound
        left -= bound
    return terms


def dirichlet_terms(gate, q, z):
    return digamma(q.concentration) - digamma(q.concentration.sum())


def kl_logits(gate, q):
    return sum(
        kl_normal(q.mean[k], q.covariance[k], gate.prior.mean[k], gate.prior.precision)
        for k in range(len(q.mean))
    )


def kl_dirichlet(gate, q):
    a, a0 = q.concentration, gate.prior.concentration
    total = lgamma(a.sum()) - lgamma(a0.sum())
    for one, other in zip(a, a0, strict=True):
        total += lgamma(other) - lgamma(one) + (one - other) * (digamma(one) - digamma(a.sum()))
    return total


WRITTEN_OUT = {
    "softmax": (softmax_terms, kl_logits),
    "softmax-jensen": (jensen_terms, kl_logits),
    "softmax-bouchard": (bouchard_terms, kl_logits),
    "stick-breaking": (stick_terms, kl_logits),
    "stick-breaking relabelled": (stick_terms, kl_logits),
    "dirichlet": (dirichlet_terms, kl_dirichlet),
}


@pytest.fixture(params=WRITTEN_OUT)
def written_gate(request) -> str:
    """Every gate whose bound is written out here."""
    return request.param


def test_the_bound_of_every_gate_is_written_out():
    assert set(GATES) <= set(WRITTEN_OUT), "write it a second time, row by row"


def bound_written_out(name, problem, posterior):
    """Every row with its best responsibilities, and these responsibilities."""
    terms_of, kl_gate = WRITTEN_OUT[name]
    experts, gate = dense(problem.model, posterior), problem.model.gate
    x, z, y = problem.block.designs["mean"], problem.block.designs["gating"], problem.block.response
    total, responsibilities = 0.0, np.zeros((len(experts), problem.block.n_rows))
    for n in range(problem.block.n_rows):
        weight = 1.0 if problem.block.weight is None else problem.block.weight[n]
        score = terms_of(gate, posterior.gate, z[:, n]) + np.array(
            [expected_log_lik(e, x[:, n], y[:, n]) for e in experts]
        )
        r = np.exp(score - score.max())
        r /= r.sum()
        responsibilities[:, n] = r
        total += weight * (r @ score - (r * np.log(np.where(r > 0.0, r, 1.0))).sum())
    total -= sum(map(kl_experts, experts)) + kl_gate(gate, posterior.gate)
    return total, responsibilities


def bound_of(problem, posterior):
    model = problem.model
    return model.e_step(posterior, problem.block).bound - model.kl(posterior)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("experts", "responses"), [(1, 1), (3, 1), (2, 3), (5, 2)])
def test_the_bound_is_the_formula_written_out(
    written_gate, make_problem, experts, responses, weighted
):
    problem = make_problem(
        written_gate,
        seed=1,
        experts=experts,
        rows=12,
        terms=3,
        responses=responses,
        weighted=weighted,
    )
    for sweeps in (0, 4):
        posterior = problem.posterior(sweeps)
        expected, responsibilities = bound_written_out(written_gate, problem, posterior)
        assert bound_of(problem, posterior) == pytest.approx(expected, rel=1e-9)
        found = problem.model.responsibilities(posterior, problem.block)
        assert_allclose(found, responsibilities, rtol=1e-6, atol=1e-9)


def test_the_expert_sums_are_weighted_cross_products(written_gate, make_problem):
    problem = make_problem(written_gate, seed=2, rows=15, terms=3, responses=2, weighted=True)
    posterior = problem.posterior()
    found = problem.model.e_step(posterior, problem.block).stats.experts
    r = bound_written_out(written_gate, problem, posterior)[1] * problem.block.weight
    x, y = problem.block.designs["mean"], problem.block.response
    rows, columns = np.tril_indices(3)
    assert_allclose(found.weight, r.sum(axis=1), rtol=1e-6)
    expected = np.einsum("kn,in,jn->kij", r, x, x)[:, rows, columns]
    assert_allclose(found.xx, expected, rtol=1e-6, atol=1e-6)
    assert_allclose(found.xy, np.einsum("kn,in,jn->kij", r, y, x), rtol=1e-6, atol=1e-6)
    assert_allclose(found.yy, np.einsum("kn,in->ki", r, y**2), rtol=1e-6, atol=1e-6)


def log_evidence(problem):
    """Of a Bayesian linear regression: each response is one draw of a multivariate Student."""
    prior, x = problem.model.experts.prior, problem.block.designs["mean"]
    spread = np.eye(x.shape[1]) + x.T @ np.linalg.solve(prior.precision, x)
    a = float(prior.shape)
    return sum(
        multivariate_t(prior.mean[i] @ x, prior.rate[i] / a * spread, df=2.0 * a).logpdf(y)
        for i, y in enumerate(problem.block.response)
    )


@pytest.mark.parametrize("responses", [1, 2, 4])
def test_one_component_gives_the_exact_log_evidence(gate_name, make_problem, responses):
    for seed in range(5):
        problem = make_problem(
            gate_name, seed=seed, experts=1, rows=40, terms=3, responses=responses
        )
        found = bound_of(problem, problem.posterior())
        assert found == pytest.approx(log_evidence(problem), rel=1e-8)


def test_integer_weights_are_repeated_rows(gate_name, make_problem):
    problem = make_problem(gate_name, seed=3, rows=60, weighted=True)
    block = problem.block
    times = block.weight.astype(int)
    designs = {name: np.repeat(matrix, times, axis=1) for name, matrix in block.designs.items()}
    long = problem.with_block(Block(designs, np.repeat(block.response, times, axis=1)))
    posterior = problem.posterior()
    here, there = (p.model.e_step(posterior, p.block) for p in (problem, long))
    assert here.bound == pytest.approx(there.bound, rel=1e-8)
    mine, theirs = here.stats.to_vector(), there.stats.to_vector()
    assert_allclose(mine, theirs, rtol=1e-8, atol=1e-8 * np.abs(theirs).max())


def test_a_new_labelling_keeps_the_bound(gate_name, make_problem):
    problem, order = make_problem(gate_name, seed=4, experts=4), [2, 0, 3, 1]
    model, block = problem.model, problem.block
    sweep = model.e_step(problem.posterior(), block)
    stats = model.global_step(problem.posterior(), sweep.stats)
    other, other_sums = model.permuted(order, stats)
    here, there = model.update(stats), other.update(other_sums)
    expected = model.e_step(here, block).bound - model.kl(here)
    assert other.e_step(there, block).bound - other.kl(there) == pytest.approx(expected, rel=1e-12)
    r, s = model.responsibilities(here, block), other.responsibilities(there, block)
    assert_allclose(s, r[order], rtol=1e-9)
    assert_allclose(there.experts.mean, here.experts.mean[order], rtol=1e-12)
