"""Expectation of ``log(1 + exp(u))`` and its derivatives for normally distributed ``u``."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.polynomial import Polynomial
from scipy.special import ndtr

from bayesvb.numerics.arrays import Floats, SameShape
from bayesvb.numerics.special import NORMAL_MIXTURE

PEAK = float(1.0 / np.sqrt(2.0 * np.pi))
"""Density of the standard normal at zero."""

SMALL_VARIANCE = 0.02
"""Variance up to which a series in it replaces the eight normals: its errors are smaller (1e-10 in
the second derivative), and it takes a third of the time."""


def softplus_moments(mean: SameShape, variance: Floats, order: int = 2) -> list[SameShape]:
    r"""Expected softplus ``E log(1 + exp(u))`` and its derivatives in the mean, ``u ~ N(t, s)``.

    The logistic function is, to 2.1e-9, ``sum_i p_i Phi(c_i u)``. With ``a_i = c_i / sqrt(1 + c_i^2
    s)`` and ``z_i = a_i t`` the expectations are therefore

    .. math:: E\log(1 + e^u) = \sum_i p_i \{t \Phi(z_i) + \phi(z_i) / a_i\}, \quad
              E\sigma = \sum_i p_i \Phi(z_i), \quad E\sigma' = \sum_i p_i a_i \phi(z_i).

    The derivative in the variance is half the second derivative in the mean, exactly, for any
    variance; nodes of a Gauss-Hermite rule have it for small variances only, and an ELBO made of
    them is then not stationary where its gradient is zero.

    Where the variance is at most ``SMALL_VARIANCE``, a series in the variance is more accurate.

    Parameters
    ----------
    mean : ndarray
    variance : ndarray, of a shape that broadcasts with the mean
    order : int, default 2
        Order of the highest derivative, at most 4.

    Returns
    -------
    list of ndarray
        The expectation, then its derivatives of order 1 to ``order`` in the mean.

    References
    ----------
    Monahan, Stefanski (1992), Normal scale mixture approximations to F*(z) and computation of the
    logistic-normal integral, in Handbook of the Logistic Distribution, table 22.4.2 (8 normals).

    Examples
    --------
    >>> value, slope = softplus_moments(np.zeros(1), np.zeros(1), order=1)
    >>> value.round(6), slope.round(6)
    (array([0.693147]), array([0.5]))
    """
    small = variance <= SMALL_VARIANCE
    if small.all():
        return _series(mean, variance, order)
    small, variance = (np.broadcast_to(one, mean.shape) for one in (small, variance))
    if not small.any():
        return _mixture(mean, variance, order)
    moments = [np.empty(np.shape(mean)) for _ in range(order + 1)]
    for rule, rows in ((_series, small), (_mixture, ~small)):
        for whole, part in zip(moments, rule(mean[rows], variance[rows], order), strict=True):
            whole[rows] = part
    return moments


def _series(mean: SameShape, variance: Floats, order: int) -> list[SameShape]:
    """``E f(u) = sum_m (s / 2)^m / m! f^(2 m)(t)`` of softplus and its derivatives.

    The derivatives are polynomials in ``q = sigma (1 - sigma)``, odd ones times ``1 - 2 sigma``.
    """
    # Of the absolute value, so that nothing overflows and neither tail cancels.
    tail = np.exp(-np.abs(mean))
    value = np.log1p(tail)
    value += np.maximum(mean, 0.0)
    upper = 1.0 / (1.0 + tail)
    lower = tail * upper
    q = upper * lower
    share = np.where(mean > 0.0, upper, lower)
    odd = q * (1.0 - 2.0 * share)
    half, highest = 0.5 * variance, _highest_power(variance)
    powers = [half / m for m in range(1, highest + 1)]
    factors = [q, odd, q, odd, q]
    series = [_summed(powers, q, k) for k in range(order + 1)]
    for total, factor in zip(series, factors, strict=False):
        total *= factor
    for total, known in zip(series, (value, share), strict=False):
        total += known
    return series


def _highest_power(variance: SameShape) -> int:
    """Power of the variance after which the series ends: derivatives agree to 1e-9."""
    largest = variance.max(initial=0.0)
    return MOST_TERMS - sum(bool(largest <= bound) for bound in FEWER_TERMS)


def _summed(powers: Sequence[Floats], q: SameShape, order: int) -> SameShape:
    """Sum over the terms of the series, without the factor that they have in common.

    ``powers`` are ``s / 2`` over the numbers 1, 2, ... of the powers, of a shape that broadcasts.
    Horner's rule from the highest one: each power has its factorial by steps. In one array: a pass
    over new memory takes twice as long.
    """
    total = np.zeros_like(q)
    for m in range(len(powers), -1, -1):
        if order + 2 * m > 1:
            *others, first = POLYNOMIALS[order + 2 * m]
            if others:
                term = first * q
                for coefficient in others[:0:-1]:
                    term += coefficient
                    term *= q
                term += others[0]
                total += term
            else:
                total += first
        if m:
            total *= powers[m - 1]
    return total


def _derivatives(highest: int) -> dict[int, tuple[float, ...]]:
    """Derivatives of softplus by order, as polynomials in ``q``, lowest power first.

    ``dq / dt = q d`` with ``d = 1 - 2 sigma`` and ``d^2 = 1 - 4 q``: an even order ``q P(q)`` is
    followed by ``q d O(q)``, ``O = P + q P'``, and that by ``q {d^2 (O + q O') - 2 q O}``.
    """
    q = Polynomial([0.0, 1.0])
    polynomials = {2: Polynomial([1.0])}
    for order in range(3, highest + 1):
        before = polynomials[order - 1]
        slope = before + q * before.deriv()
        polynomials[order] = slope if order % 2 else (1.0 - 4.0 * q) * slope - 2.0 * q * before
    return {order: tuple(polynomial.coef.tolist()) for order, polynomial in polynomials.items()}


MOST_TERMS = 4
"""Highest power of the variance in the series."""

FEWER_TERMS = (4.5e-3, 2.5e-4)
"""Variances up to which one power less is enough, and two."""

POLYNOMIALS = _derivatives(4 + 2 * MOST_TERMS)
"""Derivatives of softplus of all orders in use."""


def _mixture(mean: SameShape, variance: SameShape, order: int) -> list[SameShape]:
    """Expectations by the mixture of normals."""
    mixture = [np.zeros(np.shape(mean)) for _ in range(order + 1)]
    for weight, inverse_scale in NORMAL_MIXTURE:
        factor = inverse_scale / np.sqrt(1.0 + inverse_scale**2 * variance)
        z = factor * mean
        below = weight * ndtr(z)
        square = z * z
        peak = np.exp(-0.5 * square)
        peak *= weight * PEAK
        mixture[0] += mean * below
        mixture[0] += peak / factor
        if order > 0:
            mixture[1] += below
        if order > 1:
            peak *= factor
            mixture[2] += peak
        if order > 2:
            peak *= factor
            mixture[3] -= z * peak
        if order > 3:
            mixture[4] += (square - 1.0) * factor * peak
    return mixture
