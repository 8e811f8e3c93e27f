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
    """Coordinates of Gaussian coefficients, which draws hold by the name ``coefficients``.

    Attributes
    ----------
    vectors : LogitCoordinates
    further : str
        Name of the draws of the last parameters of each vector, if these have one of their own.
    n_further : int
        Number of these parameters.
    """

    vectors: LogitCoordinates
    further: str = ""
    n_further: int = 0

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

    def centre_along(
        self, change: Float[np.ndarray, "changes experts terms"]
    ) -> Float[np.ndarray, "changes coordinates"]:
        """Changes of the posterior means with the changes of each vector."""
        return self.vectors.centre_along(change)

    def standard(self, draws: Draws) -> Float[np.ndarray, "draws coordinates"]:
        """Coordinates of draws."""
        return self.vectors.standard(self._joined(draws))

    def parameters(self, standard: Float[np.ndarray, "draws coordinates"]) -> Draws:
        """Draws at these coordinates."""
        values = self.vectors.parameters(standard)
        if not self.further:
            return {"coefficients": values[:, :, None]}
        at = values.shape[-1] - self.n_further
        return {"coefficients": values[:, :, None, :at], self.further: values[..., at:]}

    def log_volume(self, draws: Draws) -> Float[np.ndarray, " draws"]:
        """Zero up to a constant: the map is linear."""
        return self.vectors.log_volume(self._joined(draws))

    def _joined(self, draws: Draws) -> Float[np.ndarray, "draws logits terms"]:
        """Whole vectors."""
        first = draws["coefficients"][:, :, 0]
        return np.concatenate([first, draws[self.further]], axis=-1) if self.further else first
