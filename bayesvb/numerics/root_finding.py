"""Roots of many increasing functions at once, by Newton steps that a bracket keeps honest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

from bayesvb.errors import BayesVBError

MAX_STEPS = 400
"""Far more than bisection needs between any two doubles; finite input cannot reach it."""

SETTLED = 1e-15
"""A gap between logarithms which is the rounding of the distribution function itself."""

LogCdf = Callable[
    [Float[np.ndarray, " points"], Int[np.ndarray, " points"]],
    tuple[Float[np.ndarray, " points"], Float[np.ndarray, " points"]],
]


def invert_log_cdf(
    log_cdf: LogCdf,
    log_target: Float[np.ndarray, " points"],
    *,
    bracket: tuple[Float[np.ndarray, " points"], Float[np.ndarray, " points"]],
    start: Float[np.ndarray, " points"],
    width: Float[np.ndarray, " points"],
) -> Float[np.ndarray, " points"]:
    r"""Points ``x`` at which increasing functions reach their targets, ``log F_i(x_i) = log p_i``.

    Newton's step is taken in ``u = asinh(x)``, where the logarithm of a tail that falls like a
    power of ``x`` is a straight line; a step that leaves the bracket, or is not half as long as
    the one before, is replaced by the middle of the bracket in ``u``. Problems that have settled
    leave the computation.

    Parameters
    ----------
    log_cdf : callable
        ``(x, which) -> (log F, d log F / dx)`` for the problems numbered ``which``.
    log_target : array, shape (points,)
        Logarithms of the probabilities wanted.
    bracket : pair of arrays, each of shape (points,)
        Points below and above the root, in units in which the bulk of F lies near 0 and is about
        one unit wide.
    start : array, shape (points,)
        First guess, inside the bracket.
    width : array, shape (points,)
        Length over which F can bend; a Newton step of 1e-8 of it is the last one.

    Raises
    ------
    BayesVBError
        If a problem has not settled, which only happens when ``log_cdf`` returns NaN.
    """
    root = np.array(start)
    which = np.arange(root.size)
    (lower, upper), x = bracket, root
    before = np.full(root.size, np.inf)
    for _ in range(MAX_STEPS):
        if not which.size:
            return root
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            value, slope = log_cdf(x, which)
            gap = log_target[which] - value
            lower, upper = np.where(gap >= 0, x, lower), np.where(gap <= 0, x, upper)
            moved, before = _step(x, gap / slope, lower, upper, before)
        rounding = 4.0 * np.finfo(float).eps * np.abs(moved)
        near = np.abs(moved - x) <= np.maximum(1e-8 * width[which], rounding)
        near |= (np.abs(gap) <= SETTLED) | (upper - lower <= rounding)
        root[which] = moved
        keep = ~near
        which, x, before = which[keep], moved[keep], before[keep]
        lower, upper = lower[keep], upper[keep]
    raise BayesVBError(
        f"{which.size} quantiles did not settle in {MAX_STEPS} steps",
        hint="weights, location, scale and dof must be finite",
    )


def _step(
    x: Float[np.ndarray, " points"],
    newton: Float[np.ndarray, " points"],
    lower: Float[np.ndarray, " points"],
    upper: Float[np.ndarray, " points"],
    before: Float[np.ndarray, " points"],
) -> tuple[Float[np.ndarray, " points"], Float[np.ndarray, " points"]]:
    """Next points, and the lengths of the steps in ``u``."""
    slope = np.hypot(1.0, x)
    length = newton / slope
    # sinh(u + d) - sinh(u), written so that a short step keeps all its digits
    moved = x + (2.0 * np.sinh(0.5 * length) ** 2 * x + slope * np.sinh(length))
    good = (moved >= lower) & (moved <= upper) & (np.abs(length) <= 0.5 * before)
    middle = np.sinh(0.5 * (np.arcsinh(lower) + np.arcsinh(upper)))
    halved = np.abs(np.arcsinh(middle) - np.arcsinh(x))
    return np.where(good, moved, middle), np.where(good, np.abs(length), halved)
