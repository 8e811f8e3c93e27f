"""Roots of many increasing functions at once: steps of Newton, or secants, kept in a bracket."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Int

from bayesvb.errors import BayesVBError
from bayesvb.numerics.arrays import PointVector

MAX_STEPS = 400
"""Far more than bisection needs between any two doubles; finite input cannot reach it."""

TINY = float(np.finfo(float).tiny)
"""Value at an end of a bracket that is the root itself."""

LogCdf = Callable[
    [PointVector, Int[np.ndarray, " points"]],
    tuple[PointVector, PointVector],
]


def invert_log_cdf(
    log_cdf: LogCdf,
    log_target: PointVector,
    *,
    bracket: tuple[PointVector, PointVector],
    start: PointVector,
    width: PointVector,
) -> PointVector:
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
        # A gap between logarithms which is the rounding of the distribution function itself.
        near |= (np.abs(gap) <= 1e-15) | (upper - lower <= rounding)
        root[which] = moved
        keep = ~near
        which, x, before = which[keep], moved[keep], before[keep]
        lower, upper = lower[keep], upper[keep]
    raise BayesVBError(
        f"{which.size} quantiles did not converge in {MAX_STEPS} steps",
        hint="weights, location, scale and dof must be finite",
    )


def _step(
    x: PointVector, newton: PointVector, lower: PointVector, upper: PointVector, before: PointVector
) -> tuple[PointVector, PointVector]:
    """Next points, and the lengths of the steps in ``u``."""
    slope = np.sqrt(1.0 + x * x)  # infinite from 1e154 on, where the bracket is halved
    length = newton / slope
    # sinh(u + d) - sinh(u), written so that a short step keeps all its digits
    half = np.sinh(0.5 * length)
    moved = x + 2.0 * half * (half * x + slope * np.sqrt(1.0 + half * half))
    length = np.abs(length)
    (bad,) = np.nonzero(~((moved >= lower) & (moved <= upper) & (length <= 0.5 * before)))
    if bad.size:
        middle = np.sinh(0.5 * (np.arcsinh(lower[bad]) + np.arcsinh(upper[bad])))
        moved[bad], length[bad] = middle, np.abs(np.arcsinh(middle) - np.arcsinh(x[bad]))
    return moved, length


def crossings(
    function: Callable[[PointVector], PointVector],
    low: PointVector,
    high: PointVector,
    close: float = 1e-10,
) -> PointVector:
    """Points from which on increasing functions are not below zero, each within a bracket.

    Inverse quadratic interpolation where it is safe, else the middle of the bracket.

    Parameters
    ----------
    function : callable
        Values of all functions, at a point of each.
    low, high : array, shape (points,)
        Ends of the brackets, where functions are not above zero, and not below.
    close : float
        Half the length of a bracket, relative to that at first, at which a point is known.

    References
    ----------
    Chandrupatla (1997), A new hybrid quadratic/bisection algorithm for finding the zero of a
    nonlinear function without using derivatives, doi:10.1016/S0965-9978(96)00051-8, section 3.

    Examples
    --------
    >>> crossings(lambda x: x**3 - np.array([8.0, 27.0]), np.zeros(2), np.full(2, 9.0), 1e-12)
    array([2., 3.])
    """
    new, other, enough = high, low, close * (high - low)
    at_new, at_other = np.maximum(function(new), TINY), np.minimum(function(other), -TINY)
    share = np.full(low.shape, 0.5)
    for _ in range(MAX_STEPS):
        x = new + share * (other - new)
        value = function(x)
        same = (value >= 0.0) == (at_new >= 0.0)
        before, at_before = np.where(same, new, other), np.where(same, at_new, at_other)
        other, at_other = np.where(same, other, new), np.where(same, at_other, at_new)
        new, at_new = x, value
        length = np.abs(other - new)
        if (settled := length <= 2.0 * enough).all():
            break
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            place = (new - other) / (before - other)
            height = (at_new - at_other) / (at_before - at_other)
            safe = (height**2 < place) & ((1.0 - height) ** 2 < 1.0 - place)
            first = at_new / (at_other - at_new) * at_before / (at_other - at_before)
            second = at_new / (at_before - at_new) * at_other / (at_before - at_other)
            bent = first + (before - new) / (other - new) * second
            least = np.where(settled, 0.5, enough / length)
        share = np.clip(np.where(safe, bent, 0.5), least, 1.0 - least)
    return np.asarray(np.where(np.abs(at_new) <= np.abs(at_other), new, other))
