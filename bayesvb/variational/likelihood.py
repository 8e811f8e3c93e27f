"""Log likelihood as a function of one vector, for models in which EM steps hardly move."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Generic

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.data.statistics import StatsT, SufficientStats


@dataclass(frozen=True)
class LikelihoodStep(SufficientStats):
    """Log likelihood of some rows and its gradient.

    Attributes
    ----------
    value : float
    gradient : ndarray, shape (parameters,)
    """

    value: float
    gradient: Float[np.ndarray, " parameters"]


class AbstractLikelihood(abc.ABC, Generic[StatsT]):
    """Log likelihood of point estimates and its gradient, a sum over rows."""

    @abc.abstractmethod
    def vector(self, stats: StatsT) -> Float[np.ndarray, " parameters"]:
        """Parameters at the posterior mean given these statistics; inverse of ``stats``."""

    @abc.abstractmethod
    def stats(self, vector: Float[np.ndarray, " parameters"]) -> StatsT:
        """Statistics whose posterior is a point at these parameters."""

    @abc.abstractmethod
    def value_and_gradient(
        self, vector: Float[np.ndarray, " parameters"], block: Block
    ) -> LikelihoodStep:
        """Log likelihood of these rows and its gradient."""
