"""What gates, experts and models have in common: the rows of a block, and draws by name."""

from __future__ import annotations

import abc
from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from bayesvb.stats import Stats

Draws = Mapping[str, Float[np.ndarray, "draws ..."]]
"""Draws of global parameters by name; the first axis counts the draws."""


class AbstractRows(abc.ABC):
    """What a gate or an expert knows of the rows of one block, for one posterior.

    ``terms`` of shape (experts, rows), or (experts, 1) where rows do not differ, are what the part
    adds to the log responsibilities. They also are its part of the lower bound.
    """

    terms: Float[np.ndarray, "experts _"]

    @abc.abstractmethod
    def sums(self, responsibilities: Float[np.ndarray, "experts rows"]) -> Stats:
        """Sums over the rows, given (weighted) responsibilities."""
