"""One covariance per component for all rows: between full and less, and still an ascent."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayesvb.models.network.output_classes_shared import SharedClassOutput
from bayesvb.numerics.linalg import unpack


def shared(problem):
    output = SharedClassOutput(problem.model.output)
    return replace(problem, model=replace(problem.model, output=output))


def as_full(q):
    return replace(q, output=q.output.coefficients)


@pytest.mark.heavy
def test_plain_sweeps_never_lower_the_bound(make_problem):
    for seed in range(40):
        problem = shared(make_problem("classes", seed))
        q, last = problem.start(), -np.inf
        for _ in range(15):
            sweep = problem.model.e_step(q, problem.block)
            bound = sweep.bound - problem.model.kl(q)
            assert bound > last - 1e-9 * abs(bound), seed
            q, last = problem.model.update(sweep.stats), bound


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_is_the_formula_written_out_and_not_above_that_of_free_covariances(
    make_problem, oracle, seed
):
    plain = make_problem("classes", seed, rows=9)
    problem = shared(plain)
    q = problem.posterior()
    rows = problem.latent_rows(q)
    second = unpack(np.moveaxis(rows.moments, 0, -1))
    mean = second[..., -1, :-1]
    covariance = second[..., :-1, :-1] - mean[..., :, None] * mean[..., None, :]
    assert_allclose(covariance, np.broadcast_to(covariance[:, :1], covariance.shape), atol=1e-10)
    fast = problem.model.e_step(q, problem.block).bound - problem.model.kl(q)
    at = oracle.variables(plain, as_full(q)) | {
        "r": rows.responsibilities,
        "m": mean,
        "S": covariance,
        "xi": np.sqrt(oracle.logits(as_full(q), mean, covariance)[1]),
    }
    assert_allclose(fast, oracle.bound(plain, as_full(q), at), rtol=1e-10)
    free = plain.with_output(passes=200).model
    assert free.e_step(as_full(q), plain.block).bound - free.kl(as_full(q)) > fast - 1e-8


def test_blocks_and_the_whole_agree_to_rounding(make_problem):
    problem = shared(make_problem("classes", 5, rows=53, weighted=True))
    q = problem.posterior()
    whole = problem.model.e_step(q, problem.block).stats.to_vector()
    for size in (1, 7, 52):
        parts = problem.source(size).map_reduce(lambda block: problem.model.e_step(q, block))
        assert_allclose(parts.stats.to_vector(), whole, rtol=1e-10, atol=1e-11 * abs(whole).max())


@pytest.mark.heavy
def test_one_row_shares_with_nobody(make_problem):
    """With a single row the best shared covariance is the best one."""
    plain = make_problem("classes", 6, rows=1).with_output(passes=100)
    problem = shared(plain)
    q = problem.start()
    for _ in range(300):
        q = problem.model.update(problem.model.e_step(q, problem.block).stats)
    found = problem.model.e_step(q, problem.block).bound
    assert_allclose(found, plain.model.e_step(as_full(q), plain.block).bound, rtol=1e-8)


@pytest.mark.heavy
def test_a_partition_is_a_start(make_problem, rng):
    problem = shared(make_problem("classes", 9, experts=3))
    partition = rng.dirichlet(np.ones(3), size=problem.block.n_rows).T.copy()
    q = problem.model.update(problem.model.partition_stats(problem.block, partition))
    assert np.isfinite(problem.model.e_step(q, problem.block).bound)


def test_predictions_and_densities_are_those_of_the_coefficients(make_problem, rng):
    plain = make_problem("classes", 9)
    problem = shared(plain)
    q = problem.posterior()
    draws = problem.model.draws(q, 2, rng)
    pairs = [
        (problem.model.log_posterior(q, draws), plain.model.log_posterior(as_full(q), draws)),
        (problem.model.log_prior(draws), plain.model.log_prior(draws)),
        (problem.model.log_lik(draws, plain.block), plain.model.log_lik(draws, plain.block)),
    ]
    latents = problem.model.latents(q, problem.block)
    pairs.append(
        (
            problem.model.output.probabilities(q.output, latents),
            plain.model.output.probabilities(q.output.coefficients, latents),
        )
    )
    for found, expected in pairs:
        assert np.array_equal(found, expected)
