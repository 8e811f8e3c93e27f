"""The tilted bound on the log normaliser of a softmax with Gaussian logits."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.special import wrightomega

from bayesvb.special import log_sum_exp

NEWTON_STEPS = 3
"""Steps for the tilt of an ordinary row; they leave less than 1e-6 in the tilt, 1e-12 in the bound.

The number is fixed, so that what a row contributes does not depend on the other rows of its block.
"""

LARGE_VARIANCE = 4.0
"""With a larger variance of some logit Newton's steps for the tilt may cycle."""

ROOT_STEPS = 8
"""Steps of either kind for the normaliser of a row with a large variance; 16 always settled."""


def tilted_bound(
    logit: Float[np.ndarray, "experts rows"], variance: Float[np.ndarray, "experts rows"]
) -> tuple[
    Float[np.ndarray, " rows"], Float[np.ndarray, "experts rows"], Float[np.ndarray, "experts rows"]
]:
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
    tilt = _newton(logit, variance)
    hard = variance.max(axis=0, initial=0.0) > LARGE_VARIANCE
    if hard.any():
        tilt[:, hard] = _by_normaliser(logit[:, hard], variance[:, hard])
    bound, share = log_sum_exp(logit + (0.5 - tilt) * variance)
    return bound + 0.5 * (tilt * tilt * variance).sum(axis=0), share, tilt


def _newton(
    logit: Float[np.ndarray, "experts rows"], variance: Float[np.ndarray, "experts rows"]
) -> Float[np.ndarray, "experts rows"]:
    """Newton's steps for ``a = p``: the matrix is diagonal plus rank one, so they cost little."""
    _, tilt = log_sum_exp(logit)
    for _ in range(NEWTON_STEPS):
        _, share = log_sum_exp(logit + (0.5 - tilt) * variance)
        pull = share * variance
        scale = 1.0 / (1.0 + pull)
        step = (tilt - share) * scale
        share *= scale
        along = (pull * step).sum(axis=0) / (1.0 - (pull * share).sum(axis=0))
        tilt -= step
        tilt -= share * along
    return tilt


def _by_normaliser(
    logit: Float[np.ndarray, "experts rows"], variance: Float[np.ndarray, "experts rows"]
) -> Float[np.ndarray, "experts rows"]:
    """Tilt through the one unknown per row that is left, the log normaliser ``c``.

    ``a_j exp(a_j s_j) = exp(t_j + s_j / 2 - c)`` has the solution ``omega(...) / s_j`` with
    Wright's omega function, and ``sum_j a_j`` falls with ``c`` and is convex in it: steps for its
    logarithm come close from afar, Newton's steps then settle from below.
    """
    variance = np.maximum(variance, np.finfo(float).tiny)
    start = logit + 0.5 * variance + np.log(variance)
    least = (logit - 0.5 * variance).max(axis=0)
    normaliser = least
    for step in range(2 * ROOT_STEPS):
        pull = wrightomega(start - normaliser)
        tilt = pull / variance
        total, slope = tilt.sum(axis=0), (tilt / (1.0 + pull)).sum(axis=0)
        rise = total * np.log(total) if step < ROOT_STEPS else total - 1.0
        normaliser = np.maximum(normaliser + rise / slope, least)
    tilt = wrightomega(start - normaliser) / variance
    return np.asarray(tilt / tilt.sum(axis=0))
