# bayesvb/experts/quadratic_bernoulli.py
"""Logistic experts: each component is a Bayesian logistic regression of zeros and ones."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int
from scipy.special import expit

from bayesvb.data.blocks import Block
from bayesvb.data.parts import MEAN
from bayesvb.data.responses import AllResponses
from bayesvb.data.scaling import Scaling
from bayesvb.data.statistics import SufficientStats
from bayesvb.distributions.bernoulli_mixture import BernoulliMixture, DrawnBernoulliMixture
from bayesvb.distributions.response import Response
from bayesvb.errors import PriorError
from bayesvb.experts.regression import (
    BETA,
    AbstractRegressionExperts,
    RegressionPrior,
    RegressionUnits,
    coefficient_rows,
    coefficients_parameter,
)
from bayesvb.factors.normal import Normal
from bayesvb.numerics.linalg import products, quadratic_weights, second_moments, unpack
from bayesvb.numerics.special import expected_expit, jaakkola
from bayesvb.variational.descriptions import NamedParameter, PriorRow
from bayesvb.variational.local import AbstractLocalPosterior, Draws

LOG_ODDS = replace(
    BETA,
    meaning="coefficients of each component's log odds of 1, per unit of the term",
    heading="Components' log odds",
    caption="Coefficients of the components' log odds of 1, per unit of the term",
)


@dataclass(frozen=True)
class LogisticStats(SufficientStats):
    """Sums over rows, per expert: what they add to each precision, and to precision times mean."""

    xx: Float[np.ndarray, "experts pairs"]
    xy: Float[np.ndarray, "experts terms"]


@dataclass(frozen=True)
class LogisticLocalPosterior(AbstractLocalPosterior):
    """Bounded expected log likelihood of these rows, and the curvature of its bound."""

    expected_log_density: Float[np.ndarray, "experts rows"]
    curvature: Float[np.ndarray, "experts rows"]
    block: Block

    def sufficient_stats(
        self, responsibilities: Float[np.ndarray, "experts rows"]
    ) -> LogisticStats:
        """``sum 2 lambda(xi) r x x'`` and ``sum r (y - 1/2) x``."""
        return logistic_stats(responsibilities, self.curvature, self.block)


def logistic_stats(
    responsibilities: Float[np.ndarray, "experts rows"],
    curvature: Float[np.ndarray, "experts rows"] | float,
    block: Block,
) -> LogisticStats:
    """Sums of rows whose bounds have this curvature."""
    design = block.designs[MEAN]
    return LogisticStats(
        second_moments(responsibilities * curvature, design),
        (responsibilities * (block.response[0] - 0.5)) @ design.T,
    )


@dataclass(frozen=True)
class QuadraticBernoulliExperts(AbstractRegressionExperts[Normal, LogisticStats]):
    """``P(y = 1) = 1 / (1 + exp(-x' b_k))`` with a bound that is quadratic in ``x' b_k``.

    References
    ----------
    Jaakkola and Jordan (2000), Statistics and Computing 10, equation 12.
    """

    words = "logistic regression"
    scale_words = "columns with mean 0 and standard deviation 1, and the response in its units"
    response = Response(kind="binary", support=(0.0, 1.0))

    prior: Normal

    @classmethod
    def from_prior(cls, prior: RegressionPrior) -> QuadraticBernoulliExperts:
        """Experts with independent coefficients of the log odds."""
        if prior.dof is not None:
            raise PriorError(
                f"dof={prior.dof:g}, and family='bernoulli-quadratic' has no degrees of freedom",
                hint="omit dof",
            )
        precision = np.eye(prior.n_terms)[None] / prior.coefficient_sd**2
        return cls(Normal.from_precision(np.zeros((1, prior.n_terms)), precision))

    @staticmethod
    def response_scaling(response: AllResponses, *, centred: bool, active: bool = True) -> Scaling:
        """Identity: zeros and ones stay what they are."""
        return Scaling(np.zeros(1), np.ones(1), None)

    def local(self, posterior: Normal, block: Block) -> LogisticLocalPosterior:
        """``(y - 1/2) t - log(2 cosh(xi / 2))`` with ``xi^2 = E u^2``, ``u ~ N(t, s)``."""
        location, spread = logits(posterior, block)
        constant, curvature = jaakkola(np.sqrt(location**2 + spread))
        density = (block.response - 0.5) * location - constant
        return LogisticLocalPosterior(density, curvature, block)

    def partition_stats(
        self, responsibilities: Float[np.ndarray, "experts rows"], block: Block
    ) -> LogisticStats:
        """Sums with the bound at ``xi = 0``, where its curvature is largest."""
        return logistic_stats(responsibilities, 0.25, block)

    def update(self, stats: LogisticStats) -> Normal:
        """``S_k^-1 = S_0^-1 + xx`` and ``S_k^-1 m_k = xy``, the exact maximum."""
        precision = self.prior.precision + unpack(stats.xx)[:, None]
        return Normal.from_natural(stats.xy[:, None], precision)

    def kl(self, posterior: Normal) -> float:
        """``KL(posterior || prior)``, summed over experts."""
        return posterior.kl(self.prior)

    def predictive(
        self,
        posterior: Normal,
        weights: Float[np.ndarray, "experts rows"],
        block: Block,
        response: int,
    ) -> BernoulliMixture:
        """Mixture with the posterior mean of each component's probability."""
        one = expected_expit(*logits(posterior, block))
        return BernoulliMixture(weights, 1.0 - one, one)

    def draws(self, posterior: Normal, n: int, rng: np.random.Generator) -> Draws:
        """``coefficients`` (draws, experts, 1, terms)."""
        return {"coefficients": posterior.draws(n, rng)}

    def log_lik(self, draws: Draws, block: Block) -> Float[np.ndarray, "draws experts rows"]:
        """``-log(1 + exp(-(2 y - 1) u))`` of each row under each drawn expert."""
        logit = draws["coefficients"][:, :, 0] @ block.designs[MEAN]
        return -np.logaddexp(0.0, (1.0 - 2.0 * block.response[0]) * logit)

    def responses(
        self,
        draws: Draws,
        chosen: Int[np.ndarray, "draws rows"],
        block: Block,
        rng: np.random.Generator,
    ) -> Float[np.ndarray, "draws responses rows"]:
        """One zero or one per draw and row, from the chosen expert."""
        logit = draws["coefficients"][:, :, 0] @ block.designs[MEAN]
        own = np.take_along_axis(logit, chosen[:, None], axis=1)
        return (rng.random(own.shape) < expit(own)).astype(float)

    def log_density(self, posterior: Normal | None, draws: Draws) -> Float[np.ndarray, " draws"]:
        """Log density of each draw under the posterior, or under the prior (None)."""
        density = (posterior or self.prior).log_density(draws["coefficients"])
        return np.asarray(density.sum(axis=(1, 2)))

    def prior_rows(self, units: RegressionUnits) -> list[PriorRow]:
        """Coefficients of the log odds."""
        return coefficient_rows(units, "Normal", float(self.prior.precision[0, 0, 0] ** -0.5))

    def parameters(self, draws: Draws, units: RegressionUnits) -> list[NamedParameter]:
        """``beta``, coefficients of the log odds."""
        return [replace(coefficients_parameter(draws, units), text=LOG_ODDS)]

    def drawn(
        self,
        draws: Draws,
        weights: Float[np.ndarray, "draws experts _"],
        block: Block,
        response: int,
        scaling: Scaling,
    ) -> DrawnBernoulliMixture:
        """Mixture of zeros and ones given each draw."""
        p = np.moveaxis(expit(draws["coefficients"][:, :, 0] @ block.designs[MEAN]), 1, 0)
        each = np.broadcast_to(np.moveaxis(weights, 1, 0), p.shape)
        return DrawnBernoulliMixture(each, 1.0 - p, p)


def logits(
    posterior: Normal, block: Block
) -> tuple[Float[np.ndarray, "experts rows"], Float[np.ndarray, "experts rows"]]:
    """Mean and variance of every component's logit at every row."""
    design = block.designs[MEAN]
    spread = quadratic_weights(posterior.covariance[:, 0]) @ products(design)
    return posterior.mean[:, 0] @ design, spread
