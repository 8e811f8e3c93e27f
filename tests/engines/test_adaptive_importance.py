"""Weighted draws have the moments of the exact posterior; the same seed gives the same draws."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.stats import multivariate_t

from bayesvb.engines.adaptive_importance import (
    DOF,
    StudentProposal,
    flatten,
    resample,
    sample_adaptively,
)
from bayesvb.engines.sampler_record import SamplerRecord


def sample_of(model, seed=2, rounds=5):
    space = model.core.reduced_space(model.source.whole())
    proposal = StudentProposal(np.zeros(space.size), np.eye(space.size))
    rng = np.random.default_rng(seed)
    return space, sample_adaptively(space, proposal, rng, rounds, 2000)


def test_the_slope_of_one_line_is_that_of_the_closed_form(one_line):
    """From a proposal that knows nothing; tolerances are four Monte Carlo standard errors."""
    model, mean, sd = one_line
    _, found = sample_of(model)
    weights = np.exp(found.log_ratio - found.log_ratio.max())
    weights /= weights.sum()
    effective = 1.0 / (weights**2).sum()
    slope = found.draws["coefficients"][:, 0, 0, 1]
    own = weights @ slope
    assert effective > 2000.0
    assert abs(own - mean) < 4.0 * sd / np.sqrt(effective)
    spread = np.sqrt(weights @ (slope - own) ** 2)
    assert abs(spread / sd - 1.0) < 4.0 / np.sqrt(effective)


def test_the_same_seed_gives_the_same_draws(one_line):
    """Up to the last bits: NumPy 1 rounds sums by where arrays lie in memory."""
    model = one_line[0]
    one, again, other = (sample_of(model, seed, 2)[1].log_ratio for seed in (2, 2, 3))
    assert_allclose(one, again, rtol=1e-13)
    assert not np.allclose(one, other)


def test_a_proposal_is_a_multivariate_t_with_weighted_moments():
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(4000, 2)) @ np.array([[1.0, 0.5], [0.0, 0.8]])
    weights = np.where(np.arange(4000) % 2, 1.0, 0.0)
    proposal = StudentProposal.from_draws(vectors, weights)
    assert_allclose(proposal.mean, vectors[1::2].mean(axis=0))
    scale = proposal.root @ proposal.root.T
    assert_allclose(scale, np.cov(vectors[1::2].T), rtol=0.01)
    expected = multivariate_t(proposal.mean, scale, df=DOF).logpdf(vectors[:9])
    assert_allclose(proposal.log_density(vectors[:9]), expected)
    drawn = proposal.draw(20_000, rng)
    assert_allclose(np.cov(drawn.T), scale * DOF / (DOF - 2.0), rtol=0.1)


def test_weights_are_flattened_until_enough_draws_count():
    log_ratio = np.append(np.zeros(999), 50.0)
    weights = flatten(log_ratio, 3)
    assert weights.sum() ** 2 / (weights**2).sum() > 24.0
    even = flatten(np.zeros(1000), 3)
    assert_allclose(even, 1.0)


def test_systematic_resampling_has_the_weights():
    weights = np.array([0.5, 0.25, 0.25, 0.0])
    chosen = resample(weights, 1000, np.random.default_rng(1))
    assert_allclose(np.bincount(chosen, minlength=4), [500, 250, 250, 0], atol=1)
    assert np.any(np.diff(chosen) < 0)


def test_a_record_describes_itself():
    weighted = SamplerRecord("importance sampling", 12000, 2700.4, khat=0.25)
    chains = SamplerRecord("HMC", 3200, 1400.0, r_hat=1.02, n_chains=16)
    assert chains.words == "HMC, 16 chains, R-hat 1.02, 1,400 effective"
    for record in (weighted, chains):
        again = SamplerRecord.from_description(record.description())
        assert again.words == record.words
