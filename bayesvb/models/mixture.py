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
from bayesvb.experts.linear import LinearExperts
from bayesvb.experts.linear_coordinates import LinearCoordinates
from bayesvb.experts.linear_sums import LinearSums
from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma
from bayesvb.gates.base import AbstractGate
from bayesvb.linalg import products, quadratic_weights
from bayesvb.models.base import AbstractResponsiveModel, Draws
from bayesvb.special import log_sum_exp
from bayesvb.stats import Stats, Sweep
from bayesvb.student_mixture import StudentMixture


@dataclass(frozen=True)
class MixtureSums(Stats):
    """Sums of the experts and of the gate."""

    experts: LinearSums
    gate: Stats


@dataclass(frozen=True)
class MixturePosterior:
    """Posterior of the experts and of the gate, independent of each other."""

    experts: MatrixNormalGamma
    gate: Any


@dataclass(frozen=True)
class MixtureCoordinates(AbstractCoordinates):
    """Standard coordinates of the experts, then those of the gate."""

    experts: LinearCoordinates
    gate: AbstractCoordinates

    def tilts(self) -> Float[np.ndarray, "coordinates entries"]:
        """Tilts of the experts touch their sums only, those of the gate its own."""
        return np.asarray(block_diag(self.experts.tilts(), self.gate.tilts()))

    def standard(self, draws: Draws) -> Float[np.ndarray, "draws coordinates"]:
        """Coordinates of draws of all parameters."""
        experts = self.experts.standard((draws["coefficients"], draws["precision"]))
        return np.concatenate([experts, self.gate.standard(draws["gate"])], axis=1)

    def parameters(self, standard: Float[np.ndarray, "draws coordinates"]) -> Draws:
        """Draws of all parameters at these coordinates."""
        n_experts = self.experts.n_coordinates
        coefficients, precision = self.experts.parameters(standard[:, :n_experts])
        gate = self.gate.parameters(standard[:, n_experts:])
        return {"coefficients": coefficients, "precision": precision, "gate": gate}

    def log_volume(self, draws: Draws) -> Float[np.ndarray, " draws"]:
        """Sum of both."""
        experts = self.experts.log_volume((draws["coefficients"], draws["precision"]))
        return np.asarray(experts + self.gate.log_volume(draws["gate"]))


@dataclass(frozen=True)
class Mixture(AbstractResponsiveModel[MixturePosterior, MixtureSums]):
    r"""``p(y | x) = sum_k pi_k(x) N(y | x' b_k, 1 / tau_k)``.

    With the responsibilities at their optimum the lower bound is

    .. math:: \sum_n \log \sum_k \exp(E_{nk} + \ell_{nk}) - KL_{experts} - KL_{gate},

    ``E`` the expected log likelihood and ``l`` the gate's bounded expected log weight. The log
    normaliser of a softmax gate enters each row once, with weight one.

    References
    ----------
    Chuu (2018), A Variational Approach for Bayesian Density Regression, eqs 11-13 and 37-43, as
    corrected in ``LinearExperts`` and the gates.
    """

    experts: LinearExperts
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
        """Sums of the experts as they are, those of the gate after its step."""
        return MixtureSums(sums.experts, self.gate.advance(posterior.gate, sums.gate))

    def stationary(self, posterior: MixturePosterior, sums: MixtureSums) -> MixtureSums:
        """Derivatives of the rows' part of the bound in ``expectations(posterior)``."""
        return MixtureSums(sums.experts, self.gate.stationary(posterior.gate, sums.gate))

    def expectations(self, posterior: MixturePosterior) -> MixtureSums:
        """Expected sufficient statistics: what each of the statistics is multiplied by."""
        experts = self.experts.expectations(posterior.experts)
        return MixtureSums(experts, self.gate.expectations(posterior.gate))

    def coordinates(self, posterior: MixturePosterior) -> MixtureCoordinates:
        """Standard coordinates of all parameters."""
        experts = self.experts.coordinates(posterior.experts)
        return MixtureCoordinates(experts, self.gate.coordinates(posterior.gate))

    def kl(self, posterior: MixturePosterior) -> float:
        """Sum of both divergences."""
        return self.experts.kl(posterior.experts) + self.gate.kl(posterior.gate)

    def begin(
        self, block: Block, responsibilities: Float[np.ndarray, "experts rows"]
    ) -> MixtureSums:
        """Sums of a given partition, with the gate at its starting point."""
        weighted = block.weighted(responsibilities)
        gate = self.gate.rows(self.gate.start(), block)
        return MixtureSums(LinearSums.of_rows(weighted, block), gate.sums(weighted))

    def start(self, sums: MixtureSums) -> MixtureSums:
        """Statistics of the first posterior, from the sums of ``begin`` over all rows."""
        return MixtureSums(sums.experts, self.gate.advance(self.gate.start(), sums.gate))

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
        experts, design = posterior.experts, block.designs["mean"]
        spread = quadratic_weights(experts.covariance) @ products(design)
        rate = experts.rate[:, response] / experts.shape
        return StudentMixture(
            weights=self.gate.mean_weights(posterior.gate, block),
            location=experts.mean[:, response] @ design,
            scale=np.sqrt(rate[:, None] * (1.0 + spread)),
            dof=2.0 * experts.shape,
        )

    def draws(self, posterior: MixturePosterior, n: int, rng: np.random.Generator) -> Draws:
        """``coefficients`` (draws, experts, responses, terms), ``precision``, and ``gate``."""
        coefficients, precision = posterior.experts.draws(n, rng)
        gate = self.gate.draws(posterior.gate, n, rng)
        return {"coefficients": coefficients, "precision": precision, "gate": gate}

    def log_lik(self, draws: Draws, block: Block) -> Float[np.ndarray, "draws rows"]:
        """``log sum_k pi_k(x) N(y | x' b_k, 1 / tau_k)``."""
        terms = self.experts.log_lik(draws["coefficients"], draws["precision"], block)
        terms += self.gate.log_weights(draws["gate"], block)
        return np.asarray(logsumexp(terms, axis=1))

    def responses(
        self, draws: Draws, block: Block, rng: np.random.Generator
    ) -> Float[np.ndarray, "draws responses rows"]:
        """One response per draw and row, from the component that is drawn first."""
        weights = np.exp(self.gate.log_weights(draws["gate"], block))
        n_draws, n_rows = len(weights), block.n_rows
        below = np.cumsum(weights, axis=1)[:, :-1]
        chosen = (rng.random((n_draws, 1, n_rows)) > below).sum(axis=1)
        location = draws["coefficients"] @ block.designs["mean"]
        at = chosen[:, None, None, :]
        location = np.take_along_axis(location, at, axis=1)[:, 0]
        precision = np.take_along_axis(draws["precision"][..., None], at, axis=1)[:, 0]
        return np.asarray(location + rng.standard_normal(location.shape) / np.sqrt(precision))

    def log_prior(self, draws: Draws) -> Float[np.ndarray, " draws"]:
        """Log prior density of each draw."""
        experts = self.experts.prior.log_density(draws["coefficients"], draws["precision"])
        return np.asarray(experts.sum(axis=(1, 2)) + self.gate.log_density(None, draws["gate"]))

    def log_posterior(
        self, posterior: MixturePosterior, draws: Draws
    ) -> Float[np.ndarray, " draws"]:
        """Log density of each draw under q."""
        experts = posterior.experts.log_density(draws["coefficients"], draws["precision"])
        gate = self.gate.log_density(posterior.gate, draws["gate"])
        return np.asarray(experts.sum(axis=(1, 2)) + gate)
