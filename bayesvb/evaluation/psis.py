"""Pareto-smoothed importance sampling.

ArviZ 0.x has the same algorithm and gives the same numbers. Importing it, and matplotlib with it,
takes longer than a first fit of some hundred rows and its summary together.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

from bayesvb.errors import DataError

__all__ = ["psis"]

MIN_DRAWS = 25  # a fifth of the draws is the tail, and a Pareto fit needs five points

FLAT = 1e-6  # log ratios closer than this are equal: rounding noise has no tail to fit

FEWEST_IN_TAIL = 5  # ratios above the edge, less those equal to it, from which a tail is fitted

SMALLEST_LOG = float(np.log(np.finfo(float).tiny))  # log ratios to the largest that count as zero

PRIOR_K, PRIOR_DRAWS = 0.5, 10  # value that k is shrunk towards, and the draws that it stands for


def psis(
    log_ratios: Float[np.ndarray, "draws rows"],
) -> tuple[Float[np.ndarray, "draws rows"], Float[np.ndarray, " rows"]]:
    """Normalised Pareto-smoothed log weights, and the Pareto k of each row.

    Rows without a tail to fit keep their raw weights: k is NaN where
    the largest ratios are all equal, and infinite where fewer than a fifth of the draws
    have any weight at all.

    Raises
    ------
    DataError
        If there are fewer than 25 draws, a ratio is NaN or +inf, or all ratios of a row are -inf.

    References
    ----------
    Vehtari, Simpson, Gelman, Yao, Gabry (2024), Pareto smoothed importance sampling,
    arXiv:1507.02646, algorithm 1 and appendix G for the shrinkage of k.

    Examples
    --------
    >>> heavy = np.random.default_rng(1).standard_cauchy((4000, 1)) ** 2
    >>> log_weights, pareto_k = psis(np.log(heavy))
    >>> bool(pareto_k[0] > 1.0), bool(np.isclose(np.exp(log_weights).sum(), 1.0))
    (True, True)
    """
    draws = _checked_draws(log_ratios)
    tail = math.ceil(min(draws / 5, 3 * math.sqrt(draws)))
    edge = np.partition(log_ratios, -tail - 1, axis=0)[-tail - 1]
    spread = log_ratios.max(axis=0) - edge
    log_weights = log_ratios - logsumexp(log_ratios, axis=0)
    pareto_k = np.where(np.isinf(spread), np.inf, np.nan)
    fitted = np.flatnonzero(np.isfinite(spread) & (spread > FLAT))
    if fitted.size:
        log_weights[:, fitted], pareto_k[fitted] = _smooth(log_ratios[:, fitted], tail)
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


def _smooth(
    log_ratios: Float[np.ndarray, "draws rows"], tail: int
) -> tuple[Float[np.ndarray, "draws rows"], Float[np.ndarray, " rows"]]:
    """Normalised log weights, their tails of at most ``tail`` draws smoothed, and k."""
    found = log_ratios - log_ratios.max(axis=0)
    pareto_k = np.full(found.shape[1], np.inf)
    order = np.argsort(found, axis=0)[-tail - 1 :]
    largest = np.take_along_axis(found, order, axis=0)
    edge = np.maximum(largest[0], SMALLEST_LOG)
    above = (largest > edge).sum(axis=0)  # fewer than the tail where ratios equal the edge
    for length in np.unique(above[above >= FEWEST_IN_TAIL]).tolist():
        (rows,) = np.nonzero(above == length)
        floor = np.exp(edge[rows])
        excess = np.exp(largest[-length:, rows]) - floor
        # A shape far from the best has weight 1 / inf = 0; ratios that underflow have none.
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            k, scale = _generalised_pareto(excess)
            pareto_k[rows] = k
            smoothed = np.log(floor + scale * _standard_quantiles(k, length))
        fits = np.isfinite(k)
        places = order[-length:, rows[fits]], rows[fits]
        found[places] = np.minimum(smoothed[:, fits], 0.0)  # no weight beyond the largest ratio
    return found - logsumexp(found, axis=0), pareto_k


def _generalised_pareto(
    excess: Float[np.ndarray, "tail rows"],
) -> tuple[Float[np.ndarray, " rows"], Float[np.ndarray, " rows"]]:
    r"""Shape k, shrunk towards 0.5, and scale of ascending excesses.

    With ``\theta = -k / \sigma`` the likelihood at its best k is a function of ``\theta`` alone;
    the estimate is its mean over a grid whose points are quantiles of a prior.

    References
    ----------
    Zhang, Stephens (2009), A new and efficient estimation method for the generalized Pareto
    distribution, Technometrics 51(3), section 2; Vehtari et al. (2024), appendix G.
    """
    n = len(excess)
    n_grid = 30 + int(math.sqrt(n))
    quartile = excess[int(n / 4 + 0.5) - 1]
    steps = 1.0 - np.sqrt(n_grid / (np.arange(n_grid) + 0.5))
    theta = steps[:, None] / (3.0 * quartile) + 1.0 / excess[-1]
    shape = np.stack([np.log1p(-point * excess).mean(axis=0) for point in theta])
    log_likelihood = n * (np.log(-theta / shape) - shape - 1.0)
    weight = np.exp(log_likelihood - logsumexp(log_likelihood, axis=0))
    weight[weight < 10.0 * np.finfo(float).eps] = 0.0
    best = (theta * weight).sum(axis=0) / weight.sum(axis=0)
    k = np.log1p(-best * excess).mean(axis=0)
    return (n * k + PRIOR_DRAWS * PRIOR_K) / (n + PRIOR_DRAWS), -k / best


def _standard_quantiles(
    k: Float[np.ndarray, " rows"], length: int
) -> Float[np.ndarray, "tail rows"]:
    """Quantiles of the generalised Pareto distribution with scale one, in the middle of ranks."""
    log_upper = np.log1p(-(np.arange(length) + 0.5) / length)[:, None]
    return np.where(k == 0.0, -log_upper, np.expm1(-k * log_upper) / k)
