"""Predictions and densities of a network against plain Monte Carlo and scipy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, logsumexp
from scipy.stats import gamma, multivariate_normal, norm

KINDS = ("classes", "responses")
N_DRAWS = 20_000


def stick_probabilities(logit):
    """Class probabilities on the last axis from the logits of the sticks."""
    stop, ends = expit(logit), np.ones((*logit.shape[:-1], 1))
    left = np.concatenate([ends, np.cumprod(1.0 - stop, axis=-1)], axis=-1)
    return np.concatenate([stop, ends], axis=-1) * left


def simulated_latents(problem, draws, rng):
    """``[x1, 1]`` of every draw, expert and row, and the weights of the experts."""
    location = draws["coefficients"] @ problem.block.designs["mean"]
    noise = rng.standard_normal(location.shape) / np.sqrt(draws["precision"])[..., None]
    x1 = np.swapaxes(location + noise, -1, -2)
    logit = np.swapaxes(draws["gate"] @ problem.block.designs["gating"], 1, 2)
    return np.concatenate([x1, np.ones((*x1.shape[:-1], 1))], axis=-1), stick_probabilities(logit)


@pytest.mark.parametrize("seed", range(3))
def test_class_probabilities_are_those_of_plain_monte_carlo(make_problem, seed, rng):
    problem = make_problem("classes", seed, rows=12)
    q = problem.posterior()
    found = problem.model.output.probabilities(q.output, problem.model.latents(q, problem.block))
    assert_allclose(found.sum(axis=0), 1.0, rtol=1e-13)
    draws = problem.model.draws(q, N_DRAWS, rng)
    vectors, weights = simulated_latents(problem, draws, rng)
    logit = np.einsum("skna,sla->sknl", vectors, draws["output"])
    simulated = (weights.swapaxes(1, 2)[..., None] * stick_probabilities(logit)).sum(axis=1)
    error = simulated.std(axis=0).T / np.sqrt(N_DRAWS)
    assert (np.abs(found - simulated.mean(axis=0).T) < 4.5 * error + 0.004).all()


def test_class_probabilities_do_not_depend_on_the_other_rows(make_problem):
    problem = make_problem("classes", 1, rows=12)
    q = problem.posterior()

    def probabilities(block):
        return problem.model.output.probabilities(q.output, problem.model.latents(q, block))

    parts = [probabilities(part) for part in problem.block.split(5)]
    assert_allclose(np.concatenate(parts, axis=1), probabilities(problem.block), rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_log_lik_of_labels_is_that_of_simulated_latent_vectors(make_problem, seed, rng):
    problem = make_problem("classes", seed, rows=10)
    q = problem.posterior()
    draws = problem.model.draws(q, 3, rng)
    found = problem.model.log_lik(draws, problem.block)
    y = problem.block.response[0].astype(int)
    for s in range(3):
        repeated = {
            name: np.repeat(value[s : s + 1], 20_000, axis=0) for name, value in draws.items()
        }
        vectors, weights = simulated_latents(problem, repeated, rng)
        logit = np.einsum("skna,sla->sknl", vectors, repeated["output"])
        picked = stick_probabilities(logit)[:, :, np.arange(len(y)), y]
        simulated = (weights.swapaxes(1, 2) * picked).sum(axis=1)
        error = simulated.std(axis=0) / np.sqrt(len(simulated))
        assert (np.abs(np.exp(found[s]) - simulated.mean(axis=0)) < 4.5 * error + 0.01).all()


def test_the_probabilities_of_all_labels_of_a_row_sum_to_one(make_problem, rng):
    problem = make_problem("classes", 2, rows=10)
    draws = problem.model.draws(problem.posterior(), 4, rng)
    total = np.zeros((4, 10))
    for label in range(problem.model.output.n_classes):
        response = np.full((1, 10), float(label))
        block = type(problem.block)(problem.block.designs, response)
        total += np.exp(problem.model.log_lik(draws, block))
    assert_allclose(total, 1.0, rtol=1e-12)


@pytest.mark.parametrize("size", [1.0, 30.0, 1000.0])
def test_log_lik_of_labels_does_not_depend_on_how_far_logits_are(make_problem, size, monkeypatch):
    """Rows whose products leave the range of numbers are gone over with logarithms."""
    problem = make_problem("classes", 2, rows=40)
    draws = dict(problem.model.draws(problem.posterior(), 3, np.random.default_rng(0)))
    draws["output"] = draws["output"] * size
    found = problem.model.log_lik(draws, problem.block)
    monkeypatch.setattr("bayesvb.models.network.class_probabilities.SMALLEST_PROBABILITY", np.inf)
    assert np.isfinite(found).all()
    assert_allclose(found, problem.model.log_lik(draws, problem.block), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_log_lik_of_responses_is_a_mixture_of_gaussians(make_problem, seed, rng):
    problem = make_problem("responses", seed, rows=6)
    draws = problem.model.draws(problem.posterior(), 2, rng)
    found = problem.model.log_lik(draws, problem.block)
    logit = np.swapaxes(draws["gate"] @ problem.block.designs["gating"], 1, 2)
    log_weights = np.log(np.maximum(stick_probabilities(logit), 1e-300))
    for s, n in np.ndindex(*found.shape):
        slope, intercept = draws["output"][s, :, :-1], draws["output"][s, :, -1]
        terms = []
        for k in range(problem.model.n_components):
            location = draws["coefficients"][s, k] @ problem.block.designs["mean"][:, n]
            scatter = slope @ np.diag(1.0 / draws["precision"][s, k]) @ slope.T
            scatter += np.diag(1.0 / draws["output_precision"][s])
            terms.append(
                log_weights[s, n, k]
                + multivariate_normal.logpdf(
                    problem.block.response[:, n], slope @ location + intercept, scatter
                )
            )
        assert_allclose(found[s, n], logsumexp(terms), rtol=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_predictive_distribution_of_a_response_is_that_of_simulations(make_problem, seed, rng):
    problem = make_problem("responses", seed, rows=8)
    q = problem.posterior()
    draws = problem.model.draws(q, N_DRAWS, rng)
    vectors, weights = simulated_latents(problem, draws, rng)
    for response in range(len(problem.block.response)):
        found = problem.model.predictive(q, problem.block, response)
        mean = np.einsum("skna,sa->skn", vectors, draws["output"][:, response])
        sd = 1.0 / np.sqrt(draws["output_precision"][:, response])[:, None, None]
        for y in (-1.0, 0.5, 2.0):
            below = (weights.swapaxes(1, 2) * norm.cdf(y, mean, sd)).sum(axis=1)
            error = below.std(axis=0) / np.sqrt(N_DRAWS)
            cdf = found.cdf(np.full(8, y))
            assert (np.abs(cdf - below.mean(axis=0)) < 4.5 * error + 0.006).all()


def log_density_of_experts(mean, covariance, shape, rate, coefficients, precision):
    total = 0.0
    for k, i in np.ndindex(precision.shape):
        total += gamma.logpdf(precision[k, i], shape[k], scale=1.0 / rate[k, i])
        total += multivariate_normal.logpdf(
            coefficients[k, i], mean[k, i], covariance[k] / precision[k, i]
        )
    return total


@pytest.mark.parametrize("kind", KINDS)
def test_densities_of_draws_are_those_of_scipy(make_problem, kind, rng):
    problem = make_problem(kind, 4, experts=3)
    model, q = problem.model, problem.posterior()
    draws = model.draws(q, 2, rng)
    prior = model.experts.prior
    names = ("mean", "covariance", "shape", "rate")
    shared = [np.repeat(np.asarray(getattr(prior, name))[None], 3, axis=0) for name in names]
    for s in range(2):
        expected = [0.0, 0.0]
        for at, arrays in enumerate((shared, [getattr(q.experts, name) for name in names])):
            expected[at] += log_density_of_experts(
                *arrays, draws["coefficients"][s], draws["precision"][s]
            )
        normals = [(model.gate.prior, q.gate, draws["gate"][s])]
        if kind == "classes":
            normals.append((model.output.prior, q.output, draws["output"][s]))
        else:
            for at, out in enumerate((model.output.prior, q.output)):
                arrays = [np.asarray(getattr(out, name)) for name in ("mean", "covariance")]
                arrays += [np.asarray(out.shape), np.asarray(out.rate)]
                arrays = [a if at else a[None] for a in arrays]
                expected[at] += log_density_of_experts(
                    *arrays, draws["output"][s][None], draws["output_precision"][s][None]
                )
        for before, after, value in normals:
            for row in range(len(value)):
                expected[0] += multivariate_normal.logpdf(
                    value[row], before.mean[row], before.covariance
                )
                expected[1] += multivariate_normal.logpdf(
                    value[row], after.mean[row], after.covariance[row]
                )
        found = model.log_prior(draws)[s], model.log_posterior(q, draws)[s]
        assert_allclose(found, expected, rtol=1e-9)
