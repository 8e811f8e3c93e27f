"""Responses that are not continuous: counts, coarse rounding, repeated values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import pdtrc

from bayesvb.numerics.arrays import RowVector

Cdf = Callable[[RowVector], RowVector]
"""Values, one per row, to the predictive probability of a response up to them."""


TINY = float(np.finfo(float).tiny)


@dataclass(frozen=True)
class Discreteness:
    """Evidence against a density of the response.

    Attributes
    ----------
    step : float
        Mean predictive probability of the interval that is rounded to the observed value, over all
        rows; rows with a unique value count zero.
    largest : tuple of two floats
        The value that adds most to it, and the share that it adds.
    value : float
        The value that is most in excess of its prediction.
    excess : float
        Share of the rows by which it is.
    p_value : float
        Of the excess, for the most frequent of all values.
    """

    step: float
    largest: tuple[float, float]
    value: float
    excess: float
    p_value: float


def discreteness(response: RowVector, cdf: Cdf) -> Discreteness:
    """Coarseness of the values of a response relative to its predictive distributions.

    Examples
    --------
    >>> from scipy.special import ndtr
    >>> y = np.random.default_rng(1).normal(size=500)
    >>> fine, coarse = discreteness(y, ndtr), discreteness(y.round(), ndtr)
    >>> bool(fine.step < 0.01 < 0.2 < coarse.step)
    True
    """
    values, at, times = np.unique(response, return_inverse=True, return_counts=True)
    if len(values) < 2:
        return Discreteness(1.0, (float(values[0]), 1.0), float(values[0]), 1.0, 0.0)
    gaps = np.diff(values)
    below, above = np.r_[gaps[0], gaps], np.r_[gaps, gaps[-1]]
    low, high = values - 0.5 * below, values + 0.5 * above
    mass = cdf(high[at]) - cdf(low[at])
    most = int(times.argmax())
    n = len(response)
    expected = float(np.sum(cdf(np.full(n, high[most])) - cdf(np.full(n, low[most]))))
    added = np.bincount(at, np.where(times[at] > 1, mass, 0.0)) / n
    top = int(added.argmax())
    tail = float(pdtrc(times[most] - 1, max(expected, 0.5)))
    return Discreteness(
        step=float(added.sum()),
        largest=(float(values[top]), float(added[top] / max(added.sum(), TINY))),
        value=float(values[most]),
        excess=float(times[most] - expected) / n,
        p_value=min(1.0, len(values) * tail),
    )


def rows_beyond(extreme: float, cdf: Cdf, n_rows: int, *, largest: bool) -> tuple[float, float]:
    """Rows expected beyond the largest or smallest of all responses, and its two-sided p-value.

    Many: the response ends where its predictions do not. Hardly any: an outlier.

    Examples
    --------
    >>> from scipy.special import ndtr
    >>> rows_beyond(2.3, ndtr, 100, largest=True)[1] > 0.5
    True
    >>> rows_beyond(7.0, ndtr, 100, largest=True)[1] < 1e-8
    True
    """
    below = cdf(np.full(n_rows, extreme))
    beyond = np.clip(1.0 - below if largest else below, 0.0, 1.0 - 1e-15)
    expected = -float(np.log1p(-beyond).sum())
    return expected, min(1.0, 2.0 * float(min(np.exp(-expected), -np.expm1(-expected))))
