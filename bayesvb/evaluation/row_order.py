"""Are rows independent? Autocorrelation along their order."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from bayesvb.numerics.arrays import RowVector

LAGS = 5
"""Lags that are tested together."""


def autocorrelation(scores: RowVector) -> tuple[float, float]:
    """Autocorrelation at lag 1, and the two-sided p-value that consecutive rows are independent.

    Positive correlation is looked for at lags 1 to 5, negative correlation at lag 1, as it
    alternates in sign. Examples: see `positive_autocorrelation`.
    """
    rho, positive = positive_autocorrelation(scores)
    n = len(scores)
    if positive == 1.0 and rho == 0.0:
        return rho, positive
    negative = float(ndtr(rho * np.sqrt(n * (n + 2.0) / (n - 1.0))))
    return rho, min(1.0, 2.0 * min(positive, negative))


def positive_autocorrelation(scores: RowVector) -> tuple[float, float]:
    """Autocorrelation at lag 1, and the p-value that consecutive rows are not similar.

    One-sided: scores of a flexible fit to rows sorted by a covariate are slightly negatively
    correlated, which is not evidence of dependence. The smaller p-value of lag 1 and of the sum
    over lags 1 to 5 counts, doubled.

    References
    ----------
    Ljung, Box (1978), On a measure of lack of fit in time series models, Biometrika 65(2).

    Examples
    --------
    >>> noise = np.random.default_rng(1).normal(size=400)
    >>> walk = noise + np.r_[0.0, noise[:-1]]
    >>> positive_autocorrelation(noise)[1] > 0.05, positive_autocorrelation(walk)[1] < 1e-6
    (True, True)
    """
    n = len(scores)
    centred = scores - scores.mean()
    squares = float(centred @ centred)
    if squares <= 0.0 or n <= 2 * LAGS:
        return 0.0, 1.0
    rho = np.array([float(centred[lag:] @ centred[:-lag]) for lag in range(1, LAGS + 1)]) / squares
    standard = rho * np.sqrt(n * (n + 2.0) / (n - np.arange(1, LAGS + 1)))
    tails = ndtr([-standard[0], -standard.sum() / np.sqrt(LAGS)])
    return float(rho[0]), min(1.0, 2.0 * float(tails.min()))
