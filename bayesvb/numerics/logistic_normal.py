"""Expectation of ``log(1 + exp(u))`` and its derivatives for normally distributed ``u``."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from bayesvb.numerics.special import NORMAL_MIXTURE

__all__ = ["softplus_moments"]

PEAK = float(1.0 / np.sqrt(2.0 * np.pi))
"""Density of the standard normal at zero."""


def softplus_moments(
    mean: Float[np.ndarray, "*shape"], variance: Float[np.ndarray, "*shape"], order: int = 2
) -> list[Float[np.ndarray, "*shape"]]:
    r"""Expected softplus ``E log(1 + exp(u))`` and its derivatives in the mean, ``u ~ N(t, s)``.

    The logistic function is, to 2.1e-9, ``sum_i p_i Phi(c_i u)``. With ``a_i = c_i / sqrt(1 + c_i^2
    s)`` and ``z_i = a_i t`` the expectations are therefore

    .. math:: E\log(1 + e^u) = \sum_i p_i \{t \Phi(z_i) + \phi(z_i) / a_i\}, \quad
              E\sigma = \sum_i p_i \Phi(z_i), \quad E\sigma' = \sum_i p_i a_i \phi(z_i).

    The derivative in the variance is half the second derivative in the mean, exactly, for any
    variance; nodes of a Gauss-Hermite rule have it for small variances only, and an ELBO made of
    them is then not stationary where its gradient is zero.

    Parameters
    ----------
    mean, variance : ndarray, of one shape
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
    found = [np.zeros(np.shape(mean)) for _ in range(order + 1)]
    for weight, inverse_scale in NORMAL_MIXTURE:
        factor = inverse_scale / np.sqrt(1.0 + inverse_scale**2 * variance)
        z = factor * mean
        below = weight * ndtr(z)
        square = z * z
        peak = np.exp(-0.5 * square)
        peak *= weight * PEAK
        found[0] += mean * below
        found[0] += peak / factor
        if order > 0:
            found[1] += below
        if order > 1:
            peak *= factor
            found[2] += peak
        if order > 2:
            peak *= factor
            found[3] -= z * peak
        if order > 3:
            found[4] += (square - 1.0) * factor * peak
    return found
