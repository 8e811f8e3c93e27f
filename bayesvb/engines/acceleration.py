"""Squared extrapolation of a fixed-point map (SQUAREM), as a pure function of three points."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

SMALL_ENTRY = 1e-3
"""Entries much smaller than this count alike in the step length."""


def squared_extrapolation(
    start: Float[np.ndarray, " entries"],
    once: Float[np.ndarray, " entries"],
    twice: Float[np.ndarray, " entries"],
    *,
    longest: float,
) -> tuple[Float[np.ndarray, " entries"], float]:
    r"""Point ahead of ``v, f(v), f(f(v))`` and the length of the step, between 1 and ``longest``.

    With ``r = f(v) - v`` and ``w = f(f(v)) - f(v) - r`` the point is ``v + 2 l r + l^2 w``,
    ``l = |r| / |w|``; a length of one gives ``f(f(v))`` back. Norms weigh the squared changes of
    an entry by its inverse size, as statistics of many rows change more than those of few.

    References
    ----------
    Varadhan, Roland (2008), Simple and globally convergent methods for accelerating the
    convergence of any EM algorithm, doi:10.1111/j.1467-9469.2007.00585.x, scheme S3, eqs 8 and 13.

    Examples
    --------
    A linear map is solved in one step:

    >>> ahead, length = squared_extrapolation(
    ...     np.array([1.0]), np.array([0.9]), np.array([0.81]), longest=100.0)
    >>> ahead.round(12), round(length, 6)
    (array([0.]), 10.0)
    """
    first = once - start
    change = twice - once - first
    size = 1.0 / (np.abs(once) + SMALL_ENTRY)
    bend = float(change @ (size * change))
    length = longest if bend == 0.0 else float(np.sqrt(first @ (size * first) / bend))
    length = min(max(length, 1.0), longest)
    return start + (2.0 * length) * first + (length * length) * change, length
