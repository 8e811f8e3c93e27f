"""Gaussian linear experts: each component is a Bayesian linear regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bayesvb.blocks import Block
from bayesvb.experts.linear_coordinates import LinearCoordinates, linear_expectations
from bayesvb.experts.linear_sums import LinearSums
from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma
from bayesvb.linalg import products, quadratic_weights, unpack
from bayesvb.special import LOG_2PI


@dataclass(frozen=True)
class LinearRows:
    """Expected log likelihood of these rows under every expert."""

    terms: Float[np.ndarray, "experts rows"]
    block: Block

    def sums(self, responsibilities: Float[np.ndarray, "experts rows"]) -> LinearSums:
        """Sums weighted by the responsibilities."""
        return LinearSums.of_rows(responsibilities, self.block)


@dataclass(frozen=True)
class LinearExperts:
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

    def update(self, sums: LinearSums) -> MatrixNormalGamma:
        """Exact coordinate update of every expert."""
        return self.prior.posterior(sums.weight, unpack(sums.xx), sums.xy, sums.yy)

    def kl(self, posterior: MatrixNormalGamma) -> float:
        """``KL(posterior || prior)``, summed over experts."""
        return posterior.kl(self.prior)

    def expectations(self, posterior: MatrixNormalGamma) -> LinearSums:
        """Expected sufficient statistics of coefficients and precisions, dual to the sums."""
        return linear_expectations(posterior)

    def coordinates(self, posterior: MatrixNormalGamma) -> LinearCoordinates:
        """Standard coordinates of coefficients and precisions."""
        return LinearCoordinates(posterior)

    def permuted(self, order: list[int], sums: LinearSums) -> LinearSums:
        """Sums after a new labelling."""
        return LinearSums(sums.weight[order], sums.xx[order], sums.xy[order], sums.yy[order])

    def log_lik(
        self,
        coefficients: Float[np.ndarray, "draws experts responses terms"],
        precision: Float[np.ndarray, "draws experts responses"],
        block: Block,
    ) -> Float[np.ndarray, "draws experts rows"]:
        """Log likelihood of each row under each drawn expert."""
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
