"""Pareto-smoothed importance sampling, all rows of a block at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

from bayesvb.errors import DataError
from bayesvb.numerics.arrays import DrawRows, RowIntegers, RowVector
from bayesvb.numerics.pieces import AT_ONCE, pieces

MIN_DRAWS = 25  # a fifth of the draws is the tail, and a Pareto fit needs five points

FLAT = 1e-6  # log ratios closer than this are equal: rounding noise has no tail to fit

FEWEST = 5
"""Draws of a tail that a generalised Pareto distribution can be fitted to."""

SHAPE_DRAWS, SHAPE = 10.0, 0.5
"""Prior of the Pareto k, weakly informative: its weight in draws, and its mean."""


def psis(log_ratios: DrawRows) -> tuple[DrawRows, RowVector]:
    """Normalised Pareto-smoothed log weights, and the Pareto k of each row.

    The numbers are equal to ArviZ's, whose import takes longer than many a fit. Rows without a tail
    to fit keep their raw weights: k is NaN if the largest ratios are all equal, and infinite if
    fewer than a fifth of the draws have any weight at all.

    Raises
    ------
    DataError
        If there are fewer than 25 draws, a ratio is NaN or +inf, or all ratios of a row are -inf.

    References
    ----------
    Vehtari, Simpson, Gelman, Yao, Gabry (2024), Pareto smoothed importance sampling,
    arXiv:1507.02646, algorithm 1.
    """
    draws = _checked_draws(log_ratios)
    tail = math.ceil(min(draws / 5, 3 * math.sqrt(draws)))
    edge = np.partition(log_ratios, -tail - 1, axis=0)[-tail - 1]
    spread = log_ratios.max(axis=0) - edge
    pareto_k = np.where(np.isinf(spread), np.inf, np.nan)
    has_tail = np.isfinite(spread) & (spread > FLAT)
    if has_tail.all():
        return _smooth(log_ratios, tail)
    log_weights = log_ratios - logsumexp(log_ratios, axis=0)
    log_weights[:, has_tail], pareto_k[has_tail] = _smooth(log_ratios[:, has_tail], tail)
    return log_weights, pareto_k


def _checked_draws(log_ratios: np.ndarray) -> int:
    """The number of draws, if importance sampling can use the ratios."""
    draws = int(log_ratios.shape[0])
    if draws < MIN_DRAWS:
        raise DataError(
            f"draws={draws} are too few for Pareto smoothing, which needs {MIN_DRAWS}",
            hint="fit with draws=1000",
        )
    bad = np.isnan(log_ratios) | np.isposinf(log_ratios)
    if bad.any():
        draw, row = (int(i) for i in np.argwhere(bad)[0])
        raise DataError(f"log ratio {log_ratios[draw, row]} at draw {draw}, row {row}")
    empty = np.flatnonzero(np.isneginf(log_ratios.max(axis=0)))
    if empty.size:
        raise DataError(f"every log ratio of row {empty[0]} is -inf: no draw has any weight")
    return draws


def _smooth(log_ratios: DrawRows, tail: int) -> tuple[DrawRows, RowVector]:
    """Normalised smoothed log weights and Pareto k of rows that have a tail."""
    log_weights = log_ratios - log_ratios.max(axis=0)
    order = np.sort(np.argpartition(log_weights, -tail - 1, axis=0)[-tail - 1 :], axis=0)
    ends = np.take_along_axis(log_weights, order, axis=0)
    rank = np.argsort(ends, axis=0, kind="stable")
    order, ends = (np.take_along_axis(each, rank, axis=0) for each in (order, ends))
    cutoff = np.maximum(ends[0], np.log(np.finfo(float).tiny))
    pareto_k = np.full(log_ratios.shape[1], np.inf)
    for rows, length in _equal_tails((ends > cutoff).sum(axis=0)):
        edge = np.exp(cutoff[rows])
        with np.errstate(all="ignore"):  # a shape far from the best has weight 1 / inf = 0
            k, scale = fit_pareto(np.exp(ends[-length:, rows]) - edge)
            smoothed = np.minimum(np.log(_quantiles(length, k, scale) + edge), 0.0)
        pareto_k[rows] = k
        fitted = np.isfinite(smoothed).all(axis=0)
        at = order[-length:, rows[fitted]]
        log_weights[at, rows[fitted]] = smoothed[:, fitted]
    log_weights -= np.log(np.exp(log_weights).sum(axis=0))  # the largest is about zero
    return log_weights, pareto_k


def _equal_tails(lengths: RowIntegers) -> Iterator[tuple[np.ndarray, int]]:
    """Numbers of rows whose tails have as many draws, some at a time, and that number."""
    for length in np.unique(lengths[lengths >= FEWEST]).tolist():
        rows = np.flatnonzero(lengths == length)
        for some in pieces(len(rows), length * _n_candidates(length), AT_ONCE):
            yield rows[some], length


def _n_candidates(length: int) -> int:
    """Candidates of the profile likelihood for a tail of this length."""
    return 30 + math.isqrt(length)


def fit_pareto(excess: Float[np.ndarray, "tail rows"]) -> tuple[RowVector, RowVector]:
    r"""Shape ``k`` and scale of the generalised Pareto distribution of each column.

    The posterior mean of ``\theta = -k / \sigma`` under its profile likelihood, over candidates
    from the largest excess on; the prior moves the shape towards ``SHAPE``.

    Parameters
    ----------
    excess : ndarray, shape (tail, rows)
        Positive and ascending.

    References
    ----------
    Zhang, Stephens (2009), A new and efficient estimation method for the generalized Pareto
    distribution, Technometrics 51(3), eqs 7 to 10. Vehtari, Simpson, Gelman, Yao, Gabry (2024),
    arXiv:1507.02646, appendix G, for the prior of the shape.

    Examples
    --------
    >>> excess = np.expm1(-0.3 * np.log1p(-(np.arange(400) + 0.5) / 400))[:, None] / 0.3
    >>> shape, scale = fit_pareto(excess)
    >>> shape.round(1).tolist(), scale.round(1).tolist()
    ([0.3], [1.0])
    """
    length = len(excess)
    n_candidates = _n_candidates(length)
    share = np.arange(1, n_candidates + 1)[:, None] - 0.5
    quartile = excess[int(length / 4 + 0.5) - 1]
    theta = 1.0 / excess[-1] + (1.0 - np.sqrt(n_candidates / share)) / (3.0 * quartile)
    shapes = np.log1p(-theta[:, None] * excess).mean(axis=1)
    profile = length * (np.log(-theta / shapes) - shapes - 1.0)
    weight = 1.0 / np.exp(profile - profile[:, None]).sum(axis=1)
    weight = np.where(weight >= 10.0 * np.finfo(float).eps, weight, 0.0)
    best = (weight * np.where(weight > 0.0, theta, 0.0)).sum(axis=0) / weight.sum(axis=0)
    shape = np.log1p(-best * excess).mean(axis=0)
    scale = -shape / best
    return (length * shape + SHAPE_DRAWS * SHAPE) / (length + SHAPE_DRAWS), scale


def _quantiles(length: int, shape: RowVector, scale: RowVector) -> Float[np.ndarray, "tail rows"]:
    """Expected order statistics of a generalised Pareto distribution for each column."""
    exponential = -np.log1p(-(np.arange(length)[:, None] + 0.5) / length)
    curved = np.expm1(shape * exponential) / shape
    return scale * np.where(np.abs(shape) < np.finfo(float).eps, exponential, curved)
