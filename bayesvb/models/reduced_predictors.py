"""Reduced space of a mixture of likelihoods of one linear predictor; see ``AbstractReducedSpace``.

A vector holds coefficients, logs of positive parameters such as a dispersion, and logits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.experts.dispersed_predictor import AbstractDispersedExperts
from bayesvb.models.integrated_scales import IntegratedScales
from bayesvb.models.mixture_rows import Coefficients, Logits, LogPrecisions, MixtureRows
from bayesvb.models.reduced_gates import AbstractReducedGate
from bayesvb.variational.local import Draws
from bayesvb.variational.reduced_space import AbstractReducedSpace, ValueAndGradient

FEW_PER_COMPONENT = 300
"""Rows per component below which draws are exact by default, for several components with a
dispersion or a shape. Few rows leave the dispersion uncertain, and the posterior is skewed. With
one component, standard deviations by linear response are within 2%."""

FEW_WITHOUT_DISPERSION = 100
"""Rows per component below which draws are exact by default, for several components without a
dispersion: with 50 rows each, 90% intervals of slopes of two standard errors covered 78% by linear
response, and 85% by exact draws."""

DrawnRows = Float[np.ndarray, "draws experts rows"]


@dataclass(frozen=True)
class PredictorRows(MixtureRows):
    """Rows of a mixture of likelihoods of one linear predictor.

    Attributes
    ----------
    experts : AbstractPredictorExperts or AbstractDispersedExperts
    block : Block
        All rows.
    """

    experts: Any
    block: Block

    def _some(
        self, u: Coefficients, t: LogPrecisions, logits: Logits, *, slopes: bool
    ) -> tuple[np.ndarray, ...]:
        """Value, and (``slopes``) gradient, of a few draws."""
        predictor = u[:, :, 0] @ self.design
        if self.block.offset is not None:
            predictor = predictor + self.block.offset
        density = self._slopes if slopes else self._log_density
        each, *derivatives = density(predictor, t)
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
        by_u = (share * derivatives[0]) @ self.design.T
        by_t = [np.vecdot(share, one) for one in derivatives[1:]]
        by_logit = np.matmul(self._excess(terms, weights[1]), self.gating.T).transpose(1, 0, 2)
        return value, by_u[:, :, None], np.reshape(by_t, (*share.shape[:2], -1)), by_logit

    def _log_density(self, predictor: DrawnRows, t: LogPrecisions) -> tuple[DrawnRows]:
        """Log density of each row under each expert."""
        if t.shape[2]:
            return (self.experts.log_density_of_rows(self.block, predictor, np.exp(t)),)
        return (self.experts.log_mass(self.block, predictor),)

    def _slopes(self, predictor: DrawnRows, t: LogPrecisions) -> tuple[DrawnRows, ...]:
        """Log density, and its derivatives in the predictor and in the positive parameter's log."""
        if t.shape[2]:
            slopes: tuple[DrawnRows, ...]
            slopes = self.experts.slopes_of_rows(self.block, predictor, np.exp(t))
            return slopes
        flat = predictor.reshape(-1, predictor.shape[-1])
        found = self.experts.expected(self.block, flat, np.zeros_like(flat))
        return found.value.reshape(predictor.shape), found.slope.reshape(predictor.shape)


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
    """

    core: Any
    rows: PredictorRows
    scales: IntegratedScales
    gate: AbstractReducedGate
    order: Sequence[int]
    scale_names: tuple[str, str]

    @property
    def _positive(self) -> str | None:
        """Name of the positive parameter, if experts have one."""
        experts = self.core.experts
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
        return experts * (terms + positive) + n_logits * gating_terms

    @property
    def few_rows(self) -> int:
        """Per component of several; none of one."""
        if len(self.order) == 1:
            return 0
        each = FEW_WITHOUT_DISPERSION if self._positive is None else FEW_PER_COMPONENT
        return each * len(self.order)

    def split(
        self, vectors: Float[np.ndarray, "draws numbers"]
    ) -> tuple[Coefficients, LogPrecisions, Logits]:
        """Coefficients, logs of positive parameters and logits."""
        experts, terms, positive = self._sizes
        first, n_draws = experts * terms, len(vectors)
        second = first + experts * positive
        return (
            vectors[:, :first].reshape(n_draws, experts, 1, terms),
            vectors[:, first:second].reshape(n_draws, experts, positive),
            vectors[:, second:].reshape(n_draws, *self.gate.shape),
        )

    def vectors(self, draws: Draws) -> Float[np.ndarray, "draws numbers"]:
        """Vectors of draws of all parameters."""
        order, name = list(self.order), self._positive
        u = np.asarray(draws["coefficients"])[:, order]
        none = np.empty((*u.shape[:2], 0))
        t = none if name is None else np.log(np.asarray(draws[name])[:, order, None])
        return _join(u, t, self.gate.logits(np.asarray(draws["gate"])))

    def log_lik(self, vectors: Float[np.ndarray, "draws numbers"]) -> Float[np.ndarray, " draws"]:
        """Log likelihood of all rows."""
        return self.rows.log_lik(*self.split(vectors))

    def log_lik_slopes(self, vectors: Float[np.ndarray, "draws numbers"]) -> ValueAndGradient:
        """Log likelihood of all rows and its gradient."""
        value, *slopes = self.rows.slopes(*self.split(vectors))
        return value, _join(*slopes)

    def log_prior_slopes(self, vectors: Float[np.ndarray, "draws numbers"]) -> ValueAndGradient:
        """Log prior density and its gradient: coefficients, positive parameters and logits."""
        u, t, logits = self.split(vectors)
        fixed = u @ self.scales.fixed
        value, weight = self.scales.log_density((u * u).sum(axis=(1, 2)))
        value = value - 0.5 * (u * fixed).sum(axis=(1, 2, 3)) + self.scales.constant
        of_gate, by_logit = self.gate.log_prior(logits)
        by_t = np.zeros_like(t)
        if self._positive is not None:
            grid = self.core.experts.dispersion
            value = value + grid.log_density_of_logs(t).sum(axis=(1, 2))
            by_t = (grid.centre - t) / grid.sd**2
        return value + of_gate, _join(-fixed - weight[:, None, None] * u, by_t, by_logit)

    def complete(
        self, vectors: Float[np.ndarray, "draws numbers"], rng: np.random.Generator
    ) -> tuple[Draws, Float[np.ndarray, " draws"]]:
        """Draws of all parameters: scales and common logits from their conditionals."""
        u, t, logits = self.split(vectors)
        scales, log_density = self.scales.draw((u * u).sum(axis=(1, 2)), rng)
        gate, gate_scales, of_gate = self.gate.complete(logits, rng)
        back, name = np.argsort(self.order), self._positive
        draws = {"coefficients": u[:, back], "gate": gate}
        if name is not None:
            draws[name] = np.exp(t[:, back, 0])
        each = zip(self.scale_names, (scales, gate_scales), strict=True)
        drawn = {name: values for name, values in each if values.shape[1]}
        return {**draws, **drawn}, log_density + of_gate

    def log_joint(
        self, vectors: Float[np.ndarray, "draws numbers"], draws: Draws
    ) -> Float[np.ndarray, " draws"]:
        """Log likelihood and log prior of all parameters, times the volume of the vectors."""
        volume = self.split(vectors)[1].sum(axis=(1, 2)) + self.gate.log_volume(draws["gate"])
        return np.asarray(self.log_lik(vectors) + self.core.log_prior(draws) + volume)


def _join(u: Coefficients, t: LogPrecisions, logits: Logits) -> Float[np.ndarray, "draws numbers"]:
    n_draws = len(u)
    parts = [u.reshape(n_draws, -1), t.reshape(n_draws, -1), logits.reshape(n_draws, -1)]
    return np.concatenate(parts, axis=1)
