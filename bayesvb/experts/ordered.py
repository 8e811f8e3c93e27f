"""Experts of ordered levels: the response, thresholds of each component, and drawn levels."""

from __future__ import annotations

import abc
from itertools import pairwise
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Float, Int

from bayesvb.data.blocks import Block
from bayesvb.data.ordered_levels import OrderedLevels
from bayesvb.data.responses import AllResponses
from bayesvb.data.scaling import INTERCEPT, Scaling
from bayesvb.distributions.ordinal_mixture import DrawnOrdinalMixture
from bayesvb.distributions.response import Response
from bayesvb.errors import DataError
from bayesvb.experts.linked import AbstractLinkedExperts
from bayesvb.experts.regression import RegressionUnits
from bayesvb.numerics.arrays import DrawExpertTerms, DrawResponseRows, RowIntegers
from bayesvb.variational.descriptions import NamedParameter, ParameterText
from bayesvb.variational.local import Draws

FEWEST_LEVELS = 3
"""Levels that an ordinal regression has at least: two are a logistic regression."""

SMALLEST_PROBABILITY = 1e-300
"""Probability of a level below which its logarithm is cut off."""


class AbstractOrderedExperts(AbstractLinkedExperts):
    """Experts of levels with an order and one threshold between each two of them.

    The first threshold is 0, as the predictor has an intercept.
    """

    threshold_text: ClassVar[ParameterText]
    """Name and meaning of the thresholds."""

    response_link: ClassVar[Literal["logit", "probit"]] = "logit"
    """Link of the probability of a level above the lowest."""

    levels: OrderedLevels

    @property
    def response(self) -> Response:  # type: ignore[override]
        """Ordered levels."""
        return Response(kind="levels", order=self.levels, link=self.response_link)

    @staticmethod
    def response_scaling(response: AllResponses, *, centred: bool, active: bool = True) -> Scaling:
        """Identity: levels are numbers of an order.

        Raises
        ------
        DataError
            If the formula has no intercept, which is minus the first threshold.
        """
        if not centred:
            raise DataError(
                "an ordinal regression needs the intercept, which is minus the first threshold",
                hint="omit `0 +` or `- 1`",
            )
        return Scaling(np.zeros(1), np.ones(1), None)

    def places(self, block: Block) -> RowIntegers:
        """Position of the level of each row, from 0."""
        return self.levels.places(block.response[0])

    @abc.abstractmethod
    def drawn_thresholds(self, draws: Draws) -> Float[np.ndarray, "draws experts thresholds"]:
        """Thresholds of each draw, the first of which is 0, in NumPy or JAX."""

    @abc.abstractmethod
    def drawn_masses(
        self, draws: Draws, block: Block
    ) -> Float[np.ndarray, "draws experts rows levels"]:
        """Probability of each level for each draw."""

    def drawn_excess(
        self, draws: Draws, block: Block
    ) -> Float[np.ndarray, "draws experts rows thresholds"]:
        """Predictor less each threshold, for each draw."""
        excess: Float[np.ndarray, "draws experts rows thresholds"]
        predictor = self.drawn_predictor(draws, block)[..., None]
        excess = predictor - self.drawn_thresholds(draws)[:, :, None]
        return excess

    def responses(
        self,
        draws: Draws,
        chosen: Int[np.ndarray, "draws rows"],
        block: Block,
        rng: np.random.Generator,
    ) -> DrawResponseRows:
        return self.levels.drawn(self.drawn_masses(draws, block), chosen, rng)

    def drawn(
        self, draws: Draws, weights: DrawExpertTerms, block: Block, response: int, scaling: Scaling
    ) -> DrawnOrdinalMixture:
        """Probabilities of the levels given each draw."""
        each = np.moveaxis(self.drawn_masses(draws, block), 1, 0)
        levels = np.broadcast_to(np.moveaxis(weights, 1, 0), each.shape[:-1])
        return DrawnOrdinalMixture(levels, each, self.levels)

    def parameters(self, draws: Draws, units: RegressionUnits) -> list[NamedParameter]:
        """``beta``, and thresholds where all terms are zero."""
        (beta,) = super().parameters(draws, units)
        at = self.drawn_thresholds(draws) - beta.values[..., [units.terms.index(INTERCEPT)]]
        names = [f"{lower}|{upper}" for lower, upper in pairwise(self.levels.labels)]
        dims, coords = ("component", "level"), {"level": names}
        thresholds = NamedParameter(
            "threshold", at, dims, self.threshold_text, "threshold", coords=coords
        )
        return [beta, thresholds]


def count_later_thresholds(levels: OrderedLevels) -> int:
    """Return the number of thresholds behind the first one."""
    return max(len(levels), FEWEST_LEVELS) - 2
