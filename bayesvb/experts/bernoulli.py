"""Logistic experts: each component is a Bayesian logistic regression of zeros and ones."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from scipy.special import expit

from bayesvb.data.blocks import Block
from bayesvb.data.scaling import Scaling
from bayesvb.distributions.bernoulli_mixture import BernoulliMixture, DrawnBernoulliMixture
from bayesvb.distributions.response import Response
from bayesvb.experts.binomial import ONE, BinomialExperts
from bayesvb.factors.normal import Normal
from bayesvb.numerics.arrays import DrawExpertTerms, ExpertRows
from bayesvb.numerics.logistic_normal import softplus_moments
from bayesvb.variational.local import Draws


@dataclass(frozen=True)
class BernoulliExperts(BinomialExperts):
    """``P(y = 1) = 1 / (1 + exp(-u))``, ``u`` the linear predictor: binomial with one trial."""

    formula = "bernoulli"
    response = Response(kind="binary", support=(0.0, 1.0), link="logit")
    response_columns = ()
    link_text = replace(
        BinomialExperts.link_text,
        meaning="coefficients of each component's log odds of 1, per unit of the term; exp(β) is "
        "an odds ratio, of the intercept the odds",
        caption="Coefficients of the components' log odds of 1, per unit of the term",
    )

    prior: Normal

    def trials(self, block: Block) -> Float[np.ndarray, " _"]:
        """One."""
        return ONE

    def log_ways(self, block: Block) -> Float[np.ndarray, " _"]:
        """Zero: there is one way."""
        return np.zeros(1)

    def predictive(
        self, posterior: Normal, weights: ExpertRows, block: Block, response: int
    ) -> BernoulliMixture:
        """Mixture with the posterior mean of each component's probability.

        Below 1e-9 a probability is computed from the expected log density, which is smaller by
        Jensen's inequality and keeps its digits: a far row never has probability zero.
        """
        mean, variance = self.predictor(posterior, block)
        value, share = softplus_moments(mean, variance, 1)
        zero = np.maximum(1.0 - share, np.exp(-value))
        return BernoulliMixture(weights, zero, np.maximum(share, np.exp(mean - value)))

    def drawn(
        self, draws: Draws, weights: DrawExpertTerms, block: Block, response: int, scaling: Scaling
    ) -> DrawnBernoulliMixture:
        """Mixture of zeros and ones given each draw."""
        predictor = np.moveaxis(self.drawn_predictor(draws, block), 1, 0)
        each = np.broadcast_to(np.moveaxis(weights, 1, 0), predictor.shape)
        return DrawnBernoulliMixture(each, expit(-predictor), expit(predictor))
