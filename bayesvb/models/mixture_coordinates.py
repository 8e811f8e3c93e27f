"""Standard coordinates of a mixture: those of its experts and of its gate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.linalg import block_diag

from bayesvb.variational.coordinates import AbstractCoordinates
from bayesvb.variational.local import Draws


@dataclass(frozen=True)
class MixtureCoordinates(AbstractCoordinates):
    """Standard coordinates of the experts, then those of the gate."""

    experts: AbstractCoordinates
    gate: AbstractCoordinates

    @property
    def size(self) -> int:
        """Coordinates of both."""
        return self.experts.size + self.gate.size

    def expectations(self) -> Float[np.ndarray, " entries"]:
        """Those of the experts, then those of the gate."""
        return np.concatenate([self.experts.expectations(), self.gate.expectations()])

    def centre_slopes(
        self, change: Float[np.ndarray, "changes entries"]
    ) -> Float[np.ndarray, "changes coordinates"] | None:
        """Those of the experts, then those of the gate; None if one has none."""
        first = len(self.experts.expectations())
        experts = self.experts.centre_slopes(change[:, :first])
        gate = self.gate.centre_slopes(change[:, first:])
        return None if experts is None or gate is None else np.concatenate([experts, gate], axis=1)

    def perturbations(self) -> Float[np.ndarray, "coordinates entries"]:
        """Tilts of the experts touch their statistics only, those of the gate its own."""
        return np.asarray(block_diag(self.experts.perturbations(), self.gate.perturbations()))

    def uncoupled(self) -> MixtureCoordinates:
        """Those of both for small deviations."""
        return MixtureCoordinates(self.experts.uncoupled(), self.gate.uncoupled())

    def standard(self, draws: Draws) -> Float[np.ndarray, "draws coordinates"]:
        """Coordinates of draws of all parameters."""
        parts = [self.experts.standard(draws), self.gate.standard(draws["gate"])]
        return np.concatenate(parts, axis=1)

    def parameters(self, standard: Float[np.ndarray, "draws coordinates"]) -> Draws:
        """Draws of all parameters at these coordinates."""
        n_experts = self.experts.size
        experts = self.experts.parameters(standard[:, :n_experts])
        return {**experts, "gate": self.gate.parameters(standard[:, n_experts:])}

    def log_volume(self, draws: Draws) -> Float[np.ndarray, " draws"]:
        """Sum of both."""
        return np.asarray(self.experts.log_volume(draws) + self.gate.log_volume(draws["gate"]))
