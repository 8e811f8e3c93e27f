"""Standard coordinates of logits with effects of groups: of the coefficients that all rows share.

Effects of groups are no coordinates: they answer where these are tilted, as everything that has
statistics does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bayesvb.factors.bordered_normal import BorderedNormal
from bayesvb.gates.gaussian_logits import LogitCoordinates, LogitLaw
from bayesvb.gates.logits_by_group import expectations_by_group
from bayesvb.variational.coordinates import AbstractCoordinates


@dataclass(frozen=True)
class GroupedLogitCoordinates(AbstractCoordinates):
    """Those of the law of the coefficients that all rows share, effects integrated out.

    Attributes
    ----------
    posterior : BorderedNormal
    """

    posterior: BorderedNormal

    @property
    def border(self) -> LogitCoordinates:
        """The same without groups."""
        return LogitCoordinates(self.posterior.border)

    @property
    def size(self) -> int:
        """Number of these coefficients."""
        return int(self.posterior.mean.size)

    def expectations(self) -> Float[np.ndarray, " entries"]:
        """Those of all rows, then those by group, in the order of ``GroupedLogitStats``."""
        return expectations_by_group(self.posterior)

    def perturbations(self) -> Float[np.ndarray, "coordinates entries"]:
        """Tilts touch the sums of all rows, and none by group."""
        own, (n_logits, n_effects, n_groups) = (
            self.border.perturbations(),
            self.posterior.effects.shape,
        )
        n_terms = self.posterior.mean.shape[1]
        each = n_effects * (n_effects + 1) // 2 + n_effects * (n_terms + 1)
        return np.hstack([own, np.zeros((len(own), n_logits * each * n_groups))])

    def standard(
        self, draws: Float[np.ndarray, "draws logits terms"]
    ) -> Float[np.ndarray, "draws coordinates"]:
        """Coordinates of the coefficients."""
        return self.border.standard(draws)

    def parameters(
        self, standard: Float[np.ndarray, "draws coordinates"]
    ) -> Float[np.ndarray, "draws logits terms"]:
        """Coefficients at these coordinates."""
        return self.border.parameters(standard)

    def log_volume(
        self, draws: Float[np.ndarray, "draws logits terms"]
    ) -> Float[np.ndarray, " draws"]:
        """Constant."""
        return self.border.log_volume(draws)


def logit_coordinates(posterior: LogitLaw) -> LogitCoordinates | GroupedLogitCoordinates:
    """Standard coordinates of a law of logits."""
    if isinstance(posterior, BorderedNormal):
        return GroupedLogitCoordinates(posterior)
    return LogitCoordinates(posterior)
