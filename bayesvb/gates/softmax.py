"""Softmax weights with the tilted bound on the log normaliser: the default gate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bayesvb.blocks import Block
from bayesvb.factors.normal import Normal
from bayesvb.gates.base import LogitSums
from bayesvb.gates.softmax_family import (
    AbstractSoftmaxGate,
    SlopeSums,
    damped_step,
    full_step,
    logit_moments,
)
from bayesvb.gates.tilted import tilted_bound
from bayesvb.linalg import products
from bayesvb.parts import AbstractRows


@dataclass(frozen=True)
class SoftmaxRows(AbstractRows):
    """Bounded log weights of the rows, and what their derivatives need."""

    terms: Float[np.ndarray, "experts rows"]
    variance: Float[np.ndarray, "experts rows"]
    share: Float[np.ndarray, "experts rows"]
    tilt: Float[np.ndarray, "experts rows"]
    block: Block

    def sums(self, responsibilities: Float[np.ndarray, "experts rows"]) -> SlopeSums:
        """Derivatives ``r - p`` and ``w``, and the gain ``sum (1 - 2 a)^2 w s^2 / (1 + w s)``.

        Twice the diagonal blocks of ``w`` bound the full curvature in the means (Gershgorin).
        """
        design = self.block.designs["gating"]
        curvature = self.tilt - 2.0 * self.share
        curvature *= self.tilt
        curvature += self.share
        pull = curvature * self.variance
        gain = 1.0 - 2.0 * self.tilt
        gain *= gain
        gain *= self.variance
        gain *= pull
        pull += 1.0
        gain /= pull
        packed = self.block.weighted(curvature) @ products(design).T
        return SlopeSums(
            gradient=(responsibilities - self.block.weighted(self.share)) @ design.T,
            steepness=2.0 * packed,
            curvature=packed,
            gain=self.block.weighted(gain).sum(axis=1),
        )


@dataclass(frozen=True)
class SoftmaxGate(AbstractSoftmaxGate):
    r"""Softmax weights, tilted bound.

    .. math:: E \log \sum_j e^{u_j} \le \tfrac12 \sum_j a_j^2 s_j
              + \log \sum_j \exp\{t_j + \tfrac12 (1 - 2 a_j) s_j\}

    for logits ``u_j ~ N(t_j, s_j)``, at its best ``a``. The bound is far tighter than the product
    bound of the density regression literature (0.0014 against 0.11 nats per row from the true
    density on a two-expert design), and its posterior spread is closer to that of sampling.

    References
    ----------
    Knowles, Minka (2011), Non-conjugate variational message passing for multinomial and binary
    regression, NeurIPS 24, section 5.2. Boehning (1992), doi:10.1007/BF00048682, for the curvature.
    """

    def rows(self, posterior: Normal, block: Block) -> SoftmaxRows:
        """``t_k - T``: expected logit less the bound on the log normaliser."""
        logit, variance = logit_moments(posterior, block)
        bound, share, tilt = tilted_bound(logit, variance)
        return SoftmaxRows(logit - bound, variance, share, tilt, block)

    def advance(self, posterior: Normal, sums: SlopeSums) -> LogitSums:
        """Quasi-Newton step for the mean (Newton's for two components), damped for the spread."""
        return damped_step(self.prior, posterior, sums)

    def stationary(self, posterior: Normal, sums: SlopeSums) -> LogitSums:
        """Full natural-gradient step, undamped."""
        return full_step(posterior, sums)
