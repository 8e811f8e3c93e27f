"""Standard coordinates of experts whose parameters are coefficients of one linear predictor."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bayesvb.variational.coordinates import AbstractCoordinates
from bayesvb.variational.linear_predictors import LogitCoordinates
from bayesvb.variational.local import Draws
from bayesvb.variational.passed_on import passed_on


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

    size = passed_on("vectors")
    expectations = passed_on("vectors")
    perturbations = passed_on("vectors")
    linear_perturbations = passed_on("vectors")
    centre_slopes = passed_on("vectors")
    centre_along = passed_on("vectors")

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
