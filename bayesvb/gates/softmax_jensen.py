"""Softmax weights with the log-concavity bound on the log normaliser."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayesvb.data.blocks import Block
from bayesvb.factors.normal import Normal
from bayesvb.gates.gaussian_logits import LogitLaw
from bayesvb.gates.softmax_base import (
    AbstractSoftmaxGate,
    NormaliserDerivatives,
    SlopeStats,
)
from bayesvb.linear.designs import AbstractDesign
from bayesvb.numerics.arrays import ExpertRows
from bayesvb.numerics.special import log_sum_exp, softmax_spread
from bayesvb.variational.linear_predictors import LogitStats, logit_moments
from bayesvb.variational.local import AbstractLocalPosterior


@dataclass(frozen=True)
class JensenLocalPosterior(AbstractLocalPosterior):
    """Bounded log weights of the rows, and what their derivatives need."""

    expected_log_density: ExpertRows
    variance: ExpertRows
    share: ExpertRows
    weight: ExpertRows
    block: Block
    design: AbstractDesign

    def sufficient_stats(self, responsibilities: ExpertRows) -> SlopeStats:
        """Derivatives ``r - w`` and ``w``, the bound ``2 w (1 - w)`` on the curvature, the gain."""
        design, share = self.design, self.block.weighted(self.share)
        # 2 diag(p (1 - p)) dominates diag(p) - p p' (Gershgorin; Boehning 1992).
        spread = share * (1.0 - self.share)
        return SlopeStats(
            gradient=design.cross(responsibilities - share),
            steepness=design.gram(2.0 * spread),
            curvature=design.gram(self.block.weighted(self.weight)),
            gain=(spread * self.variance * self.variance).sum(axis=1),
        )


@dataclass(frozen=True)
class JensenGate(AbstractSoftmaxGate):
    r"""Softmax weights, log-concavity bound.

    .. math:: E \log \sum_j e^{u_j} \le \log \sum_j e^{t_j + s_j / 2}

    for logits ``u_j ~ N(t_j, s_j)``: Jensen's inequality. It is the tilted bound of the default
    gate with all tilts zero and so never tighter; where it is not much looser, as with few
    components and many rows, it saves the search for the tilts. Its posterior spread is too narrow.

    References
    ----------
    Chuu (2018), A Variational Approach for Bayesian Density Regression, section 5. Eq. 19 lacks the
    sum over ``k`` on its right-hand side and the condition ``alpha > 0``. Contrary to the report
    the responsibilities do not change, and the optimal ``q(gamma_k)`` is no longer Gaussian: it is
    kept Gaussian here and climbs. The auxiliary ``alpha`` is eliminated, which makes the
    objective jointly concave in all means and covariances and saves the zigzag of updates in turn.
    """

    def local(self, posterior: LogitLaw, block: Block) -> JensenLocalPosterior:
        """``t_k - A``: expected logit less the bound on the log normaliser."""
        design = self.design(block)
        logit, variance = logit_moments(posterior, design)
        if self.n_components == 1:  # nothing to bound: the normaliser is the logit itself
            zeros = np.zeros_like(logit)
            return JensenLocalPosterior(zeros, variance, np.ones_like(logit), zeros, block, design)
        bound, share = log_sum_exp(logit + 0.5 * variance)
        return JensenLocalPosterior(logit - bound, variance, share, share, block, design)

    def normaliser_derivatives(
        self, logit: ExpertRows, variance: ExpertRows
    ) -> NormaliserDerivatives:
        """Normalised exponentials of ``t + s / 2`` are both ``p`` and ``w``."""
        _, share = log_sum_exp(logit + 0.5 * variance)
        spread = softmax_spread(share)
        if self.n_components == 1:
            zeros = np.zeros_like(spread)
            return NormaliserDerivatives(share, 0.0 * share, zeros, zeros, zeros, zeros)
        half = 0.5 * spread
        return NormaliserDerivatives(share, share, spread, half, spread, half)

    def step(self, posterior: Normal, stats: SlopeStats) -> LogitStats:
        """Natural-gradient step of all components at once: what ``alpha`` is never shows."""
        return stats.damped(self.prior, posterior)

    def full_step(self, posterior: Normal, stats: SlopeStats) -> LogitStats:
        """Full natural-gradient step, undamped."""
        return stats.full(posterior)
