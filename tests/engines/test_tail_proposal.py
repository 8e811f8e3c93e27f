"""Proposals along a tail find it; weights of draws that never saw it look as good."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from bayesvb.engines.adaptive_importance import StudentProposal, sample_adaptively
from bayesvb.engines.tail_proposal import MixtureProposal, propose_along
from bayesvb.evaluation.psis import psis
from bayesvb.variational.reduced_space import AbstractReducedSpace, LongTail

SHARE, SPREAD, WIDE = 0.85, 0.15, 1.2
"""Of the middle of the posterior; standard deviations of the middle and of the tail."""


class Bent(AbstractReducedSpace):
    """A narrow middle and a long tail of the first number, along which the second moves away."""

    size = 2
    few_rows = 0

    def vectors(self, draws):
        return draws["v"]

    def log_lik(self, vectors):
        return self.log_lik_slopes(vectors)[0]

    def log_lik_slopes(self, vectors):
        first, second = vectors.T
        parts = np.array([
            np.log(SHARE) + norm.logpdf(first, 0.0, SPREAD) + norm.logpdf(second),
            np.log(1.0 - SHARE) + norm.logpdf(first, -2.5, WIDE) + norm.logpdf(second, 10.0, 0.5),
        ])  # fmt: skip
        value = np.logaddexp(*parts)
        middle, tail = np.exp(parts - value)
        of_first = -middle * first / SPREAD**2 - tail * (first + 2.5) / WIDE**2
        return value, np.column_stack([of_first, -middle * second - tail * (second - 10.0) / 0.25])

    def log_prior_slopes(self, vectors):
        return np.zeros(len(vectors)), np.zeros_like(vectors)

    def complete(self, vectors, rng):
        return {"v": vectors}, np.zeros(len(vectors))

    def log_joint(self, vectors, draws):
        return self.log_lik(vectors)


MIDDLE = StudentProposal(np.zeros(2), np.diag([SPREAD, 1.0]))

TAIL = LongTail(0, -np.array([0.1, 0.5, 1.0, 1.7, 2.5, 3.5, 5.0]), np.empty((0, 2)))


def sd_and_weights(proposal):
    """Standard deviation of the first number, and Pareto k and effective number of the weights."""
    found = sample_adaptively(Bent(), proposal, np.random.default_rng(1), 3, 2000)
    log_weights, k = psis(found.log_ratio[:, None])
    weights, first = np.exp(log_weights[:, 0]), found.vectors[:, 0]
    mean = weights @ first
    return np.sqrt(weights @ (first - mean) ** 2), k[0], 1.0 / (weights**2).sum()


def test_the_tail_has_its_mass():
    """Without a proposal along it, the weights look good and the spread is a sixth."""
    true = np.sqrt(SHARE * SPREAD**2 + (1 - SHARE) * WIDE**2 + SHARE * (1 - SHARE) * 2.5**2)
    sd, k, effective = sd_and_weights(MIDDLE)
    assert sd < 0.3 * true and k < 0.5 and effective > 400.0
    sd, k, effective = sd_and_weights(propose_along(Bent(), TAIL, MIDDLE))
    assert_allclose(sd, true, rtol=4.0 / np.sqrt(0.15 * effective))
    assert k < 0.5 and effective > 2000.0


@pytest.mark.parametrize("ends", [np.empty((0, 2)), np.array([[0.0, 10.0]])])
def test_optima_are_given_the_number_and_found_once(ends):
    proposal = propose_along(Bent(), LongTail(0, TAIL.values, ends), MIDDLE)
    assert_allclose(proposal.shares.sum(), 1.0)
    assert proposal.shares[0] == 0.5 and proposal.parts[0] is MIDDLE
    places = np.array([part.mean for part in proposal.parts[1:]])
    gaps = np.abs(places[:, None] - places).max(axis=2)[np.triu_indices(len(places), 1)]
    assert gaps.min() > 0.1 and np.isin(places[:, 0], TAIL.values).all()
    steepest = Bent().log_lik_slopes(places)[1][:, 1]
    assert_allclose(steepest, 0.0, atol=1e-3)


def test_a_mixture_adapts_its_shares_and_parts():
    """An EM step from the truth stays there; a part without weight keeps its moments."""
    rng = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0], [8.0, 0.0], [-50.0, 0.0]])
    parts = tuple(StudentProposal(centre, np.eye(2)) for centre in centres)
    mixture = MixtureProposal(parts, np.array([0.6, 0.3, 0.1]))
    vectors = np.concatenate([rng.normal(size=(3000, 2)), rng.normal(size=(1000, 2)) + centres[1]])
    adapted = mixture.adapted(vectors, np.ones(4000))
    assert_allclose(adapted.shares, np.array([0.75, 0.25, 0.02]) / 1.02, atol=0.01)
    assert_allclose(adapted.parts[1].mean, centres[1], atol=0.15)
    assert adapted.parts[2] is parts[2]
    alone = [np.log(share) + part.log_density(vectors[:5]) for share, part in
             zip(mixture.shares, parts, strict=True)]  # fmt: skip
    assert_allclose(mixture.log_density(vectors[:5]), np.logaddexp.reduce(alone))
    assert_allclose((mixture.draw(9000, rng)[:, 0] > 4.0).mean(), 0.3, atol=0.03)
