"""Common base of the softmax gates: everything but the bound on the log normaliser."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.data.scaling import Scaling
from bayesvb.data.statistics import SufficientStats, with_known
from bayesvb.factors.normal import Normal
from bayesvb.gates.base import GatePrior
from bayesvb.gates.gaussian_logits import (
    AbstractLogitGate,
    ContrastCoordinates,
    LogitLaw,
    Slopes,
    logit_prior_rows,
)
from bayesvb.numerics.array_library import namespace
from bayesvb.numerics.arrays import DrawExpertRows, DrawTerms, ExpertRows, TermRows
from bayesvb.numerics.linalg import unpack
from bayesvb.numerics.pieces import IN_CACHE, pieces
from bayesvb.numerics.special import (
    LARGEST_EXPONENT,
    expected_softmax,
    log_total,
)
from bayesvb.variational.coordinates import AbstractCoordinates
from bayesvb.variational.descriptions import PriorRow
from bayesvb.variational.linear_predictors import LogitCoordinates, LogitStats, logit_moments


@dataclass(frozen=True)
class SlopeStats(SufficientStats):
    """Derivatives of the rows' part of a bound in the coefficients.

    Attributes
    ----------
    gradient : ndarray, shape (experts, terms)
        Derivative in the means.
    steepness : ndarray, shape (experts, packed)
        Sum of ``v x x'``, packed, that bounds minus the second derivative in all means together.
    curvature : ndarray, shape (experts, packed)
        Sum of ``w x x'``, packed: minus twice the derivative in the covariances.
    gain : ndarray, shape (experts,)
        Bound on how much a change of the precision comes back amplified, with opposite sign, in
        the next curvature.
    """

    gradient: Float[np.ndarray, "*many experts terms"]
    steepness: Float[np.ndarray, "*many experts packed"]
    curvature: Float[np.ndarray, "*many experts packed"]
    gain: Float[np.ndarray, "*many experts"]

    def damped(self, prior: Normal, posterior: Normal) -> LogitStats:
        """Quasi-Newton step for the mean, damped natural-gradient step for the precision.

        The mean moves by ``(P_0 + steepness)^-1`` times its gradient. The precision moves towards
        ``P_0 + W``, ``W`` the curvature; rows with a high leverage answer to a smaller variance of
        their logits with a smaller weight, and so with a larger variance next time. A map with
        slope ``-g`` settles fastest when it moves ``2 / (2 + g)`` of the way.
        """
        steep = prior.operator.plus(self.steepness)
        slope = self.gradient - prior.pull(posterior.mean - prior.mean)
        mean = posterior.mean + steep.solve(slope[..., None, :])[..., 0, :]
        # Damping by the gain: undamped, rows of high leverage make the precision oscillate.
        share = (2.0 / (2.0 + self.gain))[:, None]
        held_back = posterior.operator.packed() - prior.operator.packed() - self.curvature
        return centred_sums(prior, mean, self.curvature + (1.0 - share) * held_back)

    def full(self, posterior: Normal) -> LogitStats:
        """Full natural-gradient step: derivatives in ``E[g]`` and in ``-E[g g'] / 2``."""
        matrix = posterior.operator.like(self.curvature)
        pull = matrix.times(posterior.mean[..., None, :])[..., 0, :]
        return LogitStats(self.curvature, self.gradient + pull)


def centred_sums(
    prior: Normal,
    mean: Float[np.ndarray, "experts terms"],
    curvature: Float[np.ndarray, "experts packed"],
) -> LogitStats:
    """Statistics of the posterior with these means, less their common shift.

    The likelihood is invariant under a shift of all coefficients and the prior, equal for all, has
    its maximum at zero: removing the shift is the best step along it, of which curvatures of single
    components would make a hundredth at a time. If the prior differs between components, it is not
    invariant under such a shift, which then stays.
    """
    offset = mean - prior.mean
    if prior.precisions.ndim == 1:
        offset -= offset.mean(axis=0)
    matrix = prior.operator.like(curvature)
    linear = matrix.times((prior.mean + offset)[..., None, :])[..., 0, :] + prior.pull(offset)
    return LogitStats(curvature, linear)


@dataclass(frozen=True)
class NormaliserDerivatives:
    """Derivatives of a bound ``T(t, s)`` on the log normaliser, ``t`` the logits, ``s`` variances.

    Attributes
    ----------
    share, weight : ndarray, shape (experts, rows)
        ``dT/dt`` and ``2 dT/ds``.
    share_by_logit, share_by_variance : ndarray, shape (experts, experts, rows)
        Derivatives of ``share``.
    weight_by_logit, weight_by_variance : ndarray, shape (experts, experts, rows)
        Derivatives of ``weight``.
    """

    share: ExpertRows
    weight: ExpertRows
    share_by_logit: Float[np.ndarray, "experts experts rows"]
    share_by_variance: Float[np.ndarray, "experts experts rows"]
    weight_by_logit: Float[np.ndarray, "experts experts rows"]
    weight_by_variance: Float[np.ndarray, "experts experts rows"]

    def anchored(self) -> NormaliserDerivatives:
        """Derivatives of the bound plus half the squared mean of the logits, at a mean of zero.

        The likelihood does not depend on a shift of all logits, and this holds it where it is.
        """
        return replace(self, share_by_logit=self.share_by_logit + len(self.share) ** -2.0)

    def of_gate(self, logit: ExpertRows) -> Slopes:
        """Derivatives of ``t_k - T`` in ``-E u^2 / 2`` and in ``E u = t``.

        The variance is the square less ``t^2``, so that it falls with ``t`` where the square stays.
        """
        n_experts, n_rows = logit.shape
        share, weight = self.share, self.weight
        by_square = (-2.0 * self.share_by_variance, -2.0 * self.weight_by_variance)
        share_by_mean = self.share_by_logit + by_square[0] * logit
        weight_by_mean = self.weight_by_logit + by_square[1] * logit
        experts = np.arange(n_experts)
        linear = share_by_mean - logit[:, None] * weight_by_mean
        linear[experts, experts] -= weight
        mixed = by_square[0] - logit[:, None] * by_square[1]
        top = np.concatenate([by_square[1], weight_by_mean], axis=1)
        bottom = np.concatenate([-mixed, -linear], axis=1)
        of_linear = np.broadcast_to(logit * weight - share, (n_experts, n_experts, n_rows)).copy()
        of_linear[experts, experts] += 1.0
        of_square = np.broadcast_to(weight, (n_experts, n_experts, n_rows))
        slopes = np.concatenate([of_square, of_linear], axis=1)
        return slopes, np.concatenate([top, bottom])


@dataclass(frozen=True)
class AbstractSoftmaxGate(AbstractLogitGate, abc.ABC):
    r"""``pi_k(x) = exp(x' g_k) / sum_j exp(x' g_j)``, ``g_k ~ N(m_0, S_0)``.

    The components are exchangeable. What differs is the bound on ``E log sum_j exp(x' g_j)``, which
    enters each row of the lower bound once, with weight one.

    Attributes
    ----------
    prior : Normal
        Prior of the coefficients, one row per component.
    flat : bool
        Whether the prior is flat: coordinates are then contrasts between components, as the
        likelihood is invariant under a shift of all coefficients.
    """

    formula = "softmax"

    prior: LogitLaw
    flat: bool = False

    @classmethod
    def from_prior(cls, n_components: int, prior: GatePrior) -> AbstractSoftmaxGate:
        """Gate with the same prior for each component."""
        return cls(prior.law(np.tile(prior.coefficients.mean, (n_components, 1))))

    @classmethod
    def prior_rows(
        cls, n_components: int, prior: GatePrior, scaling: Scaling, terms: Sequence[str]
    ) -> list[PriorRow]:
        """Normal priors of the coefficients of each logit."""
        return logit_prior_rows(prior.coefficients, scaling, terms)

    @property
    def n_components(self) -> int:
        return len(self.prior.mean)

    def start(self) -> LogitLaw:
        """The prior mean, with one unit of precision more than the prior."""
        return self.prior.start(1.0)

    def with_prior_power(self, power: float) -> AbstractSoftmaxGate:
        """Gate whose prior density is to a power; the bounds of most gates are tight at a point."""
        if power == 0.0:  # a lone component has nothing to learn, and stays where the prior is
            alone = self.n_components == 1
            # Power of the prior of a lone component's gate that nothing moves.
            return replace(self, flat=True, prior=self.prior.to_the_power(1e10**alone))
        return replace(self, prior=self.prior.to_the_power(power))

    def global_step(
        self, posterior: LogitLaw, stats: object, before: LogitStats | None = None
    ) -> LogitStats:
        """A step, known rows with a normal prior of the coefficients from them."""
        known = self if before is None else replace(self, prior=self.update(before))
        return with_known(known.step(posterior, stats), before)

    def gradient_stats(
        self, posterior: LogitLaw, stats: object, before: LogitStats | None = None
    ) -> LogitStats:
        """Derivatives of the present rows, added to the known rows' derivatives."""
        return with_known(self.full_step(posterior, stats), before)

    @abc.abstractmethod
    def step(self, posterior: LogitLaw, stats: Any) -> LogitStats:
        """Statistics of the next posterior, of all rows."""

    def full_step(self, posterior: LogitLaw, stats: Any) -> LogitStats:
        """Statistics of an undamped step."""
        return cast(LogitStats, stats)

    def weights_of(self, logit: ExpertRows, variance: ExpertRows) -> ExpertRows:
        """Mean of the softmax, by quadrature over the logits of each row."""
        return expected_softmax(logit, variance)

    @property
    def exchangeable(self) -> bool:
        """Whether all components have the same prior mean."""
        return bool((np.ptp(self.prior.mean, axis=0) == 0.0).all())

    def log_weights_at(
        self,
        draws: Float[np.ndarray, "draws experts terms"],
        design: TermRows,
        effects: DrawExpertRows | None = None,
    ) -> DrawExpertRows:
        xp = namespace(draws)
        if xp is np:
            return _log_weights(draws, design, effects)
        logit = draws @ design
        logit = logit if effects is None else logit + effects
        log_weights: DrawExpertRows
        log_weights = logit - xp.expand_dims(log_total(logit, axis=1), 1)
        return log_weights

    def permuted(
        self, order: Sequence[int], stats: LogitStats
    ) -> tuple[AbstractSoftmaxGate, LogitStats]:
        prior = self.prior.with_mean(self.prior.mean[np.asarray(order)])
        return replace(self, prior=prior), stats.permuted(order)

    def merged(
        self,
        stats: LogitStats,
        kept: Sequence[int],
        pair: tuple[int, int],
        rows: tuple[float, float],
        intercept: int | None,
    ) -> tuple[LogitStats, float]:
        r"""Statistics of the merged components.

        Where the logits ``g_j' x = g_m' x + log(1 - s)`` and ``g_m' x + log s`` of two components
        differ by a constant, their weights add up to the weight with logit ``g_m' x``. The form of
        both in the ELBO is then a quadratic in ``g_m``, less the rows' share of the two constants.
        """
        if intercept is None:
            raise NotImplementedError("its logits have no intercept, which merging needs")
        curvature, linear, constant = stats.curvature.copy(), stats.linear.copy(), 0.0
        into, spared = pair
        share = np.maximum(np.divide(rows, sum(rows)), np.finfo(float).tiny)
        for one, shift, weight in zip(pair, np.log(share), rows, strict=True):
            pull = shift * unpack(curvature[one])[intercept]
            constant += float(shift * (linear[one, intercept] - 0.5 * pull[intercept] - weight))
            linear[one] -= pull
        for values in (curvature, linear):
            values[into] += values[spared]
        return LogitStats(curvature[list(kept)], linear[list(kept)]), constant

    def coordinates(self, posterior: LogitLaw) -> AbstractCoordinates:
        """Standard coordinates of the coefficients, or of their contrasts."""
        coordinates = LogitCoordinates(posterior)
        return ContrastCoordinates(coordinates) if self.flat else coordinates

    def normaliser_derivatives(
        self, logit: ExpertRows, variance: ExpertRows
    ) -> NormaliserDerivatives | None:
        """Derivatives of the bound on the log normaliser; None if they are not at hand."""
        return None

    def logit_slopes(
        self, posterior: LogitLaw, block: Block, responsibilities: ExpertRows
    ) -> Slopes | None:
        """Derivatives of ``t_k - T``, ``T`` the bound on the log normaliser."""
        logit, variance = logit_moments(posterior, self.design(block))
        slopes = self.normaliser_derivatives(logit, variance)
        if slopes is None:
            return None
        return (slopes.anchored() if self.flat else slopes).of_gate(logit)

    def coefficients(
        self, draws: Float[np.ndarray, "draws experts terms"]
    ) -> Mapping[int, DrawTerms]:
        """Differences to component 1: only these are identified by data."""
        return {k: draws[:, k] - draws[:, 0] for k in range(1, draws.shape[1])}

    def coefficient_meaning(self) -> str:
        """Meaning of a coefficient."""
        return "log odds against component 1"


def _log_weights(
    draws: Float[np.ndarray, "draws experts terms"],
    design: TermRows,
    effects: DrawExpertRows | None,
) -> DrawExpertRows:
    """Log of the softmax, a few draws at a time, whose arrays stay in the cache: half the time.

    Logits are differences to the first one, whose exponential is one.
    """
    log_weights = np.empty((*draws.shape[:2], design.shape[1]))
    for some in pieces(len(draws), draws.shape[1] * design.shape[1], IN_CACHE):
        part = log_weights[some]
        np.matmul(draws[some], design, out=part)
        if effects is not None:
            part += effects[some]
        part -= part[:, :1].copy()
        others = part[:, 1:]
        if others.size and others.max() < LARGEST_EXPONENT:
            part -= np.log(1.0 + np.exp(others).sum(axis=1, keepdims=True))
        else:
            part -= part.max(axis=1, keepdims=True)
            part -= np.log(np.exp(part).sum(axis=1, keepdims=True))
    return log_weights
