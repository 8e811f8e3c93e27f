"""Medians of weighted rows."""

from __future__ import annotations

import numpy as np

from bayesvb.numerics.arrays import RowVector
from bayesvb.numerics.special import ROUNDING


def median(values: RowVector, weight: RowVector | None = None) -> float:
    """Median of rows of which one of weight w counts as w.

    Half of the weight is at or below it and half at or above; the middle, where that leaves an
    interval. With whole weights it is the median of the rows repeated.

    Parameters
    ----------
    values : ndarray, shape (rows,)
        At least one.
    weight : ndarray, shape (rows,), optional
        Not negative, with a positive sum; by default ones.

    Examples
    --------
    >>> median(np.array([3.0, 1.0, 8.0]), np.array([1.0, 1.0, 2.0]))
    5.5
    """
    if weight is None:
        return float(np.median(values))
    order = np.argsort(values)
    below = np.cumsum(weight[order])
    half = 0.5 * below[-1]
    low = values[order[np.searchsorted(below, half * (1.0 - ROUNDING), side="left")]]
    high = values[order[np.searchsorted(below, half * (1.0 + ROUNDING), side="right")]]
    return float(low + 0.5 * (high - low))
