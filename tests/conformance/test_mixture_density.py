"""Densities of a mixture against scipy, and its bound against draws from the posterior."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.special import expit, logsumexp, softmax

from bayesvb.gates import GATES

SIZES = pytest.mark.parametrize(("experts", "responses"), [(1, 1), (3, 1), (2, 2)])


def softmax_weights(gate, draw, z):
    return softmax(draw @ z, axis=0)


def stick_weights(gate, draw, z):
    weights = np.zeros((gate.n_components, z.shape[1]))
    left = np.ones(z.shape[1])
    for stick, component in enumerate(gate.order or range(gate.n_components)):
        stop = expit(draw[stick] @ z) if stick < len(draw) else np.ones_like(left)
        weights[component] = left * stop
        left = left * (1.0 - stop)
    return weights


def dirichlet_weights(gate, draw, z):
    return np.repeat(draw[:, None], z.shape[1], axis=1)


def normal_log_density(gate, factor, draws):
    """Rows of coefficients, one after the other."""
    total = np.zeros(len(draws))
    for k in range(draws.shape[1]):
        precision = factor.precision if factor.precision.ndim == 2 else factor.precision[k]
        law = stats.multivariate_normal(factor.mean[k], np.linalg.inv(precision))
        total += law.logpdf(draws[:, k])
    return total


def dirichlet_log_density(gate, factor, draws):
    if draws.shape[1] == 1:
        return np.zeros(len(draws))
    return stats.dirichlet(factor.concentration).logpdf(draws.T)


BY_GATE = {
    "softmax": (softmax_weights, normal_log_density),
    "softmax-jensen": (softmax_weights, normal_log_density),
    "softmax-bouchard": (softmax_weights, normal_log_density),
    "stick-breaking": (stick_weights, normal_log_density),
    "stick-breaking relabelled": (stick_weights, normal_log_density),
    "dirichlet": (dirichlet_weights, dirichlet_log_density),
}


@pytest.fixture(params=BY_GATE)
def written_gate(request) -> str:
    """Every gate whose densities are written out here."""
    return request.param


def test_the_densities_of_every_gate_are_written_out():
    assert set(GATES) <= set(BY_GATE), "write them a second time, in another way"


def experts_log_density(factor, draws):
    total = np.zeros(len(draws["precision"]))
    n_experts, n_responses, n_terms = draws["coefficients"].shape[1:]
    precision = np.broadcast_to(factor.precision, (n_experts, n_terms, n_terms))
    mean = np.broadcast_to(factor.mean, (n_experts, n_responses, n_terms))
    shape = np.broadcast_to(factor.shape, n_experts)
    rate = np.broadcast_to(factor.rate, (n_experts, n_responses))
    for d, k, i in np.ndindex(*draws["precision"].shape):
        tau = draws["precision"][d, k, i]
        law = stats.multivariate_normal(mean[k, i], np.linalg.inv(tau * precision[k]))
        total[d] += law.logpdf(draws["coefficients"][d, k, i])
        total[d] += stats.gamma(shape[k], scale=1.0 / rate[k, i]).logpdf(tau)
    return total


@SIZES
def test_the_likelihood_sums_the_components_out(
    written_gate, make_problem, rng, experts, responses
):
    problem = make_problem(written_gate, seed=5, experts=experts, responses=responses, rows=20)
    draws = problem.model.draws(problem.posterior(), 7, rng)
    block = problem.block
    x, z, y = block.designs["mean"], block.designs["gating"], block.response
    expected = np.zeros((7, 20))
    for d in range(7):
        weights = BY_GATE[written_gate][0](problem.model.gate, draws["gate"][d], z)
        density = weights.copy()
        for k, i in np.ndindex(experts, responses):
            spread = draws["precision"][d, k, i] ** -0.5
            density[k] *= stats.norm(draws["coefficients"][d, k, i] @ x, spread).pdf(y[i])
        expected[d] = np.log(density.sum(axis=0))
    assert_allclose(problem.model.log_lik(draws, block), expected, rtol=1e-8, atol=1e-8)


@SIZES
def test_prior_and_posterior_densities_are_those_of_scipy(
    written_gate, make_problem, rng, experts, responses
):
    problem = make_problem(written_gate, seed=6, experts=experts, responses=responses)
    model, posterior = problem.model, problem.posterior()
    draws = model.draws(posterior, 5, rng)
    density = BY_GATE[written_gate][1]
    prior = experts_log_density(model.experts.prior, draws)
    prior += density(model.gate, model.gate.prior, draws["gate"])
    assert_allclose(model.log_prior(draws), prior, rtol=1e-9)
    expected = experts_log_density(posterior.experts, draws)
    expected += density(model.gate, posterior.gate, draws["gate"])
    assert_allclose(model.log_posterior(posterior, draws), expected, rtol=1e-9)


@pytest.mark.parametrize("experts", [1, 2, 4])
def test_the_bound_is_below_its_monte_carlo_value_and_close(gate_name, make_problem, rng, experts):
    """Summing the components out row by row can only raise ``E_q[log p - log q]``."""
    problem = make_problem(gate_name, seed=7, experts=experts, rows=100)
    model, posterior = problem.model, problem.posterior(60)
    bound = model.e_step(posterior, problem.block).bound - model.kl(posterior)
    draws = model.draws(posterior, 4000, rng)
    log_joint = model.log_lik(draws, problem.block).sum(axis=1) + model.log_prior(draws)
    values = log_joint - model.log_posterior(posterior, draws)
    error = 4.5 * values.std() / np.sqrt(len(values)) + 1e-9
    assert values.mean() > bound - error
    # What is lost is the assignment of rows that lie between the components; the product bound
    # loses up to one per row besides, which its slack makes good.
    gap = model.bound_gap(posterior)
    bound += 0.0 if gap is None else gap(problem.block).value
    assert values.mean() > bound - error
    assert values.mean() < bound + (0.0 if experts == 1 else 0.08 * 100) + error


@pytest.mark.parametrize("experts", [1, 3])
def test_the_predictive_density_is_the_mean_over_draws(gate_name, make_problem, rng, experts):
    problem = make_problem(gate_name, seed=8, experts=experts, rows=25)
    model, posterior = problem.model, problem.posterior(20)
    values = np.exp(model.log_lik(model.draws(posterior, 20_000, rng), problem.block))
    found = np.exp(
        model.predictive(posterior, problem.block).log_density(problem.block.response[0])
    )
    error = 4.5 * values.std(axis=0) / np.sqrt(len(values))
    # Weights of a softmax of three are good to 0.003, and no expert's density exceeds 2 here.
    error += 6e-3 if model.gate.formula == "softmax" and experts > 2 else 1e-7
    assert (np.abs(found - values.mean(axis=0)) < error).all()


def test_every_response_has_its_own_predictive_distribution(gate_name, make_problem):
    problem = make_problem(gate_name, seed=9, responses=2, rows=30)
    model, posterior = problem.model, problem.posterior(20)
    for response in range(2):
        found = model.predictive(posterior, problem.block, response)
        location = posterior.experts.mean[:, response] @ problem.block.designs["mean"]
        assert_allclose(found.location, location)
        spread = np.einsum(
            "in,kij,jn->kn",
            problem.block.designs["mean"],
            np.linalg.inv(posterior.experts.precision),
            problem.block.designs["mean"],
        )
        rate = posterior.experts.rate[:, response] / posterior.experts.shape
        assert_allclose(found.scale**2, rate[:, None] * (1.0 + spread))
        assert_allclose(logsumexp(np.log(found.weights), axis=0), 0.0, atol=1e-12)
