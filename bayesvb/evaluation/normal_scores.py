"""Normal scores of PIT values, and tests whether they have the shape that they should have."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.special import chdtr, chdtrc, log_ndtr, ndtr, ndtri

from bayesvb.numerics.arrays import RowVector

Scores = Float[np.ndarray, " rows"]

FARTHEST = 4.0
"""Normal scores are limited to this: one unexpected row is not evidence of more."""

LOWER_TAIL = 0.34
"""Statistic up to which the approximation below is of one less the p-value."""

ANDERSON_DARLING = (
    (0.2, (-13.436, 101.14, -223.73)),
    (LOWER_TAIL, (-8.318, 42.796, -59.938)),
    (0.6, (0.9177, -4.279, -1.38)),
    (np.inf, (1.2937, -5.709, 0.0186)),
)
"""Coefficients of the logarithm of a tail probability by powers of the statistic, and the end of
their interval: the lower tail up to the first constant, the upper one beyond."""

FEWEST_ROWS = 20
"""Rows from which the tests have the error rate that they promise."""


def normal_scores(pit: RowVector) -> Scores:
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
    spread = float(scores.std(ddof=1))
    if spread <= 0.0:
        return {}
    standard = np.sort((scores - scores.mean()) / spread)
    steps = np.arange(len(scores) + 1) / len(scores)
    below = ndtr(standard)
    distance = float(np.maximum(steps[1:] - below, below - steps[:-1]).max())
    return {
        "skew": skew_test(scores),
        "tails": tail_test(scores),
        "shape": (distance, _anderson_darling(standard)),
    }


def skew_test(values: Scores) -> tuple[float, float]:
    """Skewness, and the two-sided p-value under a normal distribution.

    References
    ----------
    D'Agostino (1970), Transformation to normality of the null distribution of g1, Biometrika 57(3).

    Examples
    --------
    >>> skewness, p_value = skew_test(np.arange(30.0) ** 3)
    >>> round(skewness, 2), p_value < 0.05
    (1.07, True)
    """
    n, skewness = len(values), _standard_moment(values, 3)
    with np.errstate(invalid="ignore"):
        y = skewness * np.sqrt((n + 1.0) * (n + 3.0) / (6.0 * (n - 2.0)))
        kurtosis = 3.0 * (n * n + 27.0 * n - 70.0) * (n + 1.0) * (n + 3.0)
        kurtosis /= (n - 2.0) * (n + 5.0) * (n + 7.0) * (n + 9.0)
        squared = np.sqrt(2.0 * (kurtosis - 1.0)) - 1.0
        z = np.arcsinh(y / np.sqrt(2.0 / (squared - 1.0))) / np.sqrt(0.5 * np.log(squared))
    return skewness, float(2.0 * ndtr(-np.abs(z)))


def tail_test(values: Scores) -> tuple[float, float]:
    """Excess kurtosis, and the two-sided p-value under a normal distribution.

    References
    ----------
    Anscombe, Glynn (1983), Distribution of the kurtosis statistic b2 for normal samples,
    Biometrika 70(1), eqs 1 to 5.

    Examples
    --------
    >>> kurtosis, p_value = tail_test(np.arange(30.0) ** 5)
    >>> round(kurtosis, 2), p_value < 0.05
    (1.73, True)
    """
    n, kurtosis = len(values), _standard_moment(values, 4)
    variance = 24.0 * n * (n - 2.0) * (n - 3.0) / ((n + 1.0) ** 2 * (n + 3.0) * (n + 5.0))
    x = (kurtosis - 3.0 * (n - 1.0) / (n + 1.0)) / np.sqrt(variance)
    skewness = 6.0 * (n * n - 5.0 * n + 2.0) / ((n + 7.0) * (n + 9.0))
    skewness *= np.sqrt(6.0 * (n + 3.0) * (n + 5.0) / (n * (n - 2.0) * (n - 3.0)))
    a = 6.0 + 8.0 / skewness * (2.0 / skewness + np.sqrt(1.0 + 4.0 / skewness**2))
    ratio = (1.0 - 2.0 / a) / (1.0 + x * np.sqrt(2.0 / (a - 4.0)))
    z = (1.0 - 2.0 / (9.0 * a) - np.cbrt(ratio)) / np.sqrt(2.0 / (9.0 * a))
    return kurtosis - 3.0, float(2.0 * ndtr(-np.abs(z)))


def _standard_moment(values: Scores, order: int) -> float:
    """Central moment over as high a power of the standard deviation; NaN without any spread."""
    centred = values - values.mean()
    variance = float(np.mean(centred**2))
    # Standard deviation relative to the largest value below which it is rounding.
    if variance <= (1e-15 * float(np.abs(values).max(initial=0.0))) ** 2:
        return float("nan")
    return float(np.mean(centred**order) / variance ** (0.5 * order))


def _anderson_darling(standard: Scores) -> float:
    """P-value of the statistic for sorted values, by mean and variance that are estimated."""
    n = len(standard)
    weight = (2.0 * np.arange(1, n + 1) - 1.0) / n
    square = -n - float(weight @ (log_ndtr(standard) + log_ndtr(-standard[::-1])))
    square *= 1.0 + 0.75 / n + 2.25 / n**2
    if not square <= 13.0:  # NaN where the scores do not vary
        return 0.0
    limit, (a, b, c) = next(each for each in ANDERSON_DARLING if square < each[0])
    tail = float(np.exp(a + b * square + c * square**2))
    return 1.0 - tail if limit <= LOWER_TAIL else tail


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
    tail = float(min(chdtrc(n, squares), chdtr(n, squares)))
    return float(np.sqrt(squares / n)), min(1.0, 2.0 * tail)
