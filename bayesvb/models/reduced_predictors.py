"""Reduced space of a mixture of likelihoods of one linear predictor; see ``AbstractReducedSpace``.

A vector holds coefficients, logs of positive parameters such as a dispersion, logits, and
coefficients of the log odds of zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import expit, logit

from bayesvb.data.blocks import Block
from bayesvb.data.parts import ZERO
from bayesvb.experts.dispersed_predictor import AbstractDispersedExperts
from bayesvb.experts.hurdle import HurdleExperts
from bayesvb.experts.zero_inflated import ZeroInflatedExperts
from bayesvb.models.integrated_scales import IntegratedScales
from bayesvb.models.mixture_rows import Coefficients, Further, Logits, LogPrecisions, MixtureRows
from bayesvb.models.reduced_gates import AbstractReducedGate
from bayesvb.numerics.arrays import DrawExpertRows, DrawParameters, DrawVector
from bayesvb.variational.local import Draws
from bayesvb.variational.model import AnyModel
from bayesvb.variational.reduced_space import AbstractReducedSpace, LongTail, ValueAndGradient

FEW_PER_COMPONENT = 300
"""Rows per component below which draws are exact by default, for several components with a
dispersion or a shape. Few rows leave the dispersion uncertain, and the posterior is skewed. With
one component, standard deviations by linear response are within 2%."""

FEW_WITHOUT_DISPERSION = 100
"""Rows per component below which draws are exact by default, for several components without a
dispersion: with 50 rows each, 90% intervals of slopes of two standard errors covered 78% by linear
response, and 85% by exact draws."""

FALLS = np.array([0.1, 0.5, 1.0, 1.7, 2.5, 3.5, 5.0])
"""Distances of the log odds of a structural zero below the log odds of any zero, along the tail.

With log odds still lower, the prior of 2.5 decides."""

OVERDISPERSED, NEAR_POISSON = -1.5, 3.0
"""Logs of dispersions of one component, and of the others, from which such optima are sought."""

TWO_PI = 2.0 * np.pi


@dataclass(frozen=True)
class PredictorRows(MixtureRows):
    """Rows of a mixture of likelihoods of one linear predictor.

    Attributes
    ----------
    experts : AbstractPredictorExperts or AbstractDispersedExperts
        Without zeros.
    block : Block
        All rows.
    zeros : ZeroInflatedExperts or None
        The same experts with zeros, whose log odds depend on the last part of a vector.
    """

    experts: Any
    block: Block
    zeros: ZeroInflatedExperts | None = None

    @property
    def _counted(self) -> Block:
        """Rows as experts without zeros read them."""
        return self.block if self.zeros is None else self.zeros.counted(self.block)

    def _some(
        self, u: Coefficients, t: LogPrecisions, logits: Logits, *further: Further, slopes: bool
    ) -> tuple[np.ndarray, ...]:
        predictor = u[:, :, 0] @ self.design
        if self.block.offset is not None:
            predictor = predictor + self.block.offset
        density = self._slopes if slopes else self._log_density
        each, *derivatives = density(predictor, t)
        if self.zeros is not None:
            columns = self.zeros.design(self.block).columns
            odds = (further[0] @ columns)[:, None]
            each, structural = self.zeros.among_zeros(self.block, odds, each)
        terms = np.array(np.swapaxes(each, 0, 1))
        weights = self._log_weights(terms, logits)
        top = terms.max(axis=0)
        terms -= top
        np.exp(terms, out=terms)
        total = terms.sum(axis=0)
        by_row = np.log(total) + top - weights[0]
        value = by_row.sum(axis=1) if self.weight is None else by_row @ self.weight
        if not slopes:
            return (value,)
        terms /= total  # responsibilities
        if self.weight is not None:
            terms *= self.weight
        share = np.swapaxes(terms, 0, 1)
        by_logit = np.matmul(self._excess(terms, weights[1]), self.gating.T).transpose(1, 0, 2)
        by_further = np.empty((len(u), 0))
        if self.zeros is not None:
            by_further = (share * (structural - expit(odds))).sum(axis=1) @ columns.T
            share = share * (1.0 - structural)
        by_u = (share * derivatives[0]) @ self.design.T
        sums = [np.vecdot(share, one) for one in derivatives[1:]]
        by_t = np.reshape(sums, (*share.shape[:2], -1))
        return value, by_u[:, :, None], by_t, by_logit, by_further

    def _log_density(self, predictor: DrawExpertRows, t: LogPrecisions) -> tuple[DrawExpertRows]:
        """Log density of each row under each expert."""
        if t.shape[2]:
            return (self.experts.log_density_of_rows(self._counted, predictor, np.exp(t)),)
        return (self.experts.log_mass(self._counted, predictor),)

    def _slopes(self, predictor: DrawExpertRows, t: LogPrecisions) -> tuple[DrawExpertRows, ...]:
        """Log density, and its derivatives in the predictor and in the positive parameter's log."""
        if t.shape[2]:
            slopes: tuple[DrawExpertRows, ...]
            slopes = self.experts.slopes_of_rows(self._counted, predictor, np.exp(t))
            return slopes
        flat = predictor.reshape(-1, predictor.shape[-1])
        expected = self.experts.expected(self._counted, flat, np.zeros_like(flat))
        return expected.value.reshape(predictor.shape), expected.slope.reshape(predictor.shape)


@dataclass(frozen=True)
class ReducedPredictors(AbstractReducedSpace):
    """Mixture whose prior scales and common logits are integrated out.

    Attributes
    ----------
    core : Mixture
        Model whose log prior density counts.
    rows : PredictorRows
    scales : IntegratedScales
        Of the coefficients.
    gate : AbstractReducedGate
    order : sequence of int
        Component of each expert of the rows: the order of the sticks.
    scale_names : tuple of str
        Names of draws of the precisions of the experts and of the gate.
    of_zeros : ndarray, shape (terms of zeros,)
        Prior precisions of the coefficients of the log odds of zeros, if there are any.
    """

    core: AnyModel
    rows: PredictorRows
    scales: IntegratedScales
    gate: AbstractReducedGate
    order: Sequence[int]
    scale_names: tuple[str, str]
    of_zeros: Float[np.ndarray, " zero_terms"]

    @property
    def _positive(self) -> str | None:
        """Name of the positive parameter, if experts have one."""
        experts = self.rows.experts
        return experts.dispersion_name if isinstance(experts, AbstractDispersedExperts) else None

    @property
    def _sizes(self) -> tuple[int, int, int]:
        """Experts, terms and positive parameters of each."""
        return len(self.order), len(self.rows.design), int(self._positive is not None)

    @property
    def size(self) -> int:
        """Coefficients and positive parameters of every expert, and the logits."""
        experts, terms, positive = self._sizes
        n_logits, gating_terms = self.gate.shape
        return experts * (terms + positive) + n_logits * gating_terms + len(self.of_zeros)

    @property
    def few_rows(self) -> int:
        """Per component of several, where structural zeros of counts are one; none of one.

        Zeros of a hurdle do not inform the components.
        """
        zeros, n_components, n_apart = self.rows.zeros, len(self.order), 0
        dispersed = self._positive is not None
        if isinstance(zeros, HurdleExperts):
            n_apart = int((self.rows.block.response[0] == 0.0).sum())
        elif zeros is not None:
            dispersed, n_components = True, n_components + 1
        each = FEW_PER_COMPONENT if dispersed else FEW_WITHOUT_DISPERSION
        return 0 if n_components == 1 else each * n_components + n_apart

    def long_tail(self, middle: Float[np.ndarray, " numbers"]) -> LongTail | None:
        """Tail towards no structural zeros, which one component then has as its own."""
        zeros, block = self.rows.zeros, self.rows.block
        if zeros is None or isinstance(zeros, HurdleExperts):
            return None
        share = np.average(block.response[0] == 0.0, weights=self.rows.weight)
        constant = np.ptp(zeros.design(block).columns, axis=1) == 0.0
        number = self.size - len(self.of_zeros) + int(np.argmax(constant))
        experts, terms, positive = self._sizes
        ends = np.tile(middle, (experts * positive, 1))
        if positive:
            logs = np.where(np.eye(experts, dtype=bool), OVERDISPERSED, NEAR_POISSON)
            ends[:, experts * terms :][:, :experts] = logs
        return LongTail(number, logit(share) - FALLS, ends)

    def split(self, vectors: DrawParameters) -> tuple[Coefficients, LogPrecisions, Logits, Further]:
        """Coefficients, logs of positive parameters, logits and coefficients of zeros."""
        experts, terms, positive = self._sizes
        first, n_draws = experts * terms, len(vectors)
        second, third = first + experts * positive, self.size - len(self.of_zeros)
        return (
            vectors[:, :first].reshape(n_draws, experts, 1, terms),
            vectors[:, first:second].reshape(n_draws, experts, positive),
            vectors[:, second:third].reshape(n_draws, *self.gate.shape),
            vectors[:, third:],
        )

    def vectors(self, draws: Draws) -> DrawParameters:
        order, name = list(self.order), self._positive
        u = np.asarray(draws["coefficients"])[:, order]
        none = np.empty((*u.shape[:2], 0))
        t = none if name is None else np.log(np.asarray(draws[name])[:, order, None])
        g = np.asarray(draws[ZERO])[:, 0] if len(self.of_zeros) else np.empty((len(u), 0))
        return _join(u, t, self.gate.logits(np.asarray(draws["gate"])), g)

    def log_lik(self, vectors: DrawParameters) -> DrawVector:
        return self.rows.log_lik(*self.split(vectors))

    def log_lik_slopes(self, vectors: DrawParameters) -> ValueAndGradient:
        value, *slopes = self.rows.slopes(*self.split(vectors))
        return value, _join(*slopes)

    def log_prior_slopes(self, vectors: DrawParameters) -> ValueAndGradient:
        """Log prior density and its gradient: coefficients, positive parameters and logits."""
        u, t, logits, g = self.split(vectors)
        fixed = u @ self.scales.fixed
        value, weight = self.scales.log_density((u * u).sum(axis=(1, 2)))
        value = value - 0.5 * (u * fixed).sum(axis=(1, 2, 3)) + self.scales.constant
        of_gate, by_logit = self.gate.log_prior(logits)
        by_t = np.zeros_like(t)
        by_g = -g * self.of_zeros
        value = value + 0.5 * ((g * by_g).sum(axis=1) + np.log(self.of_zeros / TWO_PI).sum())
        if self._positive is not None:
            grid = self.rows.experts.dispersion
            value = value + grid.log_density_of_logs(t).sum(axis=(1, 2))
            by_t = (grid.centre - t) / grid.sd**2
        return value + of_gate, _join(-fixed - weight[:, None, None] * u, by_t, by_logit, by_g)

    def complete(
        self, vectors: DrawParameters, rng: np.random.Generator
    ) -> tuple[Draws, DrawVector]:
        """Draws of all parameters: scales and common logits from their conditionals."""
        u, t, logits, g = self.split(vectors)
        scales, log_density = self.scales.draw((u * u).sum(axis=(1, 2)), rng)
        gate, gate_scales, of_gate = self.gate.complete(logits, rng)
        back, name = np.argsort(self.order), self._positive
        draws = {"coefficients": u[:, back], "gate": gate}
        if name is not None:
            draws[name] = np.exp(t[:, back, 0])
        if len(self.of_zeros):
            draws[ZERO] = g[:, None]
        each = zip(self.scale_names, (scales, gate_scales), strict=True)
        drawn = {name: values for name, values in each if values.shape[1]}
        return {**draws, **drawn}, log_density + of_gate

    def log_joint(self, vectors: DrawParameters, draws: Draws) -> DrawVector:
        """Log likelihood and log prior of all parameters, times the volume of the vectors."""
        volume = self.split(vectors)[1].sum(axis=(1, 2)) + self.gate.log_volume(draws["gate"])
        return np.asarray(self.log_lik(vectors) + self.core.log_prior(draws) + volume)


def _join(*parts: np.ndarray) -> DrawParameters:
    """Vectors of their parts, draws first."""
    return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)
