"""The tilted bound on the log normaliser of a softmax with Gaussian logits."""

from __future__ import annotations

import numpy as np
from scipy.special import wrightomega

from bayesvb.numerics.arrays import ExpertRows, RowVector
from bayesvb.numerics.special import log_sum_exp

NEWTON_STEPS = 3
"""Steps for the tilt of an ordinary row; they leave less than 1e-6 in the tilt, 1e-12 in the bound.

The number is fixed, so that the contribution of a row does not depend on the other rows of its
block.
"""

LARGE_VARIANCE = 4.0
"""Variance of a logit above which Newton's steps for the tilt may cycle."""

SETTLED = 1e-8
"""Relative step of the normaliser, and step of the logarithms, after which the next one,
quadratically smaller, is rounding."""

OMEGA_STEPS = 12
"""Steps of either kind for the rare row whose normaliser has not settled."""


def tilted_bound(
    logit: ExpertRows, variance: ExpertRows
) -> tuple[RowVector, ExpertRows, ExpertRows]:
    r"""Upper bound on ``E log sum_j exp(u_j)`` for independent ``u_j ~ N(t_j, s_j)``.

    .. math:: T = \tfrac12 \sum_j a_j^2 s_j + \log \sum_j \exp\{t_j + \tfrac12 (1 - 2 a_j) s_j\}

    holds for every tilt ``a`` and is convex in it; at the minimum ``a = p``, the normalised
    exponentials. ``a = 0`` is the log-concavity bound.

    Parameters
    ----------
    logit, variance : ndarray, shape (experts, rows)
        ``t`` and ``s``.

    Returns
    -------
    bound : ndarray, shape (rows,)
    share : ndarray, shape (experts, rows)
        ``p``, the derivative of the bound in the logits.
    tilt : ndarray, shape (experts, rows)
        ``a``.

    References
    ----------
    Knowles, Minka (2011), Non-conjugate variational message passing for multinomial and binary
    regression, NeurIPS 24, section 5.2.

    Examples
    --------
    >>> bound, share, tilt = tilted_bound(np.zeros((2, 1)), np.ones((2, 1)))
    >>> bound.round(4), share.ravel()
    (array([0.9431]), array([0.5, 0.5]))
    """
    # Chosen row by row: what a row adds must not depend on which rows share its block.
    hard = variance.max(axis=0, initial=0.0) > LARGE_VARIANCE
    if not hard.any():
        tilt = _newton(logit, variance)
    elif hard.all():
        tilt = _by_normaliser(logit, variance)
    else:
        tilt = np.empty_like(logit)
        tilt[:, hard] = _by_normaliser(logit[:, hard], variance[:, hard])
        tilt[:, ~hard] = _newton(logit[:, ~hard], variance[:, ~hard])
    terms = 0.5 - tilt
    terms *= variance
    terms += logit
    bound, share = log_sum_exp(terms)
    square = np.multiply(tilt, tilt, out=terms)
    bound += 0.5 * _column_dots(square, variance)
    return bound, share, tilt


def _newton(logit: ExpertRows, variance: ExpertRows) -> ExpertRows:
    """Newton's steps for ``a = p``: the matrix is diagonal plus rank one, so they cost little.

    With ``d = 1 / (1 + p s)`` and ``c = sum d a / sum d p`` a step goes from ``a`` to
    ``a - d (a - c p)``, which sums to one as ``a`` does. Everything happens in two buffers.
    """
    exponent = logit - logit.max(axis=0)
    # The softmax of the means: the solution without variance, and steps from it sum to one.
    tilt = np.exp(exponent)
    tilt /= tilt.sum(axis=0)
    share = 0.5 * variance
    exponent += share
    scale = np.empty_like(tilt)
    for _ in range(NEWTON_STEPS):
        np.multiply(tilt, variance, out=share)
        np.subtract(exponent, share, out=share)
        np.exp(share, out=share)  # at most exp(LARGE_VARIANCE / 2): no maximum to take out
        share /= share.sum(axis=0)
        np.multiply(share, variance, out=scale)
        scale += 1.0
        np.divide(1.0, scale, out=scale)
        # Rank-one part of the Jacobian I + (diag(p) - p p') diag(s), by Sherman and Morrison.
        share *= _column_dots(scale, tilt) / _column_dots(scale, share)
        share -= tilt
        share *= scale
        tilt += share
    return np.asarray(tilt)


def _column_dots(left: ExpertRows, right: ExpertRows) -> RowVector:
    """Sum over experts of the products."""
    return np.asarray(np.einsum("kn,kn->n", left, right))


def _by_normaliser(logit: ExpertRows, variance: ExpertRows) -> ExpertRows:
    """Tilt through the one unknown per row that is left, the log normaliser ``c``.

    ``l_j = log(a_j s_j)`` solves ``l + exp(l) = t_j + s_j / 2 + log s_j - c``, which is convex, and
    ``sum a_j = 1`` fixes ``c``: Newton's steps for all ``l_j`` and ``c`` at once.
    """
    # log(s) is to be finite; a tilt enters the bound multiplied by its variance only.
    variance = np.maximum(variance, np.finfo(float).eps)
    least, most = _bracket(logit, variance)
    target = logit + 0.5 * variance + np.log(variance) - least
    normaliser = least.copy()
    # Both are above the root of l + exp(l), which is convex: from there steps only fall.
    log_pull = np.minimum(target, np.log(np.maximum(target, 1.0)))
    for _ in range(12):  # seven to ten are usual where a row has a large variance
        pull = np.exp(log_pull)
        slope = 1.0 / (1.0 + pull)
        miss = (log_pull + pull - target) * slope
        pull /= variance
        # The sum after the step for l, to first order; it stays positive for its logarithm.
        corrected = np.minimum(miss, 0.9)
        total = pull.sum(axis=0) - _column_dots(pull, corrected)
        # Newton's step for log(sum a): far off, tilts are exponential in c and the sum is not
        # nearly linear.
        rise = total * np.log(total) / _column_dots(pull, slope)
        rise = np.clip(rise, least - normaliser, most - normaliser)
        normaliser += rise
        target -= rise
        slope *= rise
        log_pull -= miss
        log_pull -= slope
        np.minimum(log_pull, target, out=log_pull)
        # Either step may be short by chance while the other is not.
        stuck = np.abs(rise) > SETTLED * (1.0 + np.abs(normaliser))
        stuck |= np.abs(miss).max(axis=0) > SETTLED
        if not stuck.any():
            break
        if rise.min() < -1.0:  # a target that grew: keep to the side from which steps settle
            np.minimum(log_pull, np.log(np.maximum(target, 1.0)), out=log_pull)
    tilt = np.exp(log_pull) / variance
    tilt /= tilt.sum(axis=0)
    if stuck.any():
        tilt[:, stuck] = _by_omega(logit[:, stuck], variance[:, stuck])
    return np.asarray(tilt)


def _bracket(logit: ExpertRows, variance: ExpertRows) -> tuple[RowVector, RowVector]:
    """Bracket of the normaliser: no tilt exceeds one, and some tilt is at least ``1 / K``."""
    share = 1.0 / len(logit)
    least = logit - 0.5 * variance
    most = logit + (0.5 - share) * variance - np.log(share)
    return least.max(axis=0), most.max(axis=0)


def _by_omega(logit: ExpertRows, variance: ExpertRows) -> ExpertRows:
    """Bound with ``exp(l)`` from Wright's omega function: slower, and converges from anywhere.

    ``sum a_j`` falls with ``c`` and is convex in it: steps for its logarithm come close from afar,
    Newton's steps then settle from below.
    """
    start = logit + 0.5 * variance + np.log(variance)
    least, most = _bracket(logit, variance)
    normaliser = least
    for step in range(2 * OMEGA_STEPS):
        pull = wrightomega(start - normaliser)
        tilt = pull / variance
        total, slope = tilt.sum(axis=0), (tilt / (1.0 + pull)).sum(axis=0)
        rise = total * np.log(total) if step < OMEGA_STEPS else total - 1.0
        normaliser = np.clip(normaliser + rise / slope, least, most)
    tilt = wrightomega(start - normaliser) / variance
    return np.asarray(tilt / tilt.sum(axis=0))
