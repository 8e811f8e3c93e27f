"""Softmax weights with the product bound on the log normaliser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesvb.data.blocks import Block
from bayesvb.factors.normal import Normal
from bayesvb.gates.gaussian_logits import LogitLaw
from bayesvb.gates.softmax_base import AbstractSoftmaxGate, centred_sums
from bayesvb.gates.tilted_bound import tilted_bound
from bayesvb.linear.designs import AbstractDesign
from bayesvb.numerics.arrays import ExpertRows, RowVector
from bayesvb.numerics.special import jaakkola
from bayesvb.variational.linear_predictors import LogitStats, logit_moments
from bayesvb.variational.local import AbstractLocalPosterior


def product_bound(
    logit: ExpertRows, variance: ExpertRows
) -> tuple[RowVector, ExpertRows, ExpertRows]:
    r"""Upper bound on ``E log sum_j exp(u_j)`` for independent ``u_j ~ N(t_j, s_j)``.

    .. math:: B = \alpha + \sum_j \{\tfrac12 (t_j - \alpha) + \log(2 \cosh(\xi_j / 2))\},
              \qquad \xi_j = \sqrt{(t_j - \alpha)^2 + s_j}

    at the best shift ``alpha``: the normaliser is below a product of ``1 + exp(u_j - alpha)``, and
    the quadratic bound holds for each of these.

    Parameters
    ----------
    logit, variance : ndarray, shape (experts, rows)
        ``t`` and ``s``.

    Returns
    -------
    bound : ndarray, shape (rows,)
    share : ndarray, shape (experts, rows)
        Derivative of the bound in the logits.
    omega : ndarray, shape (experts, rows)
        ``2 lambda(xi)``, twice the derivative in the variances.

    References
    ----------
    Bouchard (2007), Efficient bounds for the softmax function and applications to approximate
    inference in hybrid models, NIPS workshop on approximate inference, eqs 4 and 5.

    Examples
    --------
    >>> bound, share, omega = product_bound(np.zeros((2, 1)), np.zeros((2, 1)))
    >>> (bound - np.log(2.0)).round(4), share.ravel()
    (array([0.6931]), array([0.5, 0.5]))
    """
    if len(logit) == 1:  # the best shift is at minus infinity, where the bound is exact
        return logit[0], np.ones_like(logit), np.zeros_like(logit)
    shift = _best_shift(logit, variance)
    distance = logit - shift
    log_cosh, omega = jaakkola(np.sqrt(distance * distance + variance))
    bound = shift + (0.5 * distance + log_cosh).sum(axis=0)
    return bound, 0.5 + omega * distance, omega


def _best_shift(logit: ExpertRows, variance: ExpertRows) -> RowVector:
    """Root of the derivative of the bound, which rises: Newton's steps inside a bracket."""
    below, above = _bracket(logit, variance)
    shift = 0.5 * (below + above)
    surplus = 0.5 * len(logit) - 1.0
    # Most steps for the shift of a row; five to ten are usual, and any shift gives a valid bound.
    for _ in range(60):
        distance = logit - shift
        square = distance * distance
        xi_square = np.maximum(square + variance, np.finfo(float).tiny)
        _, omega = jaakkola(np.sqrt(xi_square))
        # dB / d alpha, B as in ``product_bound``; B is convex, so its sign tells the side.
        slope = -surplus - (omega * distance).sum(axis=0)
        # sech^2(xi / 2) / 4 = 1 / 4 - (omega xi)^2
        falling = (0.25 - omega * omega * xi_square) * square + omega * variance
        bend = (falling / xi_square).sum(axis=0)
        below, above = np.where(slope <= 0.0, shift, below), np.where(slope > 0.0, shift, above)
        ahead = shift - slope / np.maximum(bend, np.finfo(float).tiny)
        # Where the bend is next to nothing a step would leave the bracket: halve it instead.
        inside = (ahead >= below) & (ahead <= above)
        ahead = np.where(inside, ahead, 0.5 * (below + above))
        # Relative step of a shift after which the next, quadratically smaller, is rounding.
        settled = np.abs(ahead - shift) <= 1e-9 * (1.0 + np.abs(shift))
        shift = ahead
        if settled.all():
            break
    return np.asarray(shift)


def _bracket(logit: ExpertRows, variance: ExpertRows) -> tuple[RowVector, RowVector]:
    """Shifts below and above the best one.

    At the smallest logit the derivative is at most ``1 - K / 2``. It is positive once every term
    of its sum exceeds ``1 / 2 - 1 / K``, which two square roots of ``1 - 2 / K`` multiply to.
    """
    part = 1.0 - 2.0 / len(logit)
    far = np.sqrt(variance.max(axis=0) * part / (1.0 - part))
    distance = np.maximum(far, 2.0 * np.arctanh(np.sqrt(part)))
    return logit.min(axis=0), logit.max(axis=0) + distance


@dataclass(frozen=True)
class BouchardLocalPosterior(AbstractLocalPosterior):
    """Bounded log weights of the rows, and the quadratic form of the bound at its best."""

    expected_log_density: ExpertRows
    logit: ExpertRows
    share: ExpertRows
    omega: ExpertRows
    block: Block
    design: AbstractDesign

    def sufficient_stats(self, responsibilities: ExpertRows) -> LogitStats:
        """``sum omega x x'`` and ``sum (r - 1/2 + omega alpha) x``; no ``r`` in the first."""
        constant = self.block.weighted(self.share - self.omega * self.logit)
        curvature = self.block.weighted(self.omega)
        return LogitStats.of_rows(self.design, curvature, responsibilities - constant)


@dataclass(frozen=True)
class BouchardGate(AbstractSoftmaxGate):
    r"""Softmax weights, product bound: every step is an exact coordinate maximisation.

    The bound of the density regression literature, with corrected updates. It is loose by 0.69 nats
    per row for two equal weights and by up to one for more, and exact only where one component
    dominates. It therefore drives gate coefficients apart (4.8 instead of 1.0 by sampling on a
    two-expert design) and, compared across starts, prefers solutions that empty a component: starts
    are ranked by the tilted bound at the same posterior. Kept for comparison; ``softmax`` is the
    same model with the tilted bound.

    References
    ----------
    Chuu (2018), A Variational Approach for Bayesian Density Regression, eqs 13, 26 to 29 and
    algorithm 1, corrected: ``Q_k = S_0^-1 + 2 sum lambda x x'`` and ``eta_k = sum (r - 1/2 + 2
    lambda alpha) x``, where the report multiplies the log normaliser by ``r`` (eq. 29; the bound
    then falls); ``- xi`` in eq. 13 as in eq. 26; ``E[gamma' gamma]`` includes the trace of
    ``Q_k^-1`` (eq. 39); the short form of the bound is used only at the best ``xi`` (eqs 26, 38);
    the log normaliser cancels from the responsibilities (eqs 12, 13).
    """

    def with_prior_power(self, power: float) -> AbstractSoftmaxGate:
        """None: the bound is loose at a point too."""
        raise NotImplementedError(
            "the bound of gate='softmax-bouchard' is loose at point estimates; gate='softmax' is "
            "the same model with a bound that is tight there"
        )

    def local(self, posterior: LogitLaw, block: Block) -> BouchardLocalPosterior:
        """``t_k - B``: expected logit less the bound on the log normaliser."""
        design = self.design(block)
        logit, variance = logit_moments(posterior, design)
        bound, share, omega = product_bound(logit, variance)
        return BouchardLocalPosterior(logit - bound, logit, share, omega, block, design)

    def step(self, posterior: Normal, stats: LogitStats) -> LogitStats:
        """Exact update given the quadratic form, then the best shift of all means together."""
        return centred_sums(self.prior, self.update(stats).mean, stats.curvature)

    def merged(self, *given: object, **named: object) -> Any:
        """None: the ELBO of this gate misranks models, and ``bound_gap`` needs rows."""
        raise NotImplementedError("the ELBO of its gate does not rank models without their rows")

    def bound_gap(self, posterior: LogitLaw, block: Block) -> RowVector:
        """Amount by which the tilted bound is tighter, where it is."""
        logit, variance = logit_moments(posterior, self.design(block))
        tight, _, _ = tilted_bound(logit, variance)
        return np.asarray(np.maximum(product_bound(logit, variance)[0] - tight, 0.0))
