"""Estimate of the optima that restarts have missed, by Good and Turing."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

SAME = 0.1
"""Nats by which the bounds of two runs to the same optimum may differ."""


def unseen_share(bounds: Float[np.ndarray, " runs"]) -> float:
    """Probability that one more run ends in an optimum that none has reached.

    That is the share of runs whose optimum no other run has reached (Good and Turing). Bounds that
    are closer than ``SAME`` to the next are of one optimum.

    References
    ----------
    Good (1953), The population frequencies of species and the estimation of population
    parameters, Biometrika 40(3/4).

    Examples
    --------
    >>> unseen_share(np.array([-3.0, -3.01, -7.0, -9.0]))
    0.5
    """
    optimum = np.cumsum(np.diff(np.sort(bounds), prepend=-np.inf) > SAME)
    _, times = np.unique(optimum, return_counts=True)
    return float((times == 1).sum() / len(bounds))
