"""Posterior of latent vectors: from natural parameters to moments, with two kinds of covariance."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from jaxtyping import Float

from bayesvb.models.network.experts import LatentPrior
from bayesvb.numerics.arrays import ExpertRows, Floats
from bayesvb.numerics.packed_matrices import (
    add_outer,
    diagonal_numbers,
    log_det,
    row_of,
    solve,
    solve_and_invert,
)
from bayesvb.numerics.special import LOG_2PI, log_sum_exp


def prior_moments(prior: LatentPrior) -> Float[np.ndarray, "pairs experts rows"]:
    """``E[u u']`` before the response is observed: the start of the inner iterations."""
    n_latents = len(prior.linear)
    moments = np.zeros(((n_latents + 1) * (n_latents + 2) // 2, *prior.linear.shape[1:]))
    moments[diagonal_numbers(n_latents)] = 1.0 / prior.precision
    np.divide(prior.linear, prior.precision, out=row_of(moments, n_latents)[:-1])
    add_outer(moments, n_latents)
    return moments


def expert_terms(prior: LatentPrior, moments: Float[np.ndarray, "pairs _ rows"]) -> ExpertRows:
    """Expected log density of the latent vectors under every expert, plus the log weights."""
    n_latents = len(prior.linear)
    terms = prior.linear * row_of(moments, n_latents)[:-1]
    terms -= 0.5 * prior.precision * moments[diagonal_numbers(n_latents)]
    total: ExpertRows = terms.sum(axis=0)
    total += prior.constant
    return total


def settle_full(
    natural: Float[np.ndarray, "pairs ..."], n_latents: int
) -> Float[np.ndarray, "terms ..."]:
    """Pivots of ``P``; in place the border of ``P`` and ``b`` becomes ``E[u u']``."""
    pivots = solve_and_invert(natural, n_latents)
    add_outer(natural, n_latents)
    return pivots


def settle_diagonal(
    natural: Float[np.ndarray, "pairs ..."], n_latents: int
) -> Float[np.ndarray, "terms ..."]:
    """Moments for independent entries: variances ``1 / P_ii``, and still the exact mean."""
    diagonal = diagonal_numbers(n_latents)
    precision = natural[diagonal]
    solve(natural, n_latents)
    natural[: n_latents * (n_latents + 1) // 2] = 0.0
    natural[diagonal] = 1.0 / precision
    add_outer(natural, n_latents)
    return precision


Settle = Callable[[Float[np.ndarray, "pairs ..."], int], Float[np.ndarray, "terms ..."]]

COVARIANCES: Mapping[str, Settle] = {"full": settle_full, "diagonal": settle_diagonal}
"""Representations of ``N(P^-1 b, P^-1)``; each maximises the ELBO in its family."""


def settle_shared(precision: Float[np.ndarray, "pairs experts 1"], n_latents: int) -> Settle:
    """Settle for given precisions of the latent vectors, packed; the means still are the best."""
    covariance = precision.copy()
    pivots = solve_and_invert(covariance, n_latents)

    def settle(
        natural: Float[np.ndarray, "pairs ..."], n_latents: int
    ) -> Float[np.ndarray, "terms ..."]:
        solve(natural, n_latents)
        natural[: len(covariance)] = covariance
        add_outer(natural, n_latents)
        return pivots

    return settle


def entropy(pivots: Float[np.ndarray, "terms ..."]) -> Floats:
    """Entropy of latent vectors, from the pivots of their precisions."""
    total = log_det(pivots)
    total *= -0.5
    total += 0.5 * len(pivots) * (1.0 + LOG_2PI)
    return total


def posterior_moments(
    natural: Float[np.ndarray, "pairs _ rows"], prior: LatentPrior, settle: Settle
) -> Float[np.ndarray, "latents _ _"]:
    """Pivots of the best latent vectors; in place, what responses add becomes ``E[u u']``."""
    n_latents = len(prior.linear)
    for i, diagonal in enumerate(diagonal_numbers(n_latents)):
        natural[diagonal] += prior.precision[i]
    border = row_of(natural, n_latents)[:-1]
    border += prior.linear
    return settle(natural, n_latents)


def first_responsibilities(prior: LatentPrior, log_lik: ExpertRows) -> ExpertRows:
    """Component probabilities if every expert's latent vectors were as before the response."""
    linear = prior.linear
    log_weights = prior.constant + (linear * linear / (2.0 * prior.precision)).sum(axis=0)
    return log_sum_exp(log_weights + log_lik)[1]


def averaged(prior: LatentPrior, responsibilities: ExpertRows) -> LatentPrior:
    """Prior of a latent vector that does not depend on the component: one expert for all."""
    return LatentPrior(
        linear=(prior.linear * responsibilities).sum(axis=1, keepdims=True),
        precision=(prior.precision * responsibilities).sum(axis=1, keepdims=True),
        constant=(prior.constant * responsibilities).sum(axis=0, keepdims=True),
    )


def directions(n_latents: int, n_responses: int) -> Float[np.ndarray, "latents responses"]:
    """Identity, or cosines of different frequencies where the lengths differ."""
    if n_latents == n_responses:
        return np.eye(n_latents)
    longer = max(n_latents, n_responses)
    phase = np.outer(np.arange(n_latents), np.arange(n_responses) + 0.5)
    return np.asarray(np.cos(np.pi * phase / longer))
