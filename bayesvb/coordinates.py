"""Standard coordinates of a posterior: mean zero, variance one and uncorrelated under it."""

from __future__ import annotations

import abc
import math
from typing import Any

import numpy as np
from jaxtyping import Float


class AbstractMoves(abc.ABC):
    """Standard coordinates of some parameters, and draws in which these have been moved."""

    @abc.abstractmethod
    def standard(self, draws: Any) -> Float[np.ndarray, "draws coordinates"]:
        """Coordinates of draws of the parameters."""

    @abc.abstractmethod
    def moved(self, draws: Any, root: Float[np.ndarray, "coordinates coordinates"]) -> Any:
        """The draws at their coordinates times the root of a covariance."""

    @abc.abstractmethod
    def log_volume(self, draws: Any) -> Float[np.ndarray, " draws"]:
        """Log determinant of ``d parameters / d coordinates``, up to a constant."""


class AbstractCoordinates(AbstractMoves):
    """One-to-one map between the parameters of a posterior and standard coordinates.

    Every coordinate has a stand-in ``h`` that is linear in the sufficient statistics of the
    posterior: to tilt the posterior by ``exp(t h)`` is to add ``t`` times a record to its sums.
    """

    @abc.abstractmethod
    def expectations(self) -> Float[np.ndarray, " entries"]:
        """Expected sufficient statistics: what each of the sums is multiplied by."""

    @abc.abstractmethod
    def tilts(self) -> Float[np.ndarray, "coordinates entries"]:
        """What a unit tilt of each coordinate adds to the statistics, as vectors.

        The stand-ins are uncorrelated under the posterior and have variance one.
        """

    @abc.abstractmethod
    def parameters(self, standard: Float[np.ndarray, "draws coordinates"]) -> Any:
        """Draws of the parameters at these coordinates."""

    def moved(self, draws: Any, root: Float[np.ndarray, "coordinates coordinates"]) -> Any:
        """The draws at their coordinates times the root of a covariance."""
        return self.parameters(self.standard(draws) @ root)


def tilt_rows(
    *leaves: Float[np.ndarray, "coordinates ..."],
) -> Float[np.ndarray, "coordinates entries"]:
    """Tilts from one array for each leaf of the sums, in the order of ``Stats.to_vector``."""
    rows = [leaf.reshape(len(leaf), math.prod(leaf.shape[1:])) for leaf in leaves]
    return np.concatenate(rows, axis=1)


def entries(*leaves: Float[np.ndarray, "..."]) -> Float[np.ndarray, " entries"]:
    """Expectations from one array for each leaf of the sums."""
    return np.concatenate([np.ravel(leaf) for leaf in leaves])
