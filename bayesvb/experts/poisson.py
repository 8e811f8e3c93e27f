"""Poisson experts: each component is a Bayesian Poisson regression of counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln

from bayesvb.data.blocks import Block
from bayesvb.data.parts import MEAN, ZERO
from bayesvb.data.scaling import Scaling
from bayesvb.distributions.count_laws import PoissonLaw, rate_at
from bayesvb.distributions.count_mixture import DrawnCountMixture, PoissonMixture
from bayesvb.distributions.response import Response
from bayesvb.experts.predictor import SMALLEST_COUNT, AbstractPredictorExperts, Expected
from bayesvb.factors.normal import Normal
from bayesvb.numerics.arrays import DrawExpertRows, DrawExpertTerms, ExpertRows, RowVector
from bayesvb.variational.descriptions import ParameterText
from bayesvb.variational.local import Draws


@dataclass(frozen=True)
class PoissonExperts(AbstractPredictorExperts):
    """``y ~ Poisson(exp(u))``, ``u`` the linear predictor.

    The expected log density is ``y t - exp(t + s / 2) - log y!``, exact; it is concave in mean and
    covariance of the coefficients together.
    """

    words = "Poisson regression"
    parts = (MEAN, ZERO)
    formula = "poisson"
    response = Response(kind="count", support=(0.0, np.inf), link="log")
    link_text = ParameterText(
        symbol="β",
        meaning="coefficients of each component's log mean, per unit of the term; exp(β) is a rate "
        "ratio, of the intercept the mean",
        heading="Components' log means",
        caption="Coefficients of the components' log means, per unit of the term",
        forest=True,
        ratio="rate ratio",
    )

    prior: Normal

    def expected(
        self, block: Block, mean: ExpertRows, variance: ExpertRows, *, all_orders: bool = False
    ) -> Expected:
        """``y t - exp(t + s / 2) - log y!``; all orders of its derivatives are at hand."""
        y, rate = block.response[0], rate_at(mean + 0.5 * variance)
        value = y * mean - rate - gammaln(y + 1.0)
        return Expected(value, y - rate, rate, -rate, -rate)

    def first_predictor(self, block: Block) -> RowVector:
        """Log of the count and a half."""
        return np.asarray(np.log(block.response[0] + SMALLEST_COUNT))

    def log_mass(self, block: Block, predictor: DrawExpertRows) -> DrawExpertRows:
        """``y u - exp(u) - log y!``."""
        return PoissonLaw(predictor).log_mass_of_counts(block.response[0])

    def simulate(
        self, block: Block, predictor: Float[np.ndarray, "draws 1 rows"], rng: np.random.Generator
    ) -> Float[np.ndarray, "draws 1 rows"]:
        """Counts."""
        return PoissonLaw(predictor).draw(rng)

    def predictive(
        self, posterior: Normal, weights: ExpertRows, block: Block, response: int
    ) -> PoissonMixture:
        """Mixture of Poisson distributions with normal log rates."""
        return PoissonMixture(weights, *self.predictor(posterior, block))

    def drawn(
        self, draws: Draws, weights: DrawExpertTerms, block: Block, response: int, scaling: Scaling
    ) -> DrawnCountMixture:
        """Mixture of Poisson distributions given each draw."""
        law = PoissonLaw(np.moveaxis(self.drawn_predictor(draws, block), 1, 0))
        return DrawnCountMixture.of(weights, law)
