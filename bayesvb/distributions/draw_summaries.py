"""Centre and spread of draws, robust where a few draws decide their mean or standard deviation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import stdtr, stdtrit

from bayesvb.distributions.intervals import tails
from bayesvb.numerics.arrays import EntryVector
from bayesvb.numerics.order_statistics import NORMAL_MAD


@dataclass(frozen=True, eq=False)
class DrawSummary:
    """Numbers of each entry, over the draws.

    Attributes
    ----------
    centre, spread : ndarray, shape (entries,)
        Mean and standard deviation; of ``robust`` entries median and scaled median absolute
        deviation.
    lower, upper : ndarray, shape (entries,)
        Ends of the equal-tailed interval.
    positive : ndarray, shape (entries,)
        Probability that the entry is positive.
    robust : ndarray of bool, shape (entries,)
    """

    centre: EntryVector
    spread: EntryVector
    lower: EntryVector
    upper: EntryVector
    positive: EntryVector
    robust: Bool[np.ndarray, " entries"]


def summarised(
    draws: Float[np.ndarray, "draws entries"],
    prob: float,
    *,
    robust: bool | None = None,
    dof: float | None = None,
) -> DrawSummary:
    """Mean, standard deviation and interval of each entry, or median and scaled MAD.

    Parameters
    ----------
    draws : ndarray, shape (draws, entries)
    prob : float
        Probability of the interval.
    robust : bool, optional
        Whether all entries have median and scaled median absolute deviation, or none. By default,
        those whose mean lies outside of the interval, or whose standard deviation exceeds its
        width: both then depend on a few draws, or the draws have several modes.
    dof : float, optional
        Degrees of freedom of draws whose entries are known to be Student t. Intervals then follow
        from mean and standard deviation, without the sampling error of quantiles of draws.

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.append(np.linspace(0.0, 2.0, 999), 1e6)[:, None]
    >>> found = summarised(draws, 0.89)
    >>> print(found.robust, found.centre.round(1), found.spread.round(1))
    [ True] [1.] [0.7]
    """
    low, high = tails(prob)
    mean, varies = draws.mean(axis=0), np.ptp(draws, axis=0) > 0.0
    # Of equal draws the standard deviation would be rounding.
    sd = np.where(varies | np.isnan(mean), draws.std(axis=0, ddof=1), 0.0)
    if dof is None:
        lower, upper = np.quantile(draws, [low, high], axis=0)
        positive = (draws > 0.0).mean(axis=0)
    else:
        scale = np.sqrt((dof - 2.0) / dof) * sd
        half = stdtrit(dof, high) * scale
        lower, upper = mean - half, mean + half
        with np.errstate(divide="ignore", invalid="ignore"):
            positive = np.where(varies, stdtr(dof, mean / scale), mean > 0.0)
    if robust is None:
        chosen = varies & ((mean < lower) | (mean > upper) | (sd > upper - lower))
    else:
        chosen = np.full(mean.shape, robust)
    if not chosen.any():
        return DrawSummary(mean, sd, lower, upper, positive, chosen)
    median = np.median(draws, axis=0)
    mad = NORMAL_MAD * np.median(np.abs(draws - median), axis=0)
    centre, spread = np.where(chosen, median, mean), np.where(chosen, mad, sd)
    return DrawSummary(centre, spread, lower, upper, positive, chosen)
