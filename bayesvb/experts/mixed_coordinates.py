"""Standard coordinates of mixed models: of the coefficients that all rows share and of the noise.

Effects of groups are no coordinates: they answer where these are tilted, as everything that has
statistics does, and a covariance is asked for of what tables show.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from bayesvb.experts.linear_coordinates import LinearCoordinates
from bayesvb.factors.bordered_normal_gamma import BorderedNormalGamma
from bayesvb.numerics.linalg import lower_pairs
from bayesvb.variational.coordinates import AbstractCoordinates, entries
from bayesvb.variational.local import Draws


@dataclass(frozen=True)
class MixedCoordinates(AbstractCoordinates):
    """Those of the law of coefficients and noise, effects integrated out.

    Attributes
    ----------
    posterior : BorderedNormalGamma
    border : LinearCoordinates
    """

    posterior: BorderedNormalGamma
    border: LinearCoordinates

    @classmethod
    def of(cls, posterior: BorderedNormalGamma) -> MixedCoordinates:
        """Those of a posterior."""
        return cls(posterior, LinearCoordinates(posterior.border))

    def uncoupled(self) -> MixedCoordinates:
        """Coefficients that scatter with the expected noise."""
        return replace(self, border=self.border.uncoupled())

    @property
    def size(self) -> int:
        """Number of coefficients and precisions."""
        return self.border.size

    def expectations(self) -> Float[np.ndarray, " entries"]:
        """Of all rows, then ``-E[tau u u'] / 2``, ``-E[tau u b']`` and ``E[tau u]``."""
        law, effects = self.posterior.border, self.posterior.effects
        scaled = law.expected_precision[..., None, None] * effects
        through = np.einsum("kpq,kaqg->kapg", law.covariance, self.posterior.regression)
        cross = np.einsum("kiag,kip->kapg", scaled, law.mean) - effects.shape[1] * through
        first, second = lower_pairs(effects.shape[2])
        spread = self.posterior.within[:, first, second]
        spread = spread + (through[:, first] * self.posterior.regression[:, second]).sum(axis=2)
        squares = (scaled[:, :, first] * effects[:, :, second]).sum(axis=1)
        squares = (squares + effects.shape[1] * spread) * (2.0 - (first == second))[:, None]
        return entries(self.border.expectations(), -0.5 * squares, -cross, scaled)

    def perturbations(self) -> Float[np.ndarray, "coordinates entries"]:
        """Tilts touch the sums of all rows, and none by group."""
        own, effects = self.border.perturbations(), self.posterior.effects
        n_experts, n_responses, n_effects, n_groups = effects.shape
        n_terms = self.posterior.border.mean.shape[-1]
        each = n_effects * (n_effects + 1) // 2 + n_effects * (n_terms + n_responses)
        return np.hstack([own, np.zeros((len(own), n_experts * each * n_groups))])

    def standard(self, draws: Draws) -> Float[np.ndarray, "draws coordinates"]:
        """Coordinates of coefficients and precisions."""
        return self.border.standard(draws)

    def parameters(self, standard: Float[np.ndarray, "draws coordinates"]) -> Draws:
        """Coefficients and precisions at these coordinates."""
        return self.border.parameters(standard)

    def log_volume(self, draws: Draws) -> Float[np.ndarray, " draws"]:
        """That of coefficients and precisions."""
        return self.border.log_volume(draws)
