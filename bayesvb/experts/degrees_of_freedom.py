"""Degrees of freedom of Student-t noise: their prior, and the value that sums over rows tell."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.special import digamma, gammaln, polygamma

from bayesvb.numerics.array_library import namespace, special

PRIOR_SHAPE, PRIOR_RATE = 2.0, 0.1
"""Gamma prior of learned degrees of freedom, mean 20: Juarez, Steel (2010), section 2."""

FIRST_DOF = 4.0
"""Learned degrees of freedom set out from here: from large ones they come down slowly."""

DOF_RANGE = (0.05, 1e4)
"""Learned degrees of freedom stay inside; the prior alone keeps them from both ends. Below the
lower end draws of a response are beyond the largest float."""


def learned_dof(total: float, tail: float) -> float:
    """Where ``N A(nu) + nu T / 2 + log p(nu)`` is largest; it is concave.

    Raises
    ------
    numpy.linalg.LinAlgError
        The sums are of no rows: ``E[log u] - E[u]`` is at most -1.
    """
    from scipy.optimize import brentq

    if not (total >= 0.0 and np.isfinite(tail)):
        raise np.linalg.LinAlgError("tails are of no rows")

    def slope(dof: float) -> float:
        own = 0.5 * total * (np.log(0.5 * dof) + 1.0 - digamma(0.5 * dof))
        return float(own + 0.5 * tail + (PRIOR_SHAPE - 1.0) / dof - PRIOR_RATE)

    low, high = DOF_RANGE
    if slope(low) <= 0.0:
        return low
    return high if slope(high) >= 0.0 else float(brentq(slope, low, high, xtol=1e-12, rtol=1e-14))


def log_dof_sd(total: float, dof: float) -> float:
    """Standard deviation of ``log nu`` given the sums: the curvature where ``learned_dof`` is."""
    curvature = total * (0.25 * polygamma(1, 0.5 * dof) - 0.5 / dof)
    return float(1.0 / np.sqrt(dof * dof * curvature + PRIOR_SHAPE - 1.0))


def log_partition(dof: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """``A(nu) = nu / 2 log(nu / 2) - log Gamma(nu / 2)``, with which every row enters."""
    return np.asarray(0.5 * dof * np.log(0.5 * dof) - gammaln(0.5 * dof))


def log_peak(dof: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """Log density of the standard Student t at zero."""
    log_gamma = special(dof).gammaln
    peak: Float[np.ndarray, "*shape"]
    peak = log_gamma(0.5 * (dof + 1.0)) - log_gamma(0.5 * dof)
    peak = peak - 0.5 * namespace(dof).log(np.pi * dof)
    return peak


def log_prior(dof: Float[np.ndarray, "*_ responses"]) -> Float[np.ndarray, "*_"]:
    """Log density of the gamma prior, summed over responses."""
    xp = namespace(dof)
    constant = PRIOR_SHAPE * np.log(PRIOR_RATE) - gammaln(PRIOR_SHAPE)
    each = constant + (PRIOR_SHAPE - 1.0) * xp.log(dof) - PRIOR_RATE * dof
    total: Float[np.ndarray, "*_"] = xp.asarray(each.sum(axis=-1))
    return total


def gamma_shape(variance: Float[np.ndarray, " experts"]) -> Float[np.ndarray, " experts"]:
    """Shape of a gamma distribution whose logarithm has this variance (Newton on the trigamma).

    The trigamma function is convex, and above ``1 / a + 1 / (2 a^2)``: Newton's steps from where
    that is the variance only go up.
    """
    shape = (1.0 + np.sqrt(1.0 + 2.0 * variance)) / (2.0 * variance)
    for _ in range(20):
        shape = shape - (polygamma(1, shape) - variance) / polygamma(2, shape)
    return np.asarray(shape)
