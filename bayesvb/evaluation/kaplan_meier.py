"""Survival function of a right-censored response without a model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bayesvb.numerics.arrays import RowMask, RowVector

QUANTILE = 1.959963984540054
"""Half width of a central 95% interval, in standard errors."""


@dataclass(frozen=True)
class KaplanMeier:
    """Steps of a product-limit estimate.

    Attributes
    ----------
    times : ndarray, shape (steps,)
        Distinct values that are seen, in order.
    survival, lower, upper : ndarray, shape (steps,)
        Probability of a larger value, with pointwise 95% intervals on the log-log scale.
    at_risk : ndarray, shape (steps,)
        Weight of the rows whose value is at least this.
    """

    times: Float[np.ndarray, " steps"]
    survival: Float[np.ndarray, " steps"]
    lower: Float[np.ndarray, " steps"]
    upper: Float[np.ndarray, " steps"]
    at_risk: Float[np.ndarray, " steps"]


def kaplan_meier(values: RowVector, seen: RowMask, weight: RowVector | None = None) -> KaplanMeier:
    """Product-limit estimate, consistent where censoring does not depend on the response.

    Parameters
    ----------
    values : ndarray, shape (rows,)
        Responses, or the limits beyond which they are.
    seen : ndarray, shape (rows,)
    weight : ndarray, shape (rows,), optional
        Case weights.

    References
    ----------
    Kaplan, Meier (1958), Nonparametric estimation from incomplete observations, JASA 53(282).
    Kalbfleisch, Prentice (2002), The statistical analysis of failure time data, section 1.4, for
    the intervals.

    Examples
    --------
    >>> found = kaplan_meier(np.array([1.0, 2.0, 3.0]), np.array([True, False, True]))
    >>> found.survival.round(3)
    array([0.667, 0.   ])
    """
    each = np.ones(len(values)) if weight is None else weight
    times, place = np.unique(values[seen], return_inverse=True)
    events = np.bincount(place.ravel(), each[seen], len(times))
    order = np.argsort(values, kind="stable")
    ahead = np.append(np.cumsum(each[order][::-1])[::-1], 0.0)
    at_risk = ahead[np.searchsorted(values[order], times)]
    survival = np.cumprod(1.0 - events / at_risk)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt(np.cumsum(events / (at_risk * (at_risk - events))))
        reach = np.exp(QUANTILE * spread / np.abs(np.log(survival)))
        lower, upper = survival**reach, survival ** (1.0 / reach)
    return KaplanMeier(
        times, survival, np.nan_to_num(lower), np.nan_to_num(upper), np.asarray(at_risk)
    )
