"""Experts of amounts, some of which are exactly zero: a hurdle before a positive distribution."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from bayesvb.data.blocks import Block
from bayesvb.data.scaling import Scaling
from bayesvb.distributions.hurdle_mixture import DrawnHurdleMixture, HurdleMixture, amounts_of
from bayesvb.distributions.predictor_mixture import (
    AbstractDrawnPredictorMixture,
    AbstractPredictorMixture,
)
from bayesvb.distributions.response import Response
from bayesvb.experts.further_predictor import FurtherPosterior
from bayesvb.experts.zero_inflated import Logits, ZeroInflatedExperts
from bayesvb.numerics.arrays import DrawExpertTerms, ExpertRows
from bayesvb.variational.descriptions import ParameterText
from bayesvb.variational.local import Draws


@dataclass(frozen=True)
class HurdleExperts(ZeroInflatedExperts):
    r"""``p(y) = psi 1[y = 0] + (1 - psi) p_k(y)``, ``psi = 1 / (1 + exp(-v))``, ``v = z' g``.

    As ``ZeroInflatedExperts``, with a positive distribution ``p_k``, under which 0 has no density:
    every zero is one of the hurdle, and nothing is latent but the component of the other rows. The
    likelihood is a product of a logistic regression of all rows and a positive regression of those
    above 0, and so is the posterior.

    References
    ----------
    Cragg (1971), Some statistical models for limited dependent variables with application to the
    demand for durable goods, Econometrica 39(5), equations 5 and 6, for the two parts.
    """

    first_structural = 1.0

    further_text = ParameterText(
        symbol="ζ",
        meaning="coefficients of the log odds of 0, the same for all components, per unit of the "
        "term; exp(ζ) is an odds ratio, of the intercept the odds",
        heading="Log odds of 0",
        caption="Coefficients of the log odds of 0, per unit of the term",
        forest=True,
        ratio="odds ratio",
    )

    @property
    def words(self) -> str:  # type: ignore[override]
        return f"hurdle {self.experts.words}"

    @property
    def response(self) -> Response:  # type: ignore[override]
        """Amounts from 0."""
        return replace(self.experts.response, kind="amount")

    def counted(self, block: Block) -> Block:
        """Rows whose zeros, which have no weight, are replaced by a value above 0."""
        return replace(block, response=amounts_of(block.response))

    def of_zero(self, logit: Logits, of_count: Logits) -> Logits:
        """Log odds: the positive distribution has no zeros."""
        return logit

    def predictive(  # type: ignore[override]
        self, posterior: FurtherPosterior, weights: ExpertRows, block: Block, response: int
    ) -> HurdleMixture:
        """Mixture of the amounts with the expected probability of 0, exact."""
        amounts = self.experts.predictive(posterior.experts, weights, block, response)
        assert isinstance(amounts, AbstractPredictorMixture)
        zero = self.expected_zeros(posterior, block)
        return HurdleMixture(weights, amounts, np.broadcast_to(zero, weights.shape))

    def drawn(  # type: ignore[override]
        self, draws: Draws, weights: DrawExpertTerms, block: Block, response: int, scaling: Scaling
    ) -> DrawnHurdleMixture:
        """Mixture of the amounts given each draw, with zeros."""
        amounts = self.experts.drawn(draws, weights, block, response, scaling)
        assert isinstance(amounts, AbstractDrawnPredictorMixture)
        logit = np.moveaxis(self.drawn_further(draws, block), 1, 0)
        return DrawnHurdleMixture(amounts.weights, amounts, expit(logit))
