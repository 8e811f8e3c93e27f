"""Many tests at once: p-values that hold for all of them together."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float


def holm(p: Float[np.ndarray, " tests"]) -> Float[np.ndarray, " tests"]:
    """p-values adjusted by Holm's rule: below α with probability at most α if nothing is wrong.

    References
    ----------
    Holm (1979), A simple sequentially rejective multiple test procedure, Scandinavian Journal of
    Statistics 6(2).

    Examples
    --------
    >>> holm(np.array([0.01, 0.5, 0.02])).round(3)
    array([0.03, 0.5 , 0.04])
    """
    order = np.argsort(p, kind="stable")
    times = len(p) - np.arange(len(p))
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(np.maximum.accumulate(times * p[order]), 1.0)
    return adjusted
