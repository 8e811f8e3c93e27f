"""Mixture of experts: a gate and experts that speak the same verbs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.linalg import block_diag
from scipy.special import logsumexp

from bayesvb.blocks import Block
from bayesvb.coordinates import AbstractCoordinates
from bayesvb.experts.base import AbstractExperts
from bayesvb.gates.base import AbstractGate
from bayesvb.models.base import AbstractModel
from bayesvb.parts import Draws
from bayesvb.special import log_sum_exp
from bayesvb.stats import Slack, Stats, Sweep
from bayesvb.student_mixture import StudentMixture


@dataclass(frozen=True)
class MixtureSums(Stats):
    """Sums of the experts and of the gate."""

    experts: Any
    gate: Any


@dataclass(frozen=True)
class MixturePosterior:
    """Posterior of the experts and of the gate, independent of each other."""

    experts: Any
    gate: Any


@dataclass(frozen=True)
class MixtureCoordinates(AbstractCoordinates):
    """Standard coordinates of the experts, then those of the gate."""

    experts: AbstractCoordinates
    gate: AbstractCoordinates

    def expectations(self) -> Float[np.ndarray, " entries"]:
        """Those of the experts, then those of the gate."""
        return np.concatenate([self.experts.expectations(), self.gate.expectations()])

    def tilts(self) -> Float[np.ndarray, "coordinates entries"]:
        """Tilts of the experts touch their sums only, those of the gate its own."""
        return np.asarray(block_diag(self.experts.tilts(), self.gate.tilts()))

    def standard(self, draws: Draws) -> Float[np.ndarray, "draws coordinates"]:
        """Coordinates of draws of all parameters."""
        parts = [self.experts.standard(draws), self.gate.standard(draws["gate"])]
        return np.concatenate(parts, axis=1)

    def parameters(self, standard: Float[np.ndarray, "draws coordinates"]) -> Draws:
        """Draws of all parameters at these coordinates."""
        n_experts = len(self.experts.tilts())
        experts = self.experts.parameters(standard[:, :n_experts])
        return {**experts, "gate": self.gate.parameters(standard[:, n_experts:])}

    def log_volume(self, draws: Draws) -> Float[np.ndarray, " draws"]:
        """Sum of both."""
        return np.asarray(self.experts.log_volume(draws) + self.gate.log_volume(draws["gate"]))


@dataclass(frozen=True)
class Mixture(AbstractModel[MixturePosterior, MixtureSums]):
    r"""``p(y | x) = sum_k pi_k(x) p_k(y | x)``: weights by a gate, densities by experts.

    Linear experts make density regression, Gaussian experts with constant weights the Gaussian
    mixture.

    With the responsibilities at their optimum the lower bound is

    .. math:: \sum_n \log \sum_k \exp(E_{nk} + \ell_{nk}) - KL_{experts} - KL_{gate},

    ``E`` the expected log likelihood and ``l`` the gate's bounded expected log weight. The log
    normaliser of a softmax gate enters each row once, with weight one.

    References
    ----------
    Chuu (2018), A Variational Approach for Bayesian Density Regression, eqs 11-13 and 37-43, as
    corrected in ``LinearExperts`` and the gates. Bishop (2006), section 10.2, for Gaussian experts.
    """

    experts: AbstractExperts[Any, Any]
    gate: AbstractGate[Any, Any]

    @property
    def n_components(self) -> int:
        """Number of components."""
        return self.gate.n_components

    def local(self, posterior: MixturePosterior, block: Block) -> Sweep:
        """One pass: responsibilities, then the sums that they weight."""
        experts = self.experts.rows(posterior.experts, block)
        gate = self.gate.rows(posterior.gate, block)
        norm, responsibilities = log_sum_exp(experts.terms + gate.terms)
        responsibilities = block.weighted(responsibilities)
        bound = norm.sum() if block.weight is None else norm @ block.weight
        sums = MixtureSums(experts.sums(responsibilities), gate.sums(responsibilities))
        return Sweep(float(bound), sums)

    def update(self, sums: MixtureSums) -> MixturePosterior:
        """Experts and gate, each from its own sums."""
        return MixturePosterior(self.experts.update(sums.experts), self.gate.update(sums.gate))

    def advance(self, posterior: MixturePosterior, sums: MixtureSums) -> MixtureSums:
        """Sums of both after their steps; most are as they were."""
        return MixtureSums(
            self.experts.advance(posterior.experts, sums.experts),
            self.gate.advance(posterior.gate, sums.gate),
        )

    def slack(self, posterior: MixturePosterior, block: Block) -> Slack:
        """That of the gate: its bound enters a row as a constant, responsibilities stay."""
        per_row = self.gate.slack(posterior.gate, block)
        return Slack(float(block.weighted(per_row[None]).sum()))

    def stationary(self, posterior: MixturePosterior, sums: MixtureSums) -> MixtureSums:
        """Sums of the experts as they are, those of the gate as derivatives of its bound."""
        return MixtureSums(sums.experts, self.gate.stationary(posterior.gate, sums.gate))

    def coordinates(self, posterior: MixturePosterior) -> MixtureCoordinates | None:
        """Standard coordinates of all parameters, if both parts have them."""
        experts = self.experts.coordinates(posterior.experts)
        gate = self.gate.coordinates(posterior.gate)
        return None if experts is None or gate is None else MixtureCoordinates(experts, gate)

    def kl(self, posterior: MixturePosterior) -> float:
        """Sum of both divergences."""
        return self.experts.kl(posterior.experts) + self.gate.kl(posterior.gate)

    def begin(
        self, block: Block, responsibilities: Float[np.ndarray, "experts rows"]
    ) -> MixtureSums:
        """Sums of a given partition, with the gate at its starting point."""
        weighted = block.weighted(responsibilities)
        gate = self.gate.rows(self.gate.start(), block)
        return MixtureSums(self.experts.sums(weighted, block), gate.sums(weighted))

    def start(self, sums: MixtureSums) -> MixtureSums:
        """Statistics of the first posterior, from the sums of ``begin`` over all rows."""
        return MixtureSums(
            self.experts.advance(None, sums.experts),
            self.gate.advance(self.gate.start(), sums.gate),
        )

    def responsibilities(
        self, posterior: MixturePosterior, block: Block
    ) -> Float[np.ndarray, "experts rows"]:
        """Posterior probability of each component, given the row's response."""
        experts = self.experts.rows(posterior.experts, block)
        gate = self.gate.rows(posterior.gate, block)
        return log_sum_exp(experts.terms + gate.terms)[1]

    def permuted(self, order: Sequence[int], sums: MixtureSums) -> tuple[Mixture, MixtureSums]:
        """Model and sums after a new labelling: component ``order[0]`` comes first."""
        gate, gate_sums = self.gate.permuted(order, sums.gate)
        experts = self.experts.permuted(list(order), sums.experts)
        return Mixture(self.experts, gate), MixtureSums(experts, gate_sums)

    def predictive(
        self, posterior: MixturePosterior, block: Block, response: int = 0
    ) -> StudentMixture:
        """Predictive distribution of one response for every row (standardised units)."""
        location, scale, dof = self.experts.predictive(posterior.experts, block, response)
        weights = self.mean_weights(posterior, block)
        return StudentMixture(weights, location, scale, dof)

    def mean_weights(
        self, posterior: MixturePosterior, block: Block
    ) -> Float[np.ndarray, "experts _"]:
        """Expected weights of the components."""
        return self.gate.mean_weights(posterior.gate, block)

    def log_weights(self, draws: Draws, block: Block) -> Float[np.ndarray, "draws experts _"]:
        """Log weights of the components for each draw."""
        return self.gate.log_weights(draws["gate"], block)

    def gate_coefficients(self, draws: Draws) -> dict[int, Float[np.ndarray, "draws terms"]]:
        """Coefficients of the gate by component, where it has them."""
        return dict(self.gate.coefficients(draws["gate"]))

    def coefficient_meaning(self) -> str:
        """What the coefficients of the gate are."""
        return self.gate.coefficient_meaning()

    def draws(self, posterior: MixturePosterior, n: int, rng: np.random.Generator) -> Draws:
        """Parameters of the experts by name, and ``gate``."""
        experts = self.experts.draws(posterior.experts, n, rng)
        return {**experts, "gate": self.gate.draws(posterior.gate, n, rng)}

    def prior_draws(self, n: int, rng: np.random.Generator) -> Draws:
        """Parameters by name before any data are seen; experts are alike and independent."""
        drawn = self.experts.draws(self.experts.prior, n * self.n_components, rng)
        experts = {
            name: values.reshape(n, self.n_components, *values.shape[1:])
            for name, values in drawn.items()
        }
        return {**experts, "gate": self.gate.draws(self.gate.prior, n, rng)}

    def log_lik(self, draws: Draws, block: Block) -> Float[np.ndarray, "draws rows"]:
        """``log sum_k pi_k(x) p_k(y | x)``."""
        terms = self.experts.log_lik(draws, block)
        terms += self.gate.log_weights(draws["gate"], block)
        return np.asarray(logsumexp(terms, axis=1))

    def responses(
        self, draws: Draws, block: Block, rng: np.random.Generator
    ) -> Float[np.ndarray, "draws responses rows"]:
        """One response per draw and row, from the component that is drawn first."""
        chosen = self.gate.components(draws["gate"], block, rng)
        return self.experts.responses(draws, chosen, block, rng)

    def log_prior(self, draws: Draws) -> Float[np.ndarray, " draws"]:
        """Log prior density of each draw."""
        gate = self.gate.log_density(None, draws["gate"])
        return np.asarray(self.experts.log_density(None, draws) + gate)

    def log_posterior(
        self, posterior: MixturePosterior, draws: Draws
    ) -> Float[np.ndarray, " draws"]:
        """Log density of each draw under q."""
        gate = self.gate.log_density(posterior.gate, draws["gate"])
        return np.asarray(self.experts.log_density(posterior.experts, draws) + gate)
