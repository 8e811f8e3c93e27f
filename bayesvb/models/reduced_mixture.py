"""Reduced space of a mixture of Gaussian linear experts; see ``AbstractReducedSpace``.

A vector holds coefficients in units of the noise, log precisions of the noise, and logits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float
from scipy.linalg import block_diag
from scipy.special import gammaln

from bayesvb.data.blocks import Block
from bayesvb.data.parts import GATING, MEAN
from bayesvb.experts.dispersed_predictor import AbstractDispersedExperts
from bayesvb.experts.linear import LinearExperts
from bayesvb.experts.predictor import AbstractPredictorExperts
from bayesvb.experts.zero_inflated import ZeroInflatedExperts
from bayesvb.factors.dirichlet import Dirichlet
from bayesvb.factors.gamma import Gamma
from bayesvb.factors.normal import Normal
from bayesvb.gates.base import AnyGate
from bayesvb.gates.softmax_base import AbstractSoftmaxGate
from bayesvb.models.common_law import CommonLaw
from bayesvb.models.integrated_scales import IntegratedScales
from bayesvb.models.mixture_rows import Coefficients, Logits, LogPrecisions, MixtureRows
from bayesvb.models.reduced_gates import (
    AbstractReducedGate,
    ReducedSoftmax,
    ReducedSticks,
    ReducedWeights,
)
from bayesvb.models.reduced_predictors import PredictorRows, ReducedPredictors
from bayesvb.numerics.arrays import DrawParameters, DrawVector
from bayesvb.variational.local import Draws
from bayesvb.variational.reduced_space import AbstractReducedSpace, ValueAndGradient

FEW_ROWS, FEW_PER_COMPONENT = 200, 100
"""Rows, in all and per component, below which linear response is not always enough."""

THINNED = 4
"""Steps between grid points of the scale of common coefficients, of which samplers propose; the
weights of draws go by all of them."""


@runtime_checkable
class CoefficientLaw(Protocol):
    """Prior of the experts' coefficients given their noise, some of its scales integrated out."""

    def log_prior(
        self, u: Coefficients, t: LogPrecisions
    ) -> tuple[DrawVector, Coefficients, LogPrecisions]:
        """Log density of the coefficients in units of the noise, and its gradient in both."""

    def draw(
        self, u: Coefficients, t: LogPrecisions, rng: np.random.Generator
    ) -> tuple[tuple[np.ndarray, ...], DrawVector]:
        """Precisions that were integrated out, by name, and the log density of the draws."""


@dataclass(frozen=True)
class NoiseUnits:
    """Coefficients whose prior is in units of the noise: independent of it.

    Attributes
    ----------
    scales : IntegratedScales
    """

    scales: IntegratedScales

    def log_prior(
        self, u: Coefficients, t: LogPrecisions
    ) -> tuple[DrawVector, Coefficients, LogPrecisions]:
        """Gaussian terms with fixed precision, multivariate t of the others."""
        fixed = u @ self.scales.fixed
        value, weight = self.scales.log_density((u * u).sum(axis=(1, 2)))
        value = value - 0.5 * (u * fixed).sum(axis=(1, 2, 3)) + self.scales.constant
        return value, -fixed - weight[:, None, None] * u, np.zeros_like(t)

    def draw(
        self, u: Coefficients, t: LogPrecisions, rng: np.random.Generator
    ) -> tuple[tuple[np.ndarray, ...], DrawVector]:
        """Precisions given sums of squares."""
        drawn, log_density = self.scales.draw((u * u).sum(axis=(1, 2)), rng)
        return (drawn,), log_density


@dataclass(frozen=True)
class ReducedMixture(AbstractReducedSpace):
    """Mixture whose prior scales and common logits are integrated out.

    Attributes
    ----------
    core : Mixture
        Model whose log prior density counts.
    rows : MixtureRows
    law : CoefficientLaw
    gate : AbstractReducedGate
    order : sequence of int
        Component of each expert of the rows: the order of the sticks.
    scale_names : tuple of str
        Names of draws of the precisions: first of the experts, then of the gate.
    """

    core: Any
    rows: MixtureRows
    law: CoefficientLaw
    gate: AbstractReducedGate
    order: Sequence[int]
    scale_names: tuple[str, ...]

    @property
    def _shape(self) -> tuple[int, int, int]:
        """Experts, responses and terms."""
        return len(self.order), len(self.rows.response), len(self.rows.design)

    @property
    def size(self) -> int:
        """Coefficients and precision of every expert and response, and the logits."""
        experts, responses, terms = self._shape
        n_logits, gating_terms = self.gate.shape
        return experts * responses * (terms + 1) + n_logits * gating_terms

    @property
    def few_rows(self) -> int:
        """Numbers of rows, in all or per component, below which draws are exact by default."""
        return max(FEW_ROWS, FEW_PER_COMPONENT * len(self.order))

    def split(self, vectors: DrawParameters) -> tuple[Coefficients, LogPrecisions, Logits]:
        """Coefficients in units of the noise, log precisions and logits."""
        experts, responses, terms = self._shape
        first = experts * responses * terms
        second, n_draws = first + experts * responses, len(vectors)
        return (
            vectors[:, :first].reshape(n_draws, experts, responses, terms),
            vectors[:, first:second].reshape(n_draws, experts, responses),
            vectors[:, second:].reshape(n_draws, *self.gate.shape),
        )

    def vectors(self, draws: Draws) -> DrawParameters:
        order = list(self.order)
        t = np.log(np.asarray(draws["precision"])[:, order])
        u = np.asarray(draws["coefficients"])[:, order] * np.exp(0.5 * t)[..., None]
        return _join(u, t, self.gate.logits(np.asarray(draws["gate"])))

    def log_lik(self, vectors: DrawParameters) -> DrawVector:
        """Log likelihood of all rows on the standardised scale."""
        return self.rows.log_lik(*self.split(vectors))

    def log_lik_slopes(self, vectors: DrawParameters) -> ValueAndGradient:
        value, *slopes = self.rows.slopes(*self.split(vectors))
        return value, _join(*slopes)

    def log_prior_slopes(self, vectors: DrawParameters) -> ValueAndGradient:
        """Log prior density and its gradient: noise, coefficients and logits."""
        u, t, logits = self.split(vectors)
        shape, rate = self.core.experts.prior.shape, self.core.experts.prior.rate
        of_noise = rate * np.exp(t)
        constant = t.shape[1] * (shape * np.log(rate) - gammaln(shape)).sum()
        value, by_u, by_t = self.law.log_prior(u, t)
        of_gate, by_logit = self.gate.log_prior(logits)
        total = value + of_gate + (shape * t - of_noise).sum(axis=(1, 2)) + constant
        return total, _join(by_u, by_t + shape - of_noise, by_logit)

    def complete(
        self, vectors: DrawParameters, rng: np.random.Generator
    ) -> tuple[Draws, DrawVector]:
        """Draws of all parameters: scales and common logits from their conditionals."""
        u, t, logits = self.split(vectors)
        scales, log_density = self.law.draw(u, t, rng)
        gate, gate_scales, of_gate = self.gate.complete(logits, rng)
        back = np.argsort(self.order)
        draws = {
            "coefficients": (u * np.exp(-0.5 * t)[..., None])[:, back],
            "precision": np.exp(t)[:, back],
            "gate": gate,
        }
        each = zip(self.scale_names, (*scales, gate_scales), strict=True)
        drawn = {name: values for name, values in each if values.shape[1]}
        return {**draws, **drawn}, log_density + of_gate

    def log_joint(self, vectors: DrawParameters, draws: Draws) -> DrawVector:
        """Log likelihood and log prior of all parameters, times the volume of the vectors."""
        t = self.split(vectors)[1]
        volume = (1.0 - 0.5 * self._shape[2]) * t.sum(axis=(1, 2))
        volume = volume + self.gate.log_volume(draws["gate"])
        return np.asarray(self.log_lik(vectors) + self.core.log_prior(draws) + volume)


def _join(u: Coefficients, t: LogPrecisions, logits: Logits) -> DrawParameters:
    n_draws = len(u)
    parts = [u.reshape(n_draws, -1), t.reshape(n_draws, -1), logits.reshape(n_draws, -1)]
    return np.concatenate(parts, axis=1)


def reduce_mixture(core: Any, block: Block) -> AbstractReducedSpace | None:
    """Return the reduced space of a mixture with fixed scales at these rows, or None."""
    if _has_predictors(core.experts):
        scales = IntegratedScales.from_precision(_precision(core.experts), core.n_components)
        return _build(core, block, scales, None, ("", ""))
    if not _has_reduced_experts(core.experts):
        return None
    precision = core.experts.prior.precision
    n_vectors = core.n_components * len(core.experts.prior.rate)
    law = NoiseUnits(IntegratedScales.from_precision(precision, n_vectors))
    return _build(core, block, law, None, ("", ""))


def reduce_scaled_mixture(
    core: Any, block: Block, scale_names: Sequence[str]
) -> AbstractReducedSpace | None:
    """Return the reduced space of a mixture that learns scales at these rows, or None.

    Parameters
    ----------
    core : ScaledMixture
    block : Block
        All rows.
    scale_names : sequence of str
        Names of draws of the precisions: of experts' coefficients or their differences, of common
        coefficients, of the gate's.
    """
    of_experts, gate, gate_scales = core.of_experts, core.of_gate, None
    of_predictors = _has_predictors(core.experts)
    if not (of_predictors or _has_reduced_experts(core.experts)):
        return None
    if max(of_experts.sizes, default=1.0) > 1.0:
        return None
    n_learned, n_blocks = len(of_experts.start), len(core.counts)
    shape, rate = (np.broadcast_to(of, n_blocks) for of in (core.prior.shape, core.prior.rate))
    if len(gate.start):
        prior = Gamma(shape[n_learned:], rate[n_learned:])
        gate_scales = IntegratedScales.from_scales(gate, prior, core.n_components - 1)
    prior, names = Gamma(shape[:n_learned], rate[:n_learned]), tuple(scale_names)
    if core.common is not None:
        return _build(core, block, _common_law(core, prior), gate_scales, names)
    if n_learned:
        scales = IntegratedScales.from_scales(of_experts, prior, of_experts.n_vectors)
    else:
        n_responses = 1 if of_predictors else len(core.experts.prior.rate)
        n_vectors = core.n_components * n_responses
        scales = IntegratedScales.from_precision(_precision(core.experts), n_vectors)
    law = scales if of_predictors else NoiseUnits(scales)
    return _build(core, block, law, gate_scales, (names[0], names[-1]))


def _common_law(core: Any, prior: Gamma) -> CommonLaw:
    """Prior of coefficients around common ones; blocks of differences come first."""
    common, scales, n_components = core.common, core.of_experts, core.n_components
    n_terms = core.experts.prior.mean.shape[-1]
    n_differences, n_penalised, *_ = core.draw_sizes
    first, second = slice(n_differences), slice(n_differences, n_differences + n_penalised)
    of_terms = scales.membership[first, :n_terms]
    of_common = scales.membership[second, n_terms:]
    differences = IntegratedScales(
        np.diag(scales.fixed[:n_terms]),
        of_terms,
        (n_components - 1.0) * of_terms.sum(axis=1),
        Gamma(prior.shape[first], prior.rate[first]),
        n_components,
    )
    none = np.zeros((len(common.places), len(common.places)))
    counts = of_common.sum(axis=1)
    own = Gamma(prior.shape[second], prior.rate[second])
    penalised = IntegratedScales(none, of_common, counts, own, 1)
    spread = common.spread
    return CommonLaw(
        differences,
        common.places,
        common.wide,
        1.0 / spread.precision[::THINNED],
        spread.log_weight[::THINNED],
        penalised,
    )


def _build(
    core: Any,
    block: Block,
    law: CoefficientLaw | IntegratedScales,
    gate_scales: IntegratedScales | None,
    scale_names: tuple[str, ...],
) -> AbstractReducedSpace | None:
    """Space of these laws; ``gate_scales`` None for the prior of the gate itself."""
    gate = _reduce_gate(core.gate, gate_scales)
    if gate is None or block.members is not None:
        return None
    ones = np.ones((1, block.n_rows))
    gating = ones if isinstance(gate, ReducedWeights) else block.designs.get(GATING, ones)
    if len(gating) != gate.shape[1]:
        return None
    order = tuple(getattr(core.gate, "order", None) or range(core.n_components))
    known = block.designs[MEAN], gating, block.response, block.weight, gate.is_stick_breaking
    if isinstance(law, IntegratedScales):
        names, n_terms = (scale_names[0], scale_names[1]), len(block.designs[MEAN])
        if law.membership[:, n_terms:].any():
            return None  # estimated scales of the smooths of zeros
        of_zeros = np.diagonal(law.fixed)[n_terms:]
        zeros = core.experts if isinstance(core.experts, ZeroInflatedExperts) else None
        counts = core.experts if zeros is None else zeros.experts
        predictors = PredictorRows(*known, experts=counts, block=block, zeros=zeros)
        law = law.first_terms(n_terms)
        return ReducedPredictors(core, predictors, law, gate, order, names, of_zeros)
    return ReducedMixture(core, MixtureRows(*known), law, gate, order, scale_names)


def _has_reduced_experts(experts: object) -> bool:
    """Whether experts are Gaussian regressions whose prior is in units of the noise, about zero."""
    if type(experts) is not LinearExperts or not experts.prior.operator.is_dense:
        return False
    prior = experts.prior
    return bool(prior.precision.ndim == 2 and np.ndim(prior.shape) == 0 and not prior.mean.any())


def _has_predictors(experts: object) -> bool:
    """Whether experts are likelihoods of one predictor, with zeros or without.

    Their coefficients are about zero a priori.
    """
    if isinstance(experts, ZeroInflatedExperts):
        further = experts.of_further
        if not (further.operator.is_dense and further.precision.ndim == 2):
            return False
        experts = experts.experts
    if not isinstance(experts, AbstractPredictorExperts | AbstractDispersedExperts):
        return False
    prior = experts.prior
    return bool(prior.operator.is_dense and prior.precision.ndim == 2 and not prior.mean.any())


def _precision(experts: Any) -> Float[np.ndarray, "terms terms"]:
    """Prior precision of the coefficients of the mean, then of zeros."""
    if not isinstance(experts, ZeroInflatedExperts):
        precision: Float[np.ndarray, "terms terms"] = experts.prior.precision
        return precision
    return np.asarray(block_diag(experts.experts.prior.precision, experts.of_further.precision))


def _reduce_gate(gate: AnyGate, scales: IntegratedScales | None) -> AbstractReducedGate | None:
    """Gate whose directions without likelihood are integrated out."""
    prior = gate.prior
    if isinstance(prior, Dirichlet):
        return ReducedWeights(prior)
    if not isinstance(prior, Normal) or prior.precision.ndim != 2:
        return None
    n_logits = gate.n_components - 1
    if scales is None:
        if np.count_nonzero(prior.precision - np.diag(np.diagonal(prior.precision))):
            return None
        scales = IntegratedScales.from_precision(prior.precision, n_logits)
    if not isinstance(gate, AbstractSoftmaxGate):
        return ReducedSticks(prior.mean, scales)
    if gate.flat or not gate.exchangeable:
        return None
    return ReducedSoftmax(prior.mean[0], gate.n_components, scales)
