"""Gamma experts: each component is a Bayesian gamma regression of positive numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import digamma, gammaln

from bayesvb.data.blocks import Block
from bayesvb.distributions.gamma_mixture import GAMMA, DrawnGammaMixture, GammaMixture, decay
from bayesvb.distributions.response import Response
from bayesvb.experts.dispersed_predictor import Nodes, RowSlopes
from bayesvb.experts.positive import AbstractPositiveExperts
from bayesvb.experts.predictor import Expected
from bayesvb.factors.log_grid import LogGrid
from bayesvb.factors.normal import Normal
from bayesvb.numerics.arrays import DrawExpertRows, ExpertRows
from bayesvb.variational.descriptions import ParameterText

SHAPE = LogGrid(low=-4.5, high=9.0, centre=1.0, sd=2.0)
"""Shapes from 0.01 to 8,100, a priori 2.7 with 95% between 0.05 and 140: coefficients of variation
from 0.08 to 4.4."""


@dataclass(frozen=True)
class GammaExperts(AbstractPositiveExperts):
    """``y ~ Ga(alpha, alpha exp(-u))``: mean ``exp(u)``, shape ``alpha`` of each component.

    With ``z = y exp(-t + s / 2)``, ``u ~ N(t, s)``, the expected log density is
    ``alpha (log(alpha) + log y - t - z) - log Gamma(alpha) - log y``, exact.
    """

    words = "gamma regression"
    formula = "gamma"
    response = Response(kind="positive", support=(0.0, np.inf), link="log")
    dispersion_name = "shape"
    dispersion_text = ParameterText(
        symbol="α",
        meaning="shape of each component: the coefficient of variation is 1/√shape",
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

    law = GAMMA
    mixture = GammaMixture
    drawn_mixture = DrawnGammaMixture

    prior: Normal
    dispersion: LogGrid = SHAPE

    def expected_at(
        self,
        block: Block,
        mean: ExpertRows,
        variance: ExpertRows,
        value: Nodes,
        *,
        all_orders: bool = False,
    ) -> Expected:
        """All orders of the derivatives are at hand."""
        y = block.response[0]
        log_y, share = np.log(y), y * decay(mean - 0.5 * variance)
        log_density = value * (np.log(value) + log_y - mean - share) - gammaln(value) - log_y
        z = value * share
        return Expected(log_density, z - value, z, z, -z)

    def log_density_of_rows(
        self, block: Block, predictor: DrawExpertRows, values: Float[np.ndarray, "draws experts 1"]
    ) -> DrawExpertRows:
        return GAMMA.log_density(block.response[0], predictor, values)

    def slopes_of_rows(
        self, block: Block, predictor: DrawExpertRows, values: Float[np.ndarray, "draws experts 1"]
    ) -> RowSlopes:
        """Log gamma density, and its derivatives in ``u`` and ``log(alpha)``."""
        y = block.response[0]
        share = y * decay(predictor)
        excess = np.log(values) - digamma(values) + np.log(y) - predictor + 1.0 - share
        density = GAMMA.log_density(y, predictor, values)
        return density, values * (share - 1.0), values * excess
