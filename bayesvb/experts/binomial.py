"""Binomial experts: each component is a Bayesian logistic regression of successes in trials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.data.response_columns import TRIALS
from bayesvb.data.scaling import Scaling
from bayesvb.distributions.base import AbstractComponentMixture, AbstractDrawnMixture
from bayesvb.distributions.count_laws import BinomialLaw, log_choose
from bayesvb.distributions.count_mixture import BinomialMixture, DrawnCountMixture
from bayesvb.distributions.response import Response
from bayesvb.experts.predictor import SMALLEST_COUNT, AbstractPredictorExperts, Expected
from bayesvb.factors.normal import Normal
from bayesvb.numerics.arrays import DrawExpertRows, DrawExpertTerms, ExpertRows, RowVector
from bayesvb.numerics.logistic_normal import softplus_moments
from bayesvb.variational.descriptions import ParameterText
from bayesvb.variational.local import Draws

ONE = np.ones(1)
"""Number of trials of rows that do not have it."""


@dataclass(frozen=True)
class BinomialExperts(AbstractPredictorExperts):
    """``y ~ Binomial(n, 1 / (1 + exp(-u)))``, ``u`` the linear predictor and ``n`` known trials.

    Rows whose number of trials is not known are of one trial. The expectation of the log density is
    exact to 1e-8. The quadratic bound (Polya-Gamma) is not used: where events are rare its
    posterior means are off by 0.3 standard deviations.
    """

    words = "logistic regression"
    formula = "binomial"
    response = Response(kind="successes", support=(0.0, np.inf), link="logit")
    response_columns: ClassVar[tuple[str, ...]] = (TRIALS,)
    link_text = ParameterText(
        symbol="β",
        meaning="coefficients of each component's log odds of success in one trial, per unit of "
        "the term; exp(β) is an odds ratio, of the intercept the odds",
        heading="Components' log odds",
        caption="Coefficients of the components' log odds of success, per unit of the term",
        forest=True,
        ratio="odds ratio",
    )

    prior: Normal

    def trials(self, block: Block) -> Float[np.ndarray, " _"]:
        """Number of trials of each row, or of all rows."""
        return block.designs[TRIALS][0] if TRIALS in block.designs else ONE

    def log_ways(self, block: Block) -> Float[np.ndarray, " _"]:
        """Log of the number of ways to choose the successes among the trials."""
        return log_choose(self.trials(block), block.response[0])

    def expected(
        self, block: Block, mean: ExpertRows, variance: ExpertRows, *, all_orders: bool = False
    ) -> Expected:
        """``y t - n E log(1 + exp u)``, with the number of ways to choose the successes."""
        y, n = block.response[0], self.trials(block)
        value, share, *higher = softplus_moments(mean, variance, 4 if all_orders else 2)
        third, fourth = (-n * higher[1], -n * higher[2]) if all_orders else (None, None)
        log_density = y * mean - n * value + self.log_ways(block)
        return Expected(log_density, y - n * share, n * higher[0], third, fourth)

    def first_predictor(self, block: Block) -> RowVector:
        """Log odds with half a success and half a failure more."""
        y = block.response[0]
        failures = self.trials(block) - y
        return np.asarray(np.log((y + SMALLEST_COUNT) / (failures + SMALLEST_COUNT)))

    def log_mass(self, block: Block, predictor: DrawExpertRows) -> DrawExpertRows:
        """Log probability of the successes."""
        return BinomialLaw(predictor, self.trials(block)).log_mass_of_counts(block.response[0])

    def simulate(
        self, block: Block, predictor: Float[np.ndarray, "draws 1 rows"], rng: np.random.Generator
    ) -> Float[np.ndarray, "draws 1 rows"]:
        """Successes."""
        return BinomialLaw(predictor, self.trials(block)).draw(rng)

    def predictive(
        self, posterior: Normal, weights: ExpertRows, block: Block, response: int
    ) -> AbstractComponentMixture:
        """Mixture of binomial distributions with normal log odds."""
        mean, variance = self.predictor(posterior, block)
        trials = np.broadcast_to(self.trials(block), mean.shape)
        return BinomialMixture(weights, mean, variance, trials)

    def drawn(
        self, draws: Draws, weights: DrawExpertTerms, block: Block, response: int, scaling: Scaling
    ) -> AbstractDrawnMixture:
        """Mixture of binomial distributions given each draw."""
        log_odds = np.moveaxis(self.drawn_predictor(draws, block), 1, 0)
        return DrawnCountMixture.of(weights, BinomialLaw(log_odds, self.trials(block)))
