"""How much each of several posteriors of the same data should count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

from bayesvb.blocks import Source
from bayesvb.elpd import Elpd
from bayesvb.linear_response import LinearResponse, withheld
from bayesvb.models.ensemble import Ensemble, joined
from bayesvb.named_draws import count, log_lik_blocks
from bayesvb.parts import Draws
from bayesvb.psis import psis

if TYPE_CHECKING:
    from bayesvb.fit import Fit

SMALLEST_WEIGHT = 0.01
"""Weight below which a restart is left out."""

SAME_BOUND, SAME_DENSITY = 0.1, 0.02
"""Nats in total and, on average, per row by which two restarts may differ and be one optimum."""


@dataclass(frozen=True, eq=False)
class Member:
    """One restart of a fit that combines several.

    Attributes
    ----------
    number : int
        Number of the restart.
    weight : float
    fit : Fit
        The fit which that restart makes by itself.
    """

    number: int
    weight: float
    fit: Fit


def stacked(members: Sequence[Member]) -> Fit:
    """The fit that several restarts make together, the heaviest first.

    Each has a share of the draws that goes by its weight.
    """
    labels = {member.fit.covariance for member in members}
    label = labels.pop() if len(labels) == 1 else "mean-field"
    fits = [member.fit.with_covariance(label) for member in members]
    first = fits[0]
    weights = np.array([member.weight for member in members])
    counts = whole_shares(weights, count(first.draws))
    draws, order = joined(
        [one.draws for one in fits], counts, np.random.default_rng([first.seed, 3])
    )
    q_draws, _ = joined(
        [one.q_draws for one in fits], counts, np.random.default_rng([first.seed, 3])
    )
    log_q = np.concatenate([one.log_q[:n] for one, n in zip(fits, counts, strict=True)])
    return replace(
        first,
        core=Ensemble(tuple(one.core for one in fits), weights),
        sums=tuple(one.sums for one in fits),
        draws=draws,
        q_draws=q_draws,
        log_q=log_q[order],
        response=_responses(fits),
        converged=all(one.converged for one in fits),
        members=tuple(members),
    )


def _responses(fits: Sequence[Fit]) -> LinearResponse:
    """What the linear responses of all members have in common: none if one has none."""
    passes = sum(one.response.n_iter for one in fits)
    failures = [one.response.failure for one in fits if one.response.failure is not None]
    if failures:
        return withheld(failures[0], passes)
    return LinearResponse(np.empty((0, 0)), passes)


def combined(weights: Float[np.ndarray, " members"], each: Sequence[Elpd]) -> Elpd:
    """Criterion of the mixture of the members' predictive distributions.

    The density of a row is the mixture of its densities; its Pareto k the largest; ``p`` the
    average by weight. That the weights were chosen on the same rows is not corrected for.
    """
    pointwise = logsumexp(
        np.log(weights)[:, None] + np.stack([one.pointwise for one in each]), axis=0
    )
    ks = [one.pareto_k for one in each if one.pareto_k is not None]
    return replace(
        each[0],
        pointwise=pointwise,
        p=float(weights @ [one.p for one in each]),
        warning=any(one.warning for one in each),
        pareto_k=np.fmax.reduce(ks) if ks else None,
    )


def held_out(core: Any, source: Source, draws: Draws) -> Float[np.ndarray, " rows"]:
    """Leave-one-out log density of every row, by Pareto-smoothed importance sampling."""
    parts = []
    for block in log_lik_blocks(core, source, draws, 0.0):
        log_weights, _ = psis(-block)
        parts.append(logsumexp(log_weights + block, axis=0))
    return np.concatenate(parts)


def distinct(bounds: Sequence[float], log_density: Float[np.ndarray, "members rows"]) -> list[int]:
    """Numbers of the members that are optima of their own, the best bound of each."""
    chosen: list[int] = []
    for number in np.argsort(-np.asarray(bounds), kind="stable").tolist():
        if not any(
            abs(bounds[other] - bounds[number]) < SAME_BOUND
            and np.abs(log_density[other] - log_density[number]).mean() < SAME_DENSITY
            for other in chosen
        ):
            chosen.append(number)
    return sorted(chosen)


def kept(weights: Float[np.ndarray, " members"]) -> Float[np.ndarray, " members"]:
    """Weights without those too small to matter."""
    large = np.where(weights < min(SMALLEST_WEIGHT, weights.max()), 0.0, weights)
    return np.asarray(large / large.sum())


def whole_shares(weights: Float[np.ndarray, " members"], total: int) -> list[int]:
    """Numbers of draws by weight, with this sum: largest remainders, at least one each."""
    exact = weights * total
    counts = np.maximum(np.floor(exact), 1.0)
    while counts.sum() < total:
        counts[np.argmax(exact - counts)] += 1.0
    while counts.sum() > total:
        counts[np.argmax(counts)] -= 1.0
    return [int(n) for n in counts]
