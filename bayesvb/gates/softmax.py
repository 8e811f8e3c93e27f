"""Softmax weights with the tilted bound on the log normaliser: the default gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from scipy.special import log_softmax

from bayesvb.blocks import Block
from bayesvb.factors.normal import Normal
from bayesvb.gates.base import AbstractGate, GatePrior, LogitSums, gaussian_logits
from bayesvb.gates.logit_coordinates import LogitCoordinates
from bayesvb.gates.tilted import tilted_bound
from bayesvb.linalg import (
    inverse_and_log_det,
    pack,
    products,
    quadratic_weights,
    times,
    unpack,
)
from bayesvb.parts import AbstractRows
from bayesvb.special import expected_softmax
from bayesvb.stats import Stats


@dataclass(frozen=True)
class SoftmaxSums(Stats):
    """Derivatives of the rows' part of the bound in the coefficients.

    Attributes
    ----------
    gradient : ndarray, shape (experts, terms)
        ``sum (r - p) x``, the derivative in the means.
    curvature : ndarray, shape (experts, pairs)
        ``sum w x x'``, packed: minus twice the derivative in the covariances.
    gain : ndarray, shape (experts,)
        Bound on how much a change of the precision comes back amplified, with opposite sign, in
        the next curvature.
    """

    gradient: Float[np.ndarray, "experts terms"]
    curvature: Float[np.ndarray, "experts pairs"]
    gain: Float[np.ndarray, " experts"]


@dataclass(frozen=True)
class SoftmaxRows(AbstractRows):
    """Bounded log weights of the rows, and what their derivatives need."""

    terms: Float[np.ndarray, "experts rows"]
    variance: Float[np.ndarray, "experts rows"]
    share: Float[np.ndarray, "experts rows"]
    tilt: Float[np.ndarray, "experts rows"]
    block: Block

    def sums(self, responsibilities: Float[np.ndarray, "experts rows"]) -> SoftmaxSums:
        """Derivatives, and the gain ``sum (1 - 2 a)^2 w s^2 / (1 + w s)``."""
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
        return SoftmaxSums(
            gradient=(responsibilities - self.block.weighted(self.share)) @ design.T,
            curvature=self.block.weighted(curvature) @ products(design).T,
            gain=self.block.weighted(gain).sum(axis=1),
        )


@dataclass(frozen=True)
class SoftmaxGate(AbstractGate[Normal, LogitSums]):
    r"""``pi_k(x) = exp(x' g_k) / sum_j exp(x' g_j)``, ``g_k ~ N(m_0, S_0)``, tilted bound.

    The components are exchangeable. The bound is far tighter than the product bound of the
    density regression literature (0.0014 against 0.11 nats per row from the true density on a
    two-expert design), and its posterior spread is closer to that of sampling.

    Attributes
    ----------
    prior : Normal
        Prior of the coefficients, one row per component.

    References
    ----------
    Knowles, Minka (2011), Non-conjugate variational message passing for multinomial and binary
    regression, NeurIPS 24, section 5.2. Boehning (1992), doi:10.1007/BF00048682, for the curvature.
    """

    prior: Normal

    @classmethod
    def from_prior(cls, n_components: int, prior: GatePrior) -> SoftmaxGate:
        """Gate with the same prior for each component."""
        mean = np.tile(prior.coefficients.mean, (n_components, 1))
        return cls(replace(prior.coefficients, mean=mean))

    @property
    def n_components(self) -> int:
        """Number of components."""
        return len(self.prior.mean)

    def start(self) -> Normal:
        """The prior mean, with one unit of precision more than the prior."""
        n_terms = self.prior.mean.shape[1]
        precision = np.broadcast_to(
            self.prior.precision + np.eye(n_terms), (self.n_components, n_terms, n_terms)
        )
        return Normal.from_precision(self.prior.mean, precision)

    def rows(self, posterior: Normal, block: Block) -> SoftmaxRows:
        """``t_k - T``: expected logit less the bound on the log normaliser."""
        design = block.designs["gating"]
        logit = posterior.mean @ design
        variance = quadratic_weights(posterior.covariance) @ products(design)
        bound, share, tilt = tilted_bound(logit, variance)
        return SoftmaxRows(logit - bound, variance, share, tilt, block)

    def update(self, sums: LogitSums) -> Normal:
        """Gaussian of these natural parameters."""
        return gaussian_logits(self.prior, sums)

    def advance(self, posterior: Normal, sums: SoftmaxSums) -> LogitSums:
        r"""Quasi-Newton step for the mean, damped natural-gradient step for the precision.

        With ``W = sum w x x'`` the mean moves by ``(P_0 + 2 W)^-1`` times its gradient: twice the
        diagonal blocks bounds the full curvature, and for two components it is Newton's step. The
        precision moves towards ``P_0 + W``; rows with a high leverage answer to a smaller variance
        of their logits with a smaller weight, and so with a larger variance next time. A map with
        slope ``-g`` settles fastest when it moves ``2 / (2 + g)`` of the way.
        """
        prior, curvature = self.prior, unpack(sums.curvature)
        steep, _ = inverse_and_log_det(prior.precision + 2.0 * curvature)
        pull = times(prior.precision, posterior.mean - prior.mean)
        mean = posterior.mean + times(steep, sums.gradient - pull)
        share = (2.0 / (2.0 + sums.gain))[:, None, None]
        held_back = posterior.precision - prior.precision - curvature
        curvature += (1.0 - share) * held_back
        pull = times(prior.precision, mean - prior.mean)
        return LogitSums(pack(curvature), times(curvature, mean) + pull)

    def kl(self, posterior: Normal) -> float:
        """``KL(posterior || prior)``."""
        return posterior.kl(self.prior)

    def mean_weights(self, posterior: Normal, block: Block) -> Float[np.ndarray, "experts rows"]:
        """Posterior mean of the softmax, by quadrature over the logits of each row."""
        design = block.designs["gating"]
        variance = quadratic_weights(posterior.covariance) @ products(design)
        return expected_softmax(posterior.mean @ design, variance)

    def draws(
        self, posterior: Normal, n: int, rng: np.random.Generator
    ) -> Float[np.ndarray, "draws experts terms"]:
        """Draws of the coefficients of every component."""
        return posterior.draws(n, rng)

    def log_weights(
        self, draws: Float[np.ndarray, "draws experts terms"], block: Block
    ) -> Float[np.ndarray, "draws experts rows"]:
        """Exact log weights for each draw."""
        return np.asarray(log_softmax(draws @ block.designs["gating"], axis=1))

    def log_density(
        self, posterior: Normal | None, draws: Float[np.ndarray, "draws experts terms"]
    ) -> Float[np.ndarray, " draws"]:
        """Log density of each draw."""
        return np.asarray((posterior or self.prior).log_density(draws).sum(axis=-1))

    def permuted(self, order: Sequence[int], sums: LogitSums) -> tuple[SoftmaxGate, LogitSums]:
        """Gate and sums after a new labelling."""
        index = np.asarray(order)
        prior = replace(self.prior, mean=self.prior.mean[index])
        return replace(self, prior=prior), LogitSums(sums.curvature[index], sums.linear[index])

    def stationary(self, posterior: Normal, sums: SoftmaxSums) -> LogitSums:
        """Full natural-gradient step: derivatives in ``E[g]`` and in ``-E[g g'] / 2``."""
        pull = times(unpack(sums.curvature), posterior.mean)
        return LogitSums(sums.curvature, sums.gradient + pull)

    def coordinates(self, posterior: Normal) -> LogitCoordinates:
        """Standard coordinates of the coefficients."""
        return LogitCoordinates(posterior)

    def coefficients(
        self, draws: Float[np.ndarray, "draws experts terms"]
    ) -> Mapping[int, Float[np.ndarray, "draws terms"]]:
        """Differences to component 1: only these are identified by data."""
        return {k: draws[:, k] - draws[:, 0] for k in range(1, draws.shape[1])}

    def coefficient_meaning(self) -> str:
        """Meaning of a coefficient."""
        return "log odds against component 1"
