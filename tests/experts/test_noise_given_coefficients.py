"""Turns between coefficients and noise in coordinates without matrices: those with matrices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayesvb.experts.linear import LinearStats
from bayesvb.experts.linear_semiconjugate import (
    NormalAndGamma,
    SemiConjugateExperts,
    SemiConjugateStats,
)
from bayesvb.experts.noise_given_coefficients import NoiseGivenCoefficients
from bayesvb.factors.gamma import Gamma
from bayesvb.factors.normal import Normal

EXPERTS, RESPONSES, TERMS, ROWS = 4, 2, 3, 30


def problem(seed: int, rows: int = ROWS) -> tuple[SemiConjugateExperts, LinearStats]:
    """Experts whose prior correlates coefficients and centres them anywhere, and sums."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(TERMS, TERMS))
    prior = Normal.from_precision(
        rng.normal(size=(RESPONSES, TERMS)), root @ root.T + np.eye(TERMS)
    )
    noise = Gamma(rng.uniform(0.5, 2.0, RESPONSES), rng.uniform(0.1, 2.0, RESPONSES))
    x, y = rng.normal(size=(TERMS, rows)), rng.normal(size=(RESPONSES, rows))
    share = rng.dirichlet(np.ones(EXPERTS), rows).T
    lower = np.tril_indices(TERMS)
    stats = LinearStats(
        weight=share.sum(axis=1),
        xx=np.einsum("kn,in,jn->kij", share, x, x)[:, *lower],
        xy=np.einsum("kn,rn,jn->krj", share, y, x),
        yy=share @ (y**2).T,
    )
    return SemiConjugateExperts(NormalAndGamma(prior, noise)), stats


@pytest.mark.parametrize("rows", [1, 2, ROWS])
def test_a_turn_is_that_of_the_two_updates(rows: int) -> None:
    experts, stats = problem(rows, rows)
    precision = np.random.default_rng(2).uniform(0.1, 30.0, (EXPERTS, RESPONSES))
    turn = NoiseGivenCoefficients.of(experts.prior.coefficients, experts.prior.noise, stats)
    wanted = experts.update(SemiConjugateStats(stats, precision)).noise.mean
    assert_allclose(turn.next(precision), wanted, rtol=1e-9)


def test_turns_settle_where_neither_update_moves() -> None:
    experts, stats = problem(5)
    precision = experts.global_step(None, stats).precision
    for _ in range(5):
        posterior = experts.update(SemiConjugateStats(stats, precision))
        precision = experts.global_step(posterior, stats).precision
    moved = experts.update(SemiConjugateStats(stats, precision)).noise.mean
    assert_allclose(moved, precision, rtol=1e-7)


def test_sums_outside_the_domain_are_refused() -> None:
    experts, stats = problem(7)
    own = experts.prior
    ones = np.ones((EXPERTS, RESPONSES))
    flipped = LinearStats(stats.weight, -stats.xx, stats.xy, stats.yy)
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        NoiseGivenCoefficients.of(own.coefficients, own.noise, flipped).next(1e6 * ones)
    taken = LinearStats(stats.weight, stats.xx, stats.xy, -stats.yy)
    with pytest.raises(np.linalg.LinAlgError, match="positive"):
        NoiseGivenCoefficients.of(own.coefficients, own.noise, taken).next(ones)
