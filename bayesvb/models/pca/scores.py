"""Scores of the rows of a factor model, with or without missing entries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from bayesvb.data.blocks import Block
from bayesvb.factors.loadings import Loadings
from bayesvb.numerics.array_library import namespace
from bayesvb.numerics.arrays import DimRows, DrawRows, RowIntegers, RowVector
from bayesvb.numerics.linalg import (
    inverse_and_log_det,
    pack,
    products,
    quadratic_weights,
    times,
    unpack,
)
from bayesvb.numerics.pieces import pieces
from bayesvb.numerics.special import LOG_2PI
from bayesvb.variational.local import Draws


@dataclass(frozen=True)
class Patterns:
    """Patterns of observed variables: rows of one pattern share their matrices.

    Attributes
    ----------
    seen : ndarray, shape (dims, patterns)
        One where the variable is observed, else zero.
    number : ndarray, shape (rows,)
        Pattern of each row.
    """

    seen: Float[np.ndarray, "dims patterns"]
    number: RowIntegers

    @classmethod
    def of(cls, block: Block) -> Patterns:
        """Patterns that occur; one if nothing is missing."""
        t, seen = block.designs["variables"], block.designs.get("observed")
        if seen is None:
            return cls(np.ones((len(t), 1)), np.zeros(block.n_rows, dtype=np.intp))
        bits = np.ascontiguousarray(np.packbits(seen > 0.0, axis=0).T)
        keys = bits.view(np.dtype((np.void, bits.shape[1]))).ravel()
        _, first, number = np.unique(keys, return_index=True, return_inverse=True)
        return cls(seen[:, first], number)

    def sums(self, weight: RowVector) -> Float[np.ndarray, " patterns"]:
        """Total weight of the rows of each pattern."""
        return np.bincount(self.number, weight, minlength=self.seen.shape[1]).astype(float)


@dataclass(frozen=True)
class LatentPosterior:
    """``q(x_n) = N(mean_n, covariance_n)`` and the rows' part of the lower bound.

    Attributes
    ----------
    mean : ndarray, shape (components, rows)
    covariance : ndarray, shape (patterns, components, components)
    patterns : Patterns
    bound : ndarray, shape (rows,)
    """

    mean: Float[np.ndarray, "components rows"]
    covariance: Float[np.ndarray, "patterns components components"]
    patterns: Patterns
    bound: RowVector

    @classmethod
    def of(cls, loadings: Loadings, block: Block) -> LatentPosterior:
        r"""Scores given the loadings' posterior.

        ``covariance^-1 = I + sum_i E[tau w_i w_i']`` and
        ``mean = covariance sum_i (E[tau w_i] t_i - E[tau w_i mu_i])``, sums over observed ``i``.
        """
        t, patterns = block.designs["variables"], Patterns.of(block)
        tau, number = loadings.expected_precision, patterns.number
        moments = unpack(patterns.seen.T @ pack(loadings.second_moments))
        precision = moments[:, :-1, :-1] + np.eye(moments.shape[-1] - 1)
        covariance, log_det = inverse_and_log_det(precision)
        pull = tau * (loadings.mean[:, :-1].T @ t) - moments[:, :-1, -1].T[:, number]
        if len(covariance) == 1:
            mean = covariance[0] @ pull
        else:
            mean = np.ascontiguousarray(times(covariance[number], pull.T).T)
        constant = 0.5 * patterns.seen.sum(axis=0) * (
            loadings.expected_log_precision - LOG_2PI
        ) - 0.5 * (moments[:, -1, -1] + log_det)
        bound = (
            constant[number]
            - 0.5 * tau * (t * t).sum(axis=0)
            + tau * (loadings.mean[:, -1] @ t)
            + 0.5 * (pull * mean).sum(axis=0)
        )
        return cls(mean, covariance, patterns, bound)

    @property
    def columns(self) -> Float[np.ndarray, "columns rows"]:
        """Mean scores with the one of the centre appended."""
        return np.concatenate([self.mean, np.ones((1, self.mean.shape[1]))])

    @property
    def spread(self) -> Float[np.ndarray, "patterns pairs"]:
        """Packed covariance of these columns."""
        n_columns = len(self.mean) + 1
        padded = np.zeros((len(self.covariance), n_columns, n_columns))
        padded[:, :-1, :-1] = self.covariance
        return pack(padded)

    def fitted(self, loadings: Loadings) -> DimRows:
        """Mean of every entry given the row's observed ones."""
        return np.asarray(loadings.mean[:, :-1] @ self.mean + loadings.mean[:, -1:])

    def variance(self, loadings: Loadings) -> DimRows:
        r"""Variance of a new entry: noise, uncertain loadings and uncertain scores.

        ``b / (a - 1) (1 + tr V_i^-1 E[x x']) + m_i' S m_i``, exact under q.
        """
        number = self.patterns.number
        noise = loadings.rate / (loadings.shape - 1.0)
        second = products(self.columns) + self.spread.T[:, number]
        uncertain = quadratic_weights(loadings.covariance) @ second
        weights = loadings.mean[:, :, None] * loadings.mean[:, None, :]
        scores = quadratic_weights(weights) @ self.spread.T
        return np.asarray(noise * (1.0 + uncertain) + scores[:, number])

    def sums(
        self, block: Block
    ) -> tuple[
        Float[np.ndarray, "matrices pairs"],
        Float[np.ndarray, "dims columns"],
        Float[np.ndarray, " 1"],
        Float[np.ndarray, " dims"],
    ]:
        """``E[x x']``, ``t E[x]``, ``t^2`` and counts, summed over rows; see ``ScoreStats``."""
        t, x, seen = block.designs["variables"], self.columns, block.designs.get("observed")
        weight = np.ones(block.n_rows) if block.weight is None else block.weight
        weighted = t * weight
        tx, tt = weighted @ x.T, np.array([float((weighted * t).sum())])
        spread = self.spread * self.patterns.sums(weight)[:, None]
        if seen is None:
            xx = products(x) @ weight + spread[0]
            return xx[None], tx, tt, np.full(len(t), float(weight.sum()))
        xx = (seen * weight) @ products(x).T + self.patterns.seen @ spread
        return xx, tx, tt, seen @ weight


def marginal_log_lik(draws: Draws, block: Block) -> DrawRows:
    """``log N(t | mu, W W' + I / tau)`` of the observed entries of every row, for every draw."""
    t, patterns = block.designs["variables"], Patterns.of(block)
    xp, order = namespace(draws["precision"]), np.argsort(patterns.number, kind="stable")
    result: DrawRows = xp.concatenate(
        [
            _of_pattern(draws, t[:, patterns.number == index], pattern)
            for index, pattern in enumerate(patterns.seen.T > 0.0)
        ],
        axis=1,
    )
    if patterns.seen.shape[1] > 1:
        result = result[:, np.argsort(order)]
    return result


def _of_pattern(draws: Draws, t: DimRows, pattern: Bool[np.ndarray, " dims"]) -> DrawRows:
    """Scores of rows that share their observed variables (Woodbury's identity)."""
    xp, t = namespace(draws["precision"]), t[pattern]
    square = (t * t).sum(axis=0)
    parts = []
    # Draws whose projections of a block are in memory together.
    for some in pieces(len(draws["precision"]), 1, 64):
        loadings, centre = draws["loadings"][some][:, pattern], draws["centre"][some][:, pattern]
        tau = draws["precision"][some][:, None]
        turned = xp.swapaxes(loadings, 1, 2)
        inner = xp.eye(loadings.shape[2]) + tau[..., None] * (turned @ loadings)
        inverse, log_det = inverse_and_log_det(inner)
        pull = tau[..., None] * (turned @ t - turned @ centre[:, :, None])
        distance = square - 2.0 * (centre @ t) + (centre * centre).sum(axis=1, keepdims=True)
        explained = ((inverse @ pull) * pull).sum(axis=1)
        constant = len(t) * (xp.log(tau) - LOG_2PI) - log_det[:, None]
        parts.append(0.5 * (constant - tau * distance + explained))
    moments: DrawRows = xp.concatenate(parts)
    return moments
