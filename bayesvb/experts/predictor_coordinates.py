"""Standard coordinates of experts whose parameters are coefficients of one linear predictor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bayesvb.variational.coordinates import AbstractCoordinates
from bayesvb.variational.linear_predictors import LogitCoordinates
from bayesvb.variational.local import Draws


@dataclass(frozen=True)
class PredictorCoordinates(AbstractCoordinates):
    """Coordinates of Gaussian coefficients, which draws hold by the name ``coefficients``."""

    vectors: LogitCoordinates

    @property
    def size(self) -> int:
        """Number of coefficients."""
        return self.vectors.size

    def expectations(self) -> Float[np.ndarray, " entries"]:
        """``-E[b b'] / 2`` and ``E[b]``, in the order of ``LogitStats``."""
        return self.vectors.expectations()

    def perturbations(self) -> Float[np.ndarray, "coordinates entries"]:
        """Additions to the linear statistics, one for each coordinate."""
        return self.vectors.perturbations()

    def linear_perturbations(self) -> Float[np.ndarray, "coordinates experts terms"]:
        """Additions to the linear statistics of each expert."""
        return self.vectors.linear_perturbations()

    def centre_slopes(
        self, change: Float[np.ndarray, "changes entries"]
    ) -> Float[np.ndarray, "changes coordinates"]:
        """Changes of the posterior means."""
        return self.vectors.centre_slopes(change)

    def standard(self, draws: Draws) -> Float[np.ndarray, "draws coordinates"]:
        """Coordinates of draws."""
        return self.vectors.standard(draws["coefficients"][:, :, 0])

    def parameters(self, standard: Float[np.ndarray, "draws coordinates"]) -> Draws:
        """Draws at these coordinates."""
        return {"coefficients": self.vectors.parameters(standard)[:, :, None]}

    def log_volume(self, draws: Draws) -> Float[np.ndarray, " draws"]:
        """Zero up to a constant: the map is linear."""
        return self.vectors.log_volume(draws["coefficients"][:, :, 0])
