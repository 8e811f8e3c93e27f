"""Models with components, as results see them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.distributions.base import AbstractComponentMixture
from bayesvb.numerics.arrays import DrawExpertTerms, DrawTerms, ExpertRows, ExpertTerms
from bayesvb.variational.local import Draws


@runtime_checkable
class ComponentModel(Protocol):
    """Mixture, network, ensemble of either, or point estimates of either."""

    @property
    def n_components(self) -> int:
        """Number of components."""

    def responsibilities(self, posterior: object, block: Block) -> ExpertRows:
        """Probability of each component given the response of the row."""

    def mean_weights(self, posterior: object, block: Block) -> ExpertTerms:
        """Posterior mean of the weight of each component."""

    def log_weights(self, draws: Draws, block: Block) -> DrawExpertTerms:
        """Log weights of the components given each draw."""

    def gate_coefficients(self, draws: Draws) -> Mapping[int, DrawTerms]:
        """Coefficients of the gate by component; empty where none have a common meaning."""

    def coefficient_meaning(self) -> str:
        """Meaning of the coefficients of the gate."""

    def predictive(
        self, posterior: object, block: Block, response: int = 0
    ) -> AbstractComponentMixture:
        """Predictive distribution of one numeric response for every row."""


@runtime_checkable
class ClassModel(ComponentModel, Protocol):
    """Components that predict classes."""

    def probabilities(self, posterior: object, block: Block) -> Float[np.ndarray, "classes rows"]:
        """Predictive probability of each class."""

    def drawn_probabilities(
        self, draws: Draws, block: Block, few_points: bool = False
    ) -> Float[np.ndarray, "draws classes rows"]:
        """Probability of each class given each draw."""
