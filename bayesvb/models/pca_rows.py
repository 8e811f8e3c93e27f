"""Scores of the rows of a factor model, with or without missing entries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from jaxtyping import Bool, Float

from bayesvb.blocks import Block
from bayesvb.factors.loadings import Loadings
from bayesvb.linalg import inverse_and_log_det, pack, products, unpack
from bayesvb.parts import Draws
from bayesvb.special import LOG_2PI

DRAWS_AT_ONCE = 64
"""Draws whose projections of a block are in memory together."""


@dataclass(frozen=True)
class LatentRows:
    """``q(x_n) = N(mean_n, covariance_n)`` and the rows' part of the lower bound.

    Attributes
    ----------
    mean : ndarray, shape (components, rows)
    covariance : ndarray, shape (components, components) or (rows, components, components)
        One for all rows if nothing is missing.
    bound : ndarray, shape (rows,)
    """

    mean: Float[np.ndarray, "components rows"]
    covariance: Float[np.ndarray, "*rows components components"]
    bound: Float[np.ndarray, " rows"]

    @classmethod
    def of(cls, loadings: Loadings, block: Block) -> Self:
        r"""Scores given the loadings' posterior.

        ``covariance^-1 = I + sum_i E[tau w_i w_i']`` and
        ``mean = covariance sum_i (E[tau w_i] t_i - E[tau w_i mu_i])``, sums over observed ``i``.
        """
        t, seen = block.designs["variables"], block.designs.get("observed")
        tau, moments = loadings.expected_precision, loadings.second_moments
        if seen is None:
            total, n_seen = moments.sum(axis=0), float(len(t))
            precision, crossed = total[:-1, :-1], total[:-1, -1:]
            offset = total[-1, -1]
        else:
            summed = unpack(seen.T @ pack(moments))
            precision, crossed = summed[:, :-1, :-1], summed[:, :-1, -1].T
            offset, n_seen = summed[:, -1, -1], seen.sum(axis=0)
        covariance, log_det = inverse_and_log_det(precision + np.eye(precision.shape[-1]))
        pull = tau * (loadings.mean[:, :-1].T @ t) - crossed
        mean = covariance @ pull if seen is None else _row_by_row(covariance, pull)
        bound = (
            0.5 * n_seen * (loadings.expected_log_precision - LOG_2PI)
            - 0.5 * tau * (t * t).sum(axis=0)
            + tau * (loadings.mean[:, -1] @ t)
            + 0.5 * ((pull * mean).sum(axis=0) - offset - log_det)
        )
        return cls(mean, covariance, bound)

    def sums(
        self, block: Block
    ) -> tuple[
        Float[np.ndarray, "matrices pairs"],
        Float[np.ndarray, "dims columns"],
        Float[np.ndarray, " 1"],
        Float[np.ndarray, " dims"],
    ]:
        """``E[x x']``, ``t E[x]``, ``t^2`` and counts, summed over rows; see ``ScoreSums``."""
        t, seen = block.designs["variables"], block.designs.get("observed")
        n_rows = block.n_rows
        weight = np.ones(n_rows) if block.weight is None else block.weight
        x = np.concatenate([self.mean, np.ones((1, n_rows))])
        weighted = t * weight
        tx, tt = weighted @ x.T, np.array([float((weighted * t).sum())])
        spread = np.zeros((*self.covariance.shape[:-2], len(x), len(x)))
        spread[..., :-1, :-1] = self.covariance
        if seen is None:
            xx = products(x) @ weight + float(weight.sum()) * pack(spread)
            return xx[None], tx, tt, np.full(len(t), float(weight.sum()))
        entries = (products(x).T + pack(spread)) * weight[:, None]
        return seen @ entries, tx, tt, seen @ weight


def _row_by_row(
    matrices: Float[np.ndarray, "rows components components"],
    vectors: Float[np.ndarray, "components rows"],
) -> Float[np.ndarray, "components rows"]:
    """Each row's matrix times its vector."""
    return np.ascontiguousarray((matrices @ vectors.T[..., None])[..., 0].T)


def marginal_log_lik(draws: Draws, block: Block) -> Float[np.ndarray, "draws rows"]:
    """``log N(t | mu, W W' + I / tau)`` of the observed entries of every row, for every draw."""
    t, seen = block.designs["variables"], block.designs.get("observed")
    everything = np.ones((len(t), 1), dtype=bool)
    if seen is None:
        return _of_pattern(draws, t, everything[:, 0])
    patterns, number = np.unique(seen > 0.0, axis=1, return_inverse=True)
    result = np.empty((len(draws["precision"]), block.n_rows))
    for index, pattern in enumerate(patterns.T):
        rows = np.flatnonzero(number.ravel() == index)
        result[:, rows] = _of_pattern(draws, t[:, rows], pattern)
    return result


def _of_pattern(
    draws: Draws, t: Float[np.ndarray, "dims rows"], pattern: Bool[np.ndarray, " dims"]
) -> Float[np.ndarray, "draws rows"]:
    """The same for rows that share their observed variables (Woodbury's identity)."""
    t = t[pattern]
    square = (t * t).sum(axis=0)
    pieces = []
    for first in range(0, len(draws["precision"]), DRAWS_AT_ONCE):
        some = slice(first, first + DRAWS_AT_ONCE)
        loadings, centre = draws["loadings"][some][:, pattern], draws["centre"][some][:, pattern]
        tau = draws["precision"][some][:, None]
        turned = np.swapaxes(loadings, 1, 2)
        inner = np.eye(loadings.shape[2]) + tau[..., None] * (turned @ loadings)
        inverse, log_det = inverse_and_log_det(inner)
        pull = tau[..., None] * (turned @ t - turned @ centre[:, :, None])
        distance = square - 2.0 * (centre @ t) + (centre * centre).sum(axis=1, keepdims=True)
        explained = ((inverse @ pull) * pull).sum(axis=1)
        constant = len(t) * (np.log(tau) - LOG_2PI) - log_det[:, None]
        pieces.append(0.5 * (constant - tau * distance + explained))
    return np.concatenate(pieces)
