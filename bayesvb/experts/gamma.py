"""Gamma experts: each component is a Bayesian gamma regression of positive numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import gammaln

from bayesvb.data.blocks import Block
from bayesvb.data.scaling import Scaling
from bayesvb.distributions.gamma_mixture import GAMMA, DrawnGammaMixture, GammaMixture, decay
from bayesvb.distributions.response import Response
from bayesvb.experts.dispersed_predictor import (
    AbstractDispersedExperts,
    DispersedPosterior,
    Nodes,
    on_axis,
)
from bayesvb.experts.linked import Rows
from bayesvb.experts.predictor import Expected
from bayesvb.factors.log_grid import LogGrid
from bayesvb.factors.normal import Normal
from bayesvb.variational.descriptions import ParameterText
from bayesvb.variational.local import Draws

SHAPE = LogGrid(low=-4.5, high=9.0, centre=1.0, sd=2.0)
"""Shapes from 0.01 to 8,100, a priori 2.7 with 95% between 0.05 and 140: coefficients of variation
from 0.08 to 4.4."""


@dataclass(frozen=True)
class GammaExperts(AbstractDispersedExperts):
    """``y ~ Ga(alpha, alpha exp(-u))``: mean ``exp(u)``, shape ``alpha`` of each component.

    With ``z = y exp(-t + s / 2)``, ``u ~ N(t, s)``, the expected log density is
    ``alpha (log(alpha) + log y - t - z) - log Gamma(alpha) - log y``, exact.
    """

    words = "gamma regression"
    formula = "gamma"
    response = Response(kind="positive", support=(0.0, np.inf), link="log")
    dispersion = SHAPE
    dispersion_name = "shape"
    dispersion_text = ParameterText(
        symbol="α",
        meaning="shape of each component; its coefficient of variation is the inverse root",
        heading="Shape",
        caption="Shape of each component: 1 over the squared coefficient of variation",
    )
    link_text = ParameterText(
        symbol="β",
        meaning="coefficients of each component's log mean, per unit of the term; exp(β) is a "
        "ratio of means, of the intercept the mean",
        heading="Components' log means",
        caption="Coefficients of the components' log means, per unit of the term",
        forest=True,
        ratio="mean ratio",
    )

    prior: Normal

    def expected_at(
        self, block: Block, mean: Rows, variance: Rows, value: Nodes, *, all_orders: bool = False
    ) -> Expected:
        """All orders of the derivatives are at hand."""
        y = block.response[0]
        log_y, share = np.log(y), y * decay(mean - 0.5 * variance)
        found = value * (np.log(value) + log_y - mean - share) - gammaln(value) - log_y
        z = value * share
        return Expected(found, z - value, z, z, -z)

    def values_at_nodes(
        self, block: Block, mean: Rows, variance: Rows
    ) -> Float[np.ndarray, "nodes experts rows"]:
        """Linear in one number of each row, which is exponentiated once."""
        y, shape = block.response[0], on_axis(self.dispersion.values)
        log_y = np.log(y)
        each = log_y - mean - y * decay(mean - 0.5 * variance)
        return np.asarray(shape * each + (shape * np.log(shape) - gammaln(shape)) - log_y)

    def first_predictor(self, block: Block) -> Float[np.ndarray, " rows"]:
        """Log of the response."""
        return np.asarray(np.log(block.response[0]))

    def log_density_of_rows(
        self,
        block: Block,
        predictor: Float[np.ndarray, "draws experts rows"],
        values: Float[np.ndarray, "draws experts 1"],
    ) -> Float[np.ndarray, "draws experts rows"]:
        """Log gamma density."""
        return GAMMA.log_density(block.response[0], predictor, values)

    def simulate(
        self,
        block: Block,
        predictor: Float[np.ndarray, "draws 1 rows"],
        values: Float[np.ndarray, "draws 1 rows"],
        rng: np.random.Generator,
    ) -> Float[np.ndarray, "draws 1 rows"]:
        """Gamma draws."""
        return GAMMA.draws(predictor, values, rng)

    def predictive(
        self,
        posterior: DispersedPosterior,
        weights: Float[np.ndarray, "experts rows"],
        block: Block,
        response: int,
    ) -> GammaMixture:
        """Mixture of gamma distributions with normal log means and log shapes."""
        mean, variance = self.predictor(posterior, block)
        return GammaMixture(weights, mean, variance, *self.further_moments(posterior, mean))

    def drawn(
        self,
        draws: Draws,
        weights: Float[np.ndarray, "draws experts _"],
        block: Block,
        response: int,
        scaling: Scaling,
    ) -> DrawnGammaMixture:
        """Mixture of gamma distributions given each draw."""
        return DrawnGammaMixture(*self.drawn_arrays(draws, weights, block))
