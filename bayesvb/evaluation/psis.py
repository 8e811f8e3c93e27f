"""Pareto-smoothed importance sampling through the installed line of ArviZ."""

from __future__ import annotations

import importlib
import math

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

from bayesvb.errors import DataError

__all__ = ["psis"]

MIN_DRAWS = 25  # a fifth of the draws is the tail, and a Pareto fit needs five points

FLAT = 1e-6  # log ratios closer than this are equal: rounding noise has no tail to fit


def psis(
    log_ratios: Float[np.ndarray, "draws rows"],
) -> tuple[Float[np.ndarray, "draws rows"], Float[np.ndarray, " rows"]]:
    """Normalised Pareto-smoothed log weights, and the Pareto k of each row.

    The smoothing is ArviZ's. Rows without a tail to fit keep their raw weights: k is NaN where
    the largest ratios are all equal, and infinite where fewer than a fifth of the draws
    have any weight at all.

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
    log_weights = log_ratios - logsumexp(log_ratios, axis=0)
    pareto_k = np.where(np.isinf(spread), np.inf, np.nan)
    fitted = np.flatnonzero(np.isfinite(spread) & (spread > FLAT))
    if fitted.size:
        log_weights[:, fitted], pareto_k[fitted] = _smooth(log_ratios[:, fitted])
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


def _smooth(log_ratios: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """ArviZ's smoothing, draws first."""
    from bayesvb.storage.arviz_objects import arviz_line, import_arviz

    with np.errstate(over="ignore"):  # a Pareto shape far from the best has weight 1 / inf = 0
        if arviz_line() == 0:
            log_weights, pareto_k = import_arviz().psislw(log_ratios.T)
        else:  # takes the log-likelihood, whose negative is the ratio; gives the draws last
            stats = importlib.import_module("arviz_stats.base").array_stats
            log_weights, pareto_k = stats.psislw(-log_ratios, axis=0)
    return np.asarray(log_weights).T, np.asarray(pareto_k)
