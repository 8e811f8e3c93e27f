# bayesvb/experts/linear_known_noise.py
"""Gaussian linear experts whose noise is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.data.parts import MEAN
from bayesvb.distributions.student_mixture import StudentMixture
from bayesvb.experts.linear import AbstractLinearExperts, LinearStats
from bayesvb.experts.regression import RegressionPrior, RegressionUnits, coefficient_rows
from bayesvb.factors.normal import Normal
from bayesvb.linear.designs import DenseDesign
from bayesvb.numerics.linalg import products, quadratic_weights, unpack
from bayesvb.numerics.special import LOG_2PI
from bayesvb.variational.descriptions import PriorRow
from bayesvb.variational.local import Draws

NORMAL_DOF = 1e8
"""Degrees of freedom at which a Student t is normal to eight digits."""


@dataclass(frozen=True)
class KnownNoiseExperts(AbstractLinearExperts[Normal, LinearStats]):
    """``y_i ~ N(x' b_ki, 1 / tau)`` with ``tau`` given, the same for all experts."""

    words = "known-noise linear regression"
    formula = "normal"
    parts = (MEAN,)

    prior: Normal
    precision: float

    @classmethod
    def from_prior(cls, prior: RegressionPrior) -> KnownNoiseExperts:
        """Experts whose noise is what the prior says is typical."""
        precision = prior.noise_shape / prior.noise_rate
        sd = prior.coefficient_sd * (precision**-0.5 if prior.in_noise else 1.0)
        shape = (prior.n_responses, prior.n_terms, prior.n_terms)
        each = np.broadcast_to(np.eye(prior.n_terms) / sd**2, shape)
        return cls(Normal.from_precision(np.zeros(shape[:2]), each), precision)

    def design(self, block: Block) -> DenseDesign:
        """Rows as columns."""
        return DenseDesign(block.designs[MEAN])

    def squares(self, posterior: Normal, block: Block) -> Float[np.ndarray, "experts rows"]:
        """``tau E (y - x' b_k)^2``, summed over responses."""
        x = block.designs[MEAN]
        squares = (posterior.mean @ x - block.response) ** 2
        squares += quadratic_weights(posterior.covariance) @ products(x)
        return self.precision * squares.sum(axis=1)

    def expected_peak(self, posterior: Normal) -> Float[np.ndarray, " experts"]:
        """Log density of a row without residual, summed over responses."""
        n_experts, n_responses, _ = posterior.mean.shape
        return np.full(n_experts, 0.5 * n_responses * (np.log(self.precision) - LOG_2PI))

    def partition_stats(
        self, responsibilities: Float[np.ndarray, "experts rows"], block: Block
    ) -> LinearStats:
        """Sums weighted by the responsibilities."""
        return LinearStats(*self.design(block).sums(responsibilities, block.response))

    def update(self, stats: LinearStats) -> Normal:
        """``S_k^-1 = S_0^-1 + tau sum r x x'`` and ``S_k^-1 m_k = tau sum r y x``."""
        precision = self.prior.precision + self.precision * unpack(stats.xx)[:, None]
        return Normal.from_natural(self.precision * stats.xy, precision)

    def kl(self, posterior: Normal) -> float:
        """``KL(posterior || prior)``, summed over experts and responses."""
        return posterior.kl(self.prior)

    def predictive(
        self,
        posterior: Normal,
        weights: Float[np.ndarray, "experts rows"],
        block: Block,
        response: int,
        noise: float | Float[np.ndarray, "experts rows"] = 1.0,
    ) -> StudentMixture:
        """Mixture of normals, exact given the weights."""
        design = block.designs[MEAN]
        spread = quadratic_weights(posterior.covariance[:, response]) @ products(design)
        location = posterior.mean[:, response] @ design
        dof = np.full(len(location), NORMAL_DOF)
        return StudentMixture(weights, location, np.sqrt(spread + noise / self.precision), dof)

    def draws(self, posterior: Normal, n: int, rng: np.random.Generator) -> Draws:
        """``coefficients`` (draws, experts, responses, terms), and ``precision`` as it is."""
        coefficients = posterior.draws(n, rng)
        known = np.full(coefficients.shape[:-1], self.precision)
        return {"coefficients": coefficients, "precision": known}

    def log_density(self, posterior: Normal | None, draws: Draws) -> Float[np.ndarray, " draws"]:
        """Log density of each draw under the posterior, or under the prior (None)."""
        density = (posterior or self.prior).log_density(draws["coefficients"])
        return np.asarray(density.sum(axis=(1, 2)))

    def prior_rows(self, units: RegressionUnits) -> list[PriorRow]:
        """Coefficients as normal, and the noise that is known."""
        sd = float(self.prior.precision[0, 0, 0] ** -0.5)
        noise = units.scales.response.scale / self.precision**0.5
        known = [
            PriorRow("sigma", units.labelled(i), "fixed", float(value), np.nan)
            for i, value in enumerate(noise)
        ]
        return [*coefficient_rows(units, "Normal", sd), *known]
