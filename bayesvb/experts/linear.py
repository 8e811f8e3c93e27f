"""Gaussian linear experts: each component is a Bayesian linear regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from bayesvb.blocks import Block
from bayesvb.experts.base import AbstractExperts
from bayesvb.experts.linear_coordinates import LinearCoordinates
from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma
from bayesvb.linalg import products, quadratic_weights, unpack
from bayesvb.parts import AbstractRows, Draws
from bayesvb.special import LOG_2PI
from bayesvb.stats import Stats


@dataclass(frozen=True)
class LinearSums(Stats):
    """Weighted sums over rows, per expert.

    Attributes
    ----------
    weight : ndarray, shape (experts,)
        Sum of the responsibilities.
    xx : ndarray, shape (experts, pairs)
        Sum of ``x x'``, packed.
    xy : ndarray, shape (experts, responses, terms)
        Sum of ``y_i x``.
    yy : ndarray, shape (experts, responses)
        Sum of ``y_i^2``.
    """

    weight: Float[np.ndarray, " experts"]
    xx: Float[np.ndarray, "experts pairs"]
    xy: Float[np.ndarray, "experts responses terms"]
    yy: Float[np.ndarray, "experts responses"]

    @classmethod
    def of_rows(
        cls, responsibilities: Float[np.ndarray, "experts rows"], block: Block
    ) -> LinearSums:
        """Sums weighted by the responsibilities."""
        design, response = block.designs["mean"], block.response
        weighted = responsibilities[:, None, :] * response
        return cls(
            weight=responsibilities.sum(axis=1),
            xx=responsibilities @ products(design).T,
            xy=weighted @ design.T,
            yy=(weighted * response).sum(axis=2),
        )

    def permuted(self, order: list[int]) -> LinearSums:
        """Sums after a new labelling: expert ``order[0]`` comes first."""
        return LinearSums(self.weight[order], self.xx[order], self.xy[order], self.yy[order])


@dataclass(frozen=True)
class LinearRows(AbstractRows):
    """Expected log likelihood of these rows under every expert."""

    terms: Float[np.ndarray, "experts rows"]
    block: Block

    def sums(self, responsibilities: Float[np.ndarray, "experts rows"]) -> LinearSums:
        """Sums weighted by the responsibilities."""
        return LinearSums.of_rows(responsibilities, self.block)


@dataclass(frozen=True)
class LinearExperts(AbstractExperts[MatrixNormalGamma, LinearSums]):
    r"""``y_i ~ N(x' B_ki, 1 / tau_ki)``, conjugate prior shared by all experts.

    References
    ----------
    Chuu (2018), A Variational Approach for Bayesian Density Regression, eqs 30-36, with
    ``E log tau = digamma(a) - log b``, ``a_k = a_0 + N_k / 2`` and the factor 1/2 on all three
    terms of ``b_k``, where the report differs. For several responses: Heins et al. (2024),
    arXiv:2408.16429, appendix B.
    """

    prior: MatrixNormalGamma

    def rows(self, posterior: MatrixNormalGamma, block: Block) -> LinearRows:
        r"""``E log N(y | x' B_k, 1 / tau_k)``, summed over responses."""
        design, response = block.designs["mean"], block.response
        precision = posterior.expected_precision
        constant = 0.5 * (posterior.expected_log_precision - LOG_2PI).sum(axis=1)
        terms = quadratic_weights(posterior.covariance) @ products(design)
        terms *= -0.5 * len(response)
        terms += constant[:, None]
        for i, observed in enumerate(response):
            residual = posterior.mean[:, i] @ design
            residual -= observed
            residual *= residual
            residual *= 0.5 * precision[:, i, None]
            terms -= residual
        return LinearRows(terms, block)

    def sums(self, responsibilities: Float[np.ndarray, "experts rows"], block: Block) -> LinearSums:
        """Sums weighted by the responsibilities."""
        return LinearSums.of_rows(responsibilities, block)

    def update(self, sums: LinearSums) -> MatrixNormalGamma:
        """Exact coordinate update of every expert."""
        return self.prior.posterior(sums.weight, unpack(sums.xx), sums.xy, sums.yy)

    def kl(self, posterior: MatrixNormalGamma) -> float:
        """``KL(posterior || prior)``, summed over experts."""
        return posterior.kl(self.prior)

    def coordinates(self, posterior: MatrixNormalGamma) -> LinearCoordinates:
        """Standard coordinates of coefficients and precisions."""
        return LinearCoordinates(posterior)

    def predictive(
        self, posterior: MatrixNormalGamma, block: Block, response: int
    ) -> tuple[
        Float[np.ndarray, "experts rows"],
        Float[np.ndarray, "experts rows"],
        Float[np.ndarray, " experts"],
    ]:
        """Location, scale and degrees of freedom of one response's Student t distributions."""
        design = block.designs["mean"]
        spread = quadratic_weights(posterior.covariance) @ products(design)
        rate = posterior.rate[:, response] / posterior.shape
        scale = np.sqrt(rate[:, None] * (1.0 + spread))
        return posterior.mean[:, response] @ design, scale, 2.0 * posterior.shape

    def draws(self, posterior: MatrixNormalGamma, n: int, rng: np.random.Generator) -> Draws:
        """``coefficients`` (draws, experts, responses, terms) and ``precision``."""
        coefficients, precision = posterior.draws(n, rng)
        return {"coefficients": coefficients, "precision": precision}

    def log_lik(self, draws: Draws, block: Block) -> Float[np.ndarray, "draws experts rows"]:
        """Log likelihood of each row under each drawn expert."""
        return linear_log_lik(draws, block)

    def responses(
        self,
        draws: Draws,
        chosen: Int[np.ndarray, "draws rows"],
        block: Block,
        rng: np.random.Generator,
    ) -> Float[np.ndarray, "draws responses rows"]:
        """One response per draw and row, from the chosen expert."""
        return linear_responses(draws, chosen, block, rng)

    def log_density(
        self, posterior: MatrixNormalGamma | None, draws: Draws
    ) -> Float[np.ndarray, " draws"]:
        """Log density of each draw under the posterior, or under the prior (None)."""
        factor = posterior or self.prior
        density = factor.log_density(draws["coefficients"], draws["precision"])
        return np.asarray(density.sum(axis=(1, 2)))

    def permuted(self, order: list[int], sums: LinearSums) -> LinearSums:
        """Sums after a new labelling."""
        return sums.permuted(order)


def linear_log_lik(draws: Draws, block: Block) -> Float[np.ndarray, "draws experts rows"]:
    """Log likelihood of each row under each drawn regression."""
    coefficients, precision = draws["coefficients"], draws["precision"]
    design, response = block.designs["mean"], block.response
    constant = 0.5 * (np.log(precision) - LOG_2PI).sum(axis=-1)
    total = np.repeat(constant[:, :, None], block.n_rows, axis=2)
    for i, observed in enumerate(response):
        residual = coefficients[:, :, i] @ design
        residual -= observed
        residual *= residual
        residual *= 0.5 * precision[:, :, i, None]
        total -= residual
    return total


def linear_responses(
    draws: Draws,
    chosen: Int[np.ndarray, "draws rows"],
    block: Block,
    rng: np.random.Generator,
) -> Float[np.ndarray, "draws responses rows"]:
    """One response per draw and row, from the chosen regression."""
    location = draws["coefficients"] @ block.designs["mean"]
    at = chosen[:, None, None, :]
    location = np.take_along_axis(location, at, axis=1)[:, 0]
    precision = np.take_along_axis(draws["precision"][..., None], at, axis=1)[:, 0]
    return np.asarray(location + rng.standard_normal(location.shape) / np.sqrt(precision))
