"""Normal scores of PIT values, and tests whether they have the shape that they should have."""

from __future__ import annotations

import numpy as np
import scipy
from jaxtyping import Float
from scipy.special import ndtr, ndtri

Scores = Float[np.ndarray, " rows"]

FARTHEST = 4.0
"""Normal scores are limited to this: one unexpected row is not evidence of more."""

FEWEST_ROWS = 20
"""Rows from which the tests have the error rate that they promise."""


def normal_scores(pit: Float[np.ndarray, " rows"]) -> Scores:
    """Standard normal values with the same probabilities, at most 4 in size.

    Examples
    --------
    >>> normal_scores(np.array([0.0, 0.5, 0.975])).round(2)
    array([-4.  ,  0.  ,  1.96])
    """
    with np.errstate(divide="ignore"):
        return np.asarray(np.clip(ndtri(pit), -FARTHEST, FARTHEST))


def shape_tests(scores: Scores) -> dict[str, tuple[float, float]]:
    """Effect and p-value of three tests for normality whose mean and variance are estimated.

    ``"skew"``: skewness (D'Agostino 1970). ``"tails"``: excess kurtosis (Anscombe and Glynn 1983).
    ``"shape"``: the largest distance of the distribution functions, with the p-value of the
    Anderson-Darling statistic.
    That mean and variance of the scores are estimated makes up for the estimation of location and
    noise by the fit: exactly so in a linear regression, and on the cautious side with more.

    References
    ----------
    D'Agostino, Belanger, D'Agostino (1990), A suggestion for using powerful and informative tests
    of normality, The American Statistician 44. Stephens (1986), Tests based on EDF statistics, in
    D'Agostino and Stephens, Goodness-of-fit techniques, table 4.9.

    Examples
    --------
    >>> even = ndtri((np.arange(200) + 0.5) / 200)
    >>> min(p for _, p in shape_tests(even).values()) > 0.2
    True
    >>> shape_tests(even**2)["skew"][1] < 1e-6
    True
    """
    from statsmodels.stats.diagnostic import normal_ad

    spread = float(scores.std(ddof=1))
    if spread <= 0.0:
        return {}
    standard = np.sort((scores - scores.mean()) / spread)
    steps = np.arange(len(scores) + 1) / len(scores)
    below = ndtr(standard)
    distance = float(np.maximum(steps[1:] - below, below - steps[:-1]).max())
    return {
        "skew": (float(scipy.stats.skew(scores)), float(scipy.stats.skewtest(scores).pvalue)),
        "tails": (
            float(scipy.stats.kurtosis(scores)),
            float(scipy.stats.kurtosistest(scores).pvalue),
        ),
        "shape": (distance, float(normal_ad(scores)[1])),
    }


def width_test(scores: Scores) -> tuple[float, float]:
    """Root mean square of the scores, and the p-value that it is one.

    Above one predictions are too narrow, as in a fit that follows its noise.

    Examples
    --------
    >>> sd, p = width_test(2.0 * ndtri((np.arange(100) + 0.5) / 100))
    >>> bool(sd > 1.9 and p < 1e-6)
    True
    """
    n = len(scores)
    squares = float(scores @ scores)
    tail = float(min(scipy.stats.chi2.sf(squares, n), scipy.stats.chi2.cdf(squares, n)))
    return float(np.sqrt(squares / n)), min(1.0, 2.0 * tail)
