"""Experts of positive responses whose law has a scale and a shape."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float

from bayesvb.data.blocks import Block
from bayesvb.data.parts import MEAN, ZERO
from bayesvb.data.scaling import Scaling
from bayesvb.distributions.gamma_mixture import PositiveLaw
from bayesvb.distributions.predictor_mixture import (
    AbstractDrawnPredictorMixture,
    AbstractPredictorMixture,
)
from bayesvb.experts.dispersed_predictor import AbstractDispersedExperts, DispersedPosterior
from bayesvb.numerics.arrays import DrawExpertTerms, ExpertRows, RowVector
from bayesvb.variational.local import Draws


class AbstractPositiveExperts(AbstractDispersedExperts):
    """Experts of a positive response: draws of its law, and its mixtures."""

    parts = (MEAN, ZERO)

    law: ClassVar[PositiveLaw]
    """Law of the response given predictor and shape."""

    mixture: ClassVar[type[AbstractPredictorMixture]]
    """Mixture with normal predictors and normal log shapes."""

    drawn_mixture: ClassVar[type[AbstractDrawnPredictorMixture]]
    """Mixture given each draw."""

    def collapsed(
        self, posterior: DispersedPosterior, block: Block
    ) -> Bool[np.ndarray, " experts"]:
        """Experts with the largest shape of the grid: next to no variance."""
        end = self.dispersion.high - self.dispersion.step
        return np.asarray(posterior.dispersion.mean_log > end)

    def first_predictor(self, block: Block) -> RowVector:
        """Log of the response, or of the time of censoring."""
        return np.asarray(np.log(block.response[0]))

    def simulate(
        self,
        block: Block,
        predictor: Float[np.ndarray, "draws 1 rows"],
        values: Float[np.ndarray, "draws 1 rows"],
        rng: np.random.Generator,
    ) -> Float[np.ndarray, "draws 1 rows"]:
        """Draws of the law."""
        return self.law.draws(predictor, values, rng)

    def predictive(
        self, posterior: DispersedPosterior, weights: ExpertRows, block: Block, response: int
    ) -> AbstractPredictorMixture:
        """Mixture with normal predictors and normal log shapes."""
        mean, variance = self.predictor(posterior, block)
        return self.mixture(weights, mean, variance, *self.further_moments(posterior, mean))

    def drawn(
        self, draws: Draws, weights: DrawExpertTerms, block: Block, response: int, scaling: Scaling
    ) -> AbstractDrawnPredictorMixture:
        """Mixture given each draw."""
        return self.drawn_mixture(*self.drawn_arrays(draws, weights, block))
