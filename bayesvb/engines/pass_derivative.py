"""What a derivative of one undamped pass is asked for, from statistics to statistics."""

from __future__ import annotations

import abc
from contextlib import suppress
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from bayesvb.data.statistics import SufficientStats
from bayesvb.variational.model import AbstractVariationalModel

STEP = 1e-5
"""Step of differences, relative to an entry and at least one: errors of its square."""

Model = AbstractVariationalModel[Any, Any]


class AbstractPassDerivative(abc.ABC):
    """Derivative ``F'`` of a pass in the statistics.

    Attributes
    ----------
    answering : ndarray, shape (entries,)
        Entries of the next statistics that answer to these at all.
    """

    answering: Bool[np.ndarray, " entries"]

    @property
    def n_entries(self) -> int:
        """Length of the vectors of statistics."""
        return len(self.answering)

    @abc.abstractmethod
    def answered(
        self, added: Float[np.ndarray, "groups entries"]
    ) -> Float[np.ndarray, "groups entries"]:
        """``(I - F')^-1`` times what is added to the statistics from outside."""

    @abc.abstractmethod
    def answered_back(
        self, slopes: Float[np.ndarray, "values entries"]
    ) -> Float[np.ndarray, "values entries"]:
        """Slopes in what is added to the statistics from outside, from those in the statistics.

        Their products with what is added are those of ``slopes`` with what is ``answered``.
        """

    @abc.abstractmethod
    def whole(self) -> Float[np.ndarray, "entries entries"]:
        """As a matrix."""


def change_along(
    model: Model, stats: SufficientStats, step: Float[np.ndarray, " entries"]
) -> Float[np.ndarray, " entries"]:
    """Change of the expectations along a step, from both sides of it.

    From one side where the other is of no data, as next to a statistic that is zero; none where
    both are.
    """
    centre = stats.to_vector()
    sides = []
    for side in (1.0, -1.0, 0.0):
        with suppress(np.linalg.LinAlgError):
            posterior = model.update(stats.with_vector(centre + side * step))
            sides.append((side, model.expectations(posterior)))
        if len(sides) == 2:
            (first, ahead), (second, behind) = sides
            return np.asarray((ahead - behind) / (first - second))
    return np.zeros_like(centre)
