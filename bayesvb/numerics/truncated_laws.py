"""Normal and Student variables that are known to lie in an interval: probabilities and moments."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from scipy.special import betaln, digamma, ndtr, stdtr

from bayesvb.numerics.arrays import Floats
from bayesvb.numerics.special import LOG_2PI
from bayesvb.numerics.student_cdf import FARTHEST

NODES, NODE_WEIGHTS = (0.5 * one for one in np.polynomial.legendre.leggauss(24))
NODES = 0.5 + NODES
"""Gauss-Legendre nodes on the unit interval, exact to rounding for exp(-40 x) times a quartic."""

NARROW = 1.0
"""Width below which they do."""

NEGLIGIBLE = 37.0
"""Decay of a log density beyond which the remainder does not change a double."""

SMALLEST = 1e-290
"""Probability that is not yet rounded as a denormal number."""

DOF_STEP = 1e-4
"""Relative step of the derivative in the degrees of freedom: errors of its square."""


@dataclass(frozen=True)
class TruncatedNormal:
    """Moments of standard normal variables in intervals.

    Attributes
    ----------
    log_mass : ndarray
        Log probability of the interval.
    mean : ndarray
    variance, third, fourth : ndarray
        Central moments.
    """

    log_mass: Floats
    mean: Floats
    variance: Floats
    third: Floats
    fourth: Floats


def truncated_normal(lower: Floats, upper: Floats) -> TruncatedNormal:
    """Moments of standard normal variables between these ends, which may be infinite.

    Differences of densities and distribution functions from the nearer tail; far out or in narrow
    intervals, where these cancel, Gauss-Legendre quadrature over the part that has mass.

    Examples
    --------
    >>> half = truncated_normal(np.array([0.0]), np.array([np.inf]))
    >>> half.mean.round(4), half.variance.round(4)
    (array([0.7979]), array([0.3634]))
    """
    with np.errstate(invalid="ignore"):
        flipped = lower + upper < 0.0
    near, far = np.where(flipped, -upper, lower), np.where(flipped, -lower, upper)
    with np.errstate(invalid="ignore"):
        # Distance of the nearer end beyond which differences of moments lose digits.
        hard = (near >= 4.0) | (far - near <= NARROW)
    result = TruncatedNormal(*(np.empty(lower.shape) for _ in fields(TruncatedNormal)))
    for where, method in ((~hard, _by_differences), (hard, _by_quadrature)):
        if where.any():
            moments = method(near[where], far[where])
            for name, values in vars(moments).items():
                getattr(result, name)[where] = values
    side = np.where(flipped, -1.0, 1.0)
    return TruncatedNormal(
        result.log_mass, side * result.mean, result.variance, side * result.third, result.fourth
    )


def _by_differences(near: Floats, far: Floats) -> TruncatedNormal:
    """Moments by the recursion ``E z^j = (j - 1) E z^(j-2) + [z^(j-1) phi(z)] / Z``."""
    mass = np.where(near > 0.0, ndtr(-near) - ndtr(-far), ndtr(far) - ndtr(near))
    ends = [np.where(np.isfinite(end), end, 0.0) for end in (near, far)]
    pull = [
        np.where(np.isfinite(end), np.exp(-0.5 * (z * z + LOG_2PI)) / mass, 0.0)
        for z, end in zip(ends, (near, far), strict=True)
    ]
    raw = [np.ones_like(mass), np.zeros_like(mass)]
    for order in range(1, 5):
        edges = [z ** (order - 1) * p for z, p in zip(ends, pull, strict=True)]
        before = (order - 1) * raw[order - 2] if order > 1 else 0.0
        raw[order:] = [before + edges[0] - edges[1]]
    one, two, three, four = raw[1:]
    variance = two - one**2
    third = three - 3.0 * one * two + 2.0 * one**3
    fourth = four - 4.0 * one * three + 6.0 * one**2 * two - 3.0 * one**4
    return TruncatedNormal(np.log(mass), one, variance, third, fourth)


def _by_quadrature(near: Floats, far: Floats) -> TruncatedNormal:
    """Moments by nodes between the nearer end and where the density is negligible."""
    width = np.minimum(far - near, NEGLIGIBLE / np.maximum(near, 1.0))
    width = np.maximum(width, SMALLEST)  # ends may round to one number
    ahead = NODES[:, None] * width
    density = NODE_WEIGHTS[:, None] * np.exp(-ahead * (near + 0.5 * ahead))
    total = density.sum(axis=0)
    share = density / total
    shift = (share * ahead).sum(axis=0)
    central = [(share * (ahead - shift) ** order).sum(axis=0) for order in (2, 3, 4)]
    with np.errstate(over="ignore"):
        log_mass = np.log(width * total) - 0.5 * (near * near + LOG_2PI)
    return TruncatedNormal(log_mass, near + shift, *central)


@dataclass(frozen=True)
class TruncatedStudent:
    """Expectations of a scale mixture whose standard variable lies in an interval.

    Attributes
    ----------
    log_mass : ndarray
        Log probability of the interval, for spread zero; in general the interval's contribution to
        the ELBO, with the precision of the row at its optimum.
    weight, log_weight : ndarray
        ``E u`` and ``E log u`` of the precision ``u`` of the row.
    pull : ndarray
        ``E u t`` of the standard variable ``t``.
    """

    log_mass: Floats
    weight: Floats
    log_weight: Floats
    pull: Floats


def truncated_student(
    lower: Floats, upper: Floats, spread: Floats, dof: Floats
) -> TruncatedStudent:
    r"""Expectations under ``q(t, u)`` proportional to ``exp(E log p(t, u))``, ``t`` in an interval.

    Parameters
    ----------
    lower, upper : ndarray
        Ends, in standard deviations of the noise from the line; they may be infinite.
    spread : ndarray
        Variance of the line in units of the noise, ``c``.
    dof : ndarray
        Degrees of freedom.

    Notes
    -----
    The marginal of ``t`` is proportional to :math:`(1 + t^2 / (\nu + c))^{-(\nu + 1) / 2}`, a
    Student kernel; ``E u`` needs the same of two more degrees of freedom. As
    :math:`u (\nu + c + t^2)` is :math:`\nu + 1` on average, ``E u t^2`` is known from ``E u``.
    """
    whole = dof + spread
    root = np.sqrt(whole)
    ends = [_finite(end) / root for end in (lower, upper)]
    mass = _mass(ends, dof)
    hard = (ends[1] - ends[0] <= 0.5 * NARROW / np.sqrt(dof)) | (mass < SMALLEST)
    kernel = [np.exp(-0.5 * (dof + 1.0) * np.log1p(end * end)) for end in ends]
    with np.errstate(all="ignore"):
        log_integral = betaln(0.5, 0.5 * dof) + np.log(mass)
        weight = dof / whole * _mass(ends, dof + 2.0) / mass
        pull = (kernel[0] - kernel[1]) / (root * np.exp(log_integral))
        steps = [np.log(_mass(ends, dof * (1.0 + step))) for step in (DOF_STEP, -DOF_STEP)]
        slope = (steps[0] - steps[1]) / (2.0 * DOF_STEP * dof)
    log_kernel = digamma(0.5 * (dof + 1.0)) - digamma(0.5 * dof) - 2.0 * slope
    if hard.any():
        some = [np.broadcast_to(one, hard.shape)[hard] for one in (*ends, dof, root)]
        log_integral[hard], weight[hard], pull[hard], log_kernel[hard] = _near_end(*some)
    log_weight = digamma(0.5 * (dof + 1.0)) - np.log(0.5 * whole) - log_kernel
    log_mass = log_integral - betaln(0.5, 0.5 * dof) - 0.5 * dof * np.log1p(spread / dof)
    return TruncatedStudent(log_mass, weight, log_weight, pull)


def _finite(end: Floats) -> Floats:
    """Ends so far out that no mass is beyond them, whose squares are doubles."""
    return np.asarray(np.clip(end, -FARTHEST, FARTHEST))


def _mass(ends: list[Floats], dof: Floats) -> Floats:
    """Integral of ``(1 + s^2)^(-(dof + 1) / 2)`` over an interval, as a share, from its tail."""
    root = np.sqrt(dof)
    lower, upper = (root * end for end in ends)
    with np.errstate(over="ignore"):
        flipped = lower + upper > 0.0
        below = np.where(flipped, -upper, lower)
        above = np.where(flipped, -lower, upper)
        return np.asarray(stdtr(dof, above) - stdtr(dof, below))


def _near_end(
    lower: Floats, upper: Floats, dof: Floats, root: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Log integral, ``E u``, ``E u t`` and ``E log(1 + s^2)`` by nodes next to the nearer end."""
    flipped = lower + upper < 0.0
    near, far = np.where(flipped, -upper, lower), np.where(flipped, -lower, upper)
    decay = np.exp(2.0 * NEGLIGIBLE / (dof + 1.0))
    reach = np.sqrt((1.0 + near * near) * decay - 1.0) - near
    width = np.maximum(np.minimum(far - near, reach), SMALLEST)
    s = near + NODES[:, None] * width
    log_square = np.log1p(s * s)
    first = np.log1p(near * near)
    density = NODE_WEIGHTS[:, None] * np.exp(-0.5 * (dof + 1.0) * (log_square - first))
    total = density.sum(axis=0)
    share = density / total
    precision = (dof + 1.0) / (root**2 * (1.0 + s * s))
    side = np.where(flipped, -1.0, 1.0)
    return (
        np.log(width * total) - 0.5 * (dof + 1.0) * first,
        (share * precision).sum(axis=0),
        side * (share * precision * s).sum(axis=0) * root,
        (share * log_square).sum(axis=0),
    )
