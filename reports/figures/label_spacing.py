"""Labels next to curves, moved apart where curves end close to one another."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float


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
    rising = _isotonic(wanted[order] - steps)
    rising = np.clip(rising, low, max(high - float(steps[-1]), low))
    found = np.empty(len(wanted))
    found[order] = rising + steps
    return found


def _isotonic(values: Float[np.ndarray, " labels"]) -> Float[np.ndarray, " labels"]:
    """Rising values nearest in least squares, by the minimax formula; see Robertson et al. (1988).

    Written out for the few labels of a picture, because importing SciPy's takes 0.1 s.
    """
    total, n = np.concatenate([[0.0], np.cumsum(values)]), len(values)
    first, last = np.ogrid[:n, :n]
    means = (total[None, 1:] - total[:-1, None]) / np.maximum(last - first + 1, 1)
    means = np.where(last >= first, means, np.inf)
    least = np.minimum.accumulate(means[:, ::-1], axis=1)[:, ::-1]
    return np.asarray(np.where(last >= first, least, -np.inf).max(axis=0))
