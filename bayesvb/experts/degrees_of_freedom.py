"""Degrees of freedom of Student-t noise: their prior, and their estimate from sums over rows."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.special import digamma, gammaln, polygamma, zeta

from bayesvb.numerics.array_library import namespace, special
from bayesvb.numerics.arrays import Floats, SameShape

PRIOR_SHAPE, PRIOR_RATE = 2.0, 0.1
"""Gamma prior of learned degrees of freedom, mean 20: Juarez, Steel (2010), section 2."""

FIRST_DOF = 4.0
"""Initial value of learned degrees of freedom: from large ones they decrease slowly."""

DOF_RANGE = (0.05, 1e4)
"""Learned degrees of freedom stay inside; the prior alone keeps them from both ends. Below the
lower end draws of a response are beyond the largest float."""


SETTLED = 1e-11
"""Change of their logarithm after which another step, quadratically smaller, is rounding."""

Numbers = float | Floats


def learned_dof(total: Numbers, tail: Numbers) -> Floats:
    """Maximiser of ``N A(nu) + nu T / 2 + log p(nu)``, entry by entry; the function is concave.

    Newton's steps in ``log nu``, or halves of the bracket where these would leave it.

    Raises
    ------
    numpy.linalg.LinAlgError
        The sums are of no rows: ``E[log u] - E[u]`` is at most -1.
    """
    total, tail = np.broadcast_arrays(np.asarray(total, float), np.asarray(tail, float))
    if not ((total >= 0.0).all() and np.isfinite(tail).all()):
        raise np.linalg.LinAlgError("tails are of no rows")
    low, high = (np.full(total.shape, np.log(end)) for end in DOF_RANGE)
    # In log nu the step is scale free, and the bracket of five decades takes few halvings.
    at = np.full(total.shape, np.log(FIRST_DOF))
    below = _slope(np.exp(low), total, tail)[0] <= 0.0
    above = ~below & (_slope(np.exp(high), total, tail)[0] >= 0.0)
    # Steps for learned degrees of freedom; five to ten are usual, halves of the bracket end before.
    for _ in range(100):
        slope, bend = _slope(np.exp(at), total, tail)
        low, high = np.where(slope > 0.0, at, low), np.where(slope > 0.0, high, at)
        # A bend of zero makes a step that is infinite or nan; the bracket takes over below.
        with np.errstate(divide="ignore", invalid="ignore"):
            ahead = at - slope / bend
        inside = (ahead >= low) & (ahead <= high)
        before, at = at, np.where(inside, ahead, 0.5 * (low + high))
        if (below | above | (np.abs(at - before) <= SETTLED)).all():
            break
    dof = np.where(below, DOF_RANGE[0], np.where(above, DOF_RANGE[1], np.exp(at)))
    return np.asarray(dof)


def _slope(dof: Numbers, total: Numbers, tail: Numbers) -> tuple[Numbers, Numbers]:
    """First and second derivative of the objective in ``log nu``."""
    half = 0.5 * dof
    per_row = np.log(half) + 1.0 - digamma(half)
    slope = (0.5 * (total * per_row + tail) - PRIOR_RATE) * dof + (PRIOR_SHAPE - 1.0)
    # The trigamma function, as polygamma makes it of a zeta function, without its other work.
    bend = slope - (PRIOR_SHAPE - 1.0) + total * half * (1.0 - half * zeta(2.0, half))
    return slope, bend


def log_dof_sd(total: Numbers, dof: Numbers) -> Floats:
    """Standard deviation of ``log nu`` given the sums: the curvature where ``learned_dof`` is."""
    dof = np.asarray(dof)
    curvature = total * (0.25 * polygamma(1, 0.5 * dof) - 0.5 / dof)
    return np.asarray(1.0 / np.sqrt(dof * dof * curvature + PRIOR_SHAPE - 1.0))


def log_partition(dof: SameShape) -> SameShape:
    """``A(nu) = nu / 2 log(nu / 2) - log Gamma(nu / 2)``, with which every row enters."""
    return np.asarray(0.5 * dof * np.log(0.5 * dof) - gammaln(0.5 * dof))


def log_peak(dof: SameShape) -> SameShape:
    """Log density of the standard Student t at zero."""
    log_gamma = special(dof).gammaln
    peak: SameShape
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


def gamma_shape(variance: SameShape) -> SameShape:
    """Shape of a gamma distribution whose logarithm has this variance (Newton on the trigamma).

    The trigamma function is convex, and above ``1 / a + 1 / (2 a^2)``: Newton's steps from where
    that is the variance only go up.
    """
    shape = (1.0 + np.sqrt(1.0 + 2.0 * variance)) / (2.0 * variance)
    for _ in range(20):
        step = (polygamma(1, shape) - variance) / polygamma(2, shape)
        shape = shape - step
        if (np.abs(step) <= SETTLED * shape).all():
            break
    return np.asarray(shape)
