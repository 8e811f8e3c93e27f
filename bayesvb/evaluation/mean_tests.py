"""Whether the mean of skewed numbers is below a value: a normal test after a transformation."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from bayesvb.numerics.arrays import RowVector


def mean_below(values: RowVector, limit: float, weights: RowVector | None = None) -> float:
    r"""p-value of the hypothesis that the mean is not below a limit.

    The usual statistic of skewed numbers is skewed itself, the other way round. Hall's cubic
    transformation takes that away and stays monotone: with mean ``m``, standard deviation ``s`` and
    skewness ``g`` of ``n`` numbers, and ``w = (m - limit) / s``, nearly standard normal is

    .. math:: \sqrt n \left(w + \frac{g w^2}{3} + \frac{g^2 w^3}{27} + \frac{g}{6 n}\right).

    Parameters
    ----------
    values : array, shape (rows,)
    limit : float
    weights : array, shape (rows,), optional
        A row of weight w counts as w rows.

    Returns
    -------
    float
        One where all values are the same, or there is one only: then nothing is known of the error.

    References
    ----------
    Hall (1992), On the removal of skewness by transformation, Journal of the Royal Statistical
    Society B 54(1), 221-228.

    Examples
    --------
    >>> even = np.array([-1.2, -0.8, -1.1, -0.9, -1.0])
    >>> mean_below(even, -0.5) < 1e-6 < mean_below(even, -1.0)
    True
    """
    w = np.ones_like(values) if weights is None else weights
    n = float(w.sum())
    mean = float(w @ values) / n if n > 0.0 else 0.0
    centred = values - mean
    variance = float(w @ centred**2) / (n - 1.0) if n > 1.0 else 0.0
    if variance <= 0.0:
        return 1.0
    sd = float(np.sqrt(variance))
    skewness = float(w @ (centred / sd) ** 3) / n
    away = (mean - limit) / sd
    cubic = away + skewness * away**2 / 3.0 + skewness**2 * away**3 / 27.0 + skewness / (6.0 * n)
    return float(ndtr(np.sqrt(n) * cubic))
