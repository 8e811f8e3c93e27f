"""Derivatives at the state of a fit, in the statistics that all rows share."""

from __future__ import annotations

import abc

import numpy as np
from jaxtyping import Float

from bayesvb.numerics.arrays import DirectionEntries, EntryVector

FLATTEST = 1e-10
"""Smallest curvature of the ELBO, relative to the posterior's, that is not rounding error."""


class BendsUpwards(np.linalg.LinAlgError):
    """Error if the ELBO is not concave in the eliminated parameters.

    Attributes
    ----------
    direction : ndarray, shape (whole,)
        Change of all statistics along which it bends upwards.
    """

    def __init__(self, direction: Float[np.ndarray, " whole"]) -> None:
        super().__init__("the ELBO is not concave in the eliminated effects")
        self.direction = direction


class AbstractSharedResponse(abc.ABC):
    """Derivatives of expectations and of a pass; statistics of single groups are eliminated."""

    passes: int

    @abc.abstractmethod
    def perturbations(self) -> Float[np.ndarray, "coordinates entries"]:
        """Change of the statistics by a unit perturbation of each standard coordinate."""

    @abc.abstractmethod
    def metric(self, directions: DirectionEntries) -> DirectionEntries:
        """Changes of the expectations along directions."""

    @abc.abstractmethod
    def answers(self, directions: DirectionEntries, metric: DirectionEntries) -> DirectionEntries:
        """Changes of the statistics after an iteration, from the directions and their metric.

        Raises
        ------
        BendsUpwards
        """

    @abc.abstractmethod
    def lifted(self, direction: EntryVector) -> Float[np.ndarray, " whole"]:
        """A direction as one of all statistics."""
