"""Labels beside curves, moved apart where curves end close to one another."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.optimize import isotonic_regression


def apart(
    wanted: Float[np.ndarray, " labels"], gap: float, low: float, high: float
) -> Float[np.ndarray, " labels"]:
    """Places as near as possible to those wanted that are at least ``gap`` apart.

    Examples
    --------
    >>> apart(np.array([0.5, 0.5, 0.1]), 0.2, 0.0, 1.0).round(2).tolist()
    [0.4, 0.6, 0.1]
    """
    order = np.argsort(wanted, kind="stable")
    steps = gap * np.arange(len(wanted))
    # least squares under the order of what remains once every label has moved down by its steps
    rising = np.asarray(isotonic_regression(wanted[order] - steps).x)
    rising = np.clip(rising, low, max(high - float(steps[-1]), low))
    found = np.empty(len(wanted))
    found[order] = rising + steps
    return found
