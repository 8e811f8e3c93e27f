"""Standard coordinates of a mixture and of the prior precisions that it learns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from scipy.linalg import block_diag

from bayesvb.experts.linear import LinearStats
from bayesvb.linear.quadratic_forms import Forms
from bayesvb.models.term_scales import ScaleCoordinates
from bayesvb.numerics.array_library import namespace
from bayesvb.numerics.arrays import BlockVector, DrawCoordinates, DrawVector, EntryVector
from bayesvb.variational.coordinates import AbstractCoordinates, JoinedCoordinates
from bayesvb.variational.local import Draws

SCALE_DRAWS = (
    "term_precision",
    "common_precision",
    "sigma_term_precision",
    "gate_term_precision",
)
"""Names of draws of the precisions: of the experts' coefficients, or of their differences between
components; of coefficients that components share; of the coefficients of a further part of the
experts, ``sigma`` or ``zero``; of the gate's coefficients."""


@dataclass(frozen=True)
class ScaledCoordinates(AbstractCoordinates):
    """Standard coordinates of the mixture, then of the prior precisions.

    Attributes
    ----------
    mixture : JoinedCoordinates
    scales : ScaleCoordinates
        Of the precisions that are drawn.
    squares, precision : ndarray, shape (blocks,)
        Expected sums of squares of the coefficients of each block, and expected precisions.
    drawn : ndarray of bool, shape (blocks,)
        Blocks whose precisions are drawn.
    sizes : tuple of int
        Numbers of drawn precisions by name.
    """

    mixture: JoinedCoordinates
    scales: ScaleCoordinates
    squares: BlockVector
    precision: BlockVector
    drawn: Bool[np.ndarray, " blocks"]
    sizes: tuple[int, ...]

    @property
    def size(self) -> int:
        """Coordinates of the mixture, and one of each drawn precision."""
        return self.mixture.size + int(self.drawn.sum())

    def _tilts(self) -> Float[np.ndarray, "drawn blocks"]:
        """Change of the sums of squares by a unit perturbation of each drawn precision."""
        tilts = np.zeros((int(self.drawn.sum()), len(self.drawn)))
        tilts[:, self.drawn] = np.diag(self.scales.tilts())
        return tilts

    def along_scales(
        self, moved: LinearStats, variance: BlockVector
    ) -> Float[np.ndarray, "coordinates directions"]:
        """Covariances of the coordinates with sums of squares of all blocks, then with precisions.

        Parameters
        ----------
        moved : LinearStats
            Covariances of the experts' expectations with each sum of squares.
        variance : ndarray, shape (blocks,)
            Of ``-lambda / 2``.
        """
        experts: Any = self.mixture.first
        linear = [part.reshape(len(variance), -1) for part in (moved.xy, moved.yy)]
        of_squares = experts.touched() @ np.concatenate(linear, axis=1).T
        between = np.zeros((self.mixture.size - experts.size, 0))
        return np.asarray(block_diag(of_squares, between, self._tilts() * variance))

    def expectations(self) -> EntryVector:
        """Expectations of the mixture, ``-sum E[tau b^2] / 2`` and ``-E[lambda] / 2``."""
        of_scales = (-0.5 * self.squares, -0.5 * self.precision)
        return np.concatenate([self.mixture.expectations(), *of_scales])

    def centre_slopes(
        self, change: Float[np.ndarray, "changes entries"]
    ) -> Float[np.ndarray, "changes coordinates"] | None:
        """Slopes of the mixture, and of ``log lambda``, whose shapes are fixed."""
        n_blocks = len(self.squares)
        mixture = self.mixture.centre_slopes(change[:, : -2 * n_blocks])
        if mixture is None:
            return None
        return np.concatenate([mixture, change[:, -n_blocks:] @ self._log_slopes], axis=1)

    @property
    def _log_slopes(self) -> Float[np.ndarray, "blocks drawn"]:
        """Changes of the coordinates of drawn precisions with ``-E[lambda] / 2`` of all blocks."""
        slopes = -2.0 / (self.scales.posterior.mean * self.scales.spread)
        return np.asarray(np.eye(len(self.drawn))[:, self.drawn] * slopes)

    def stand_ins(
        self, parts: Sequence[Forms], scale: BlockVector
    ) -> Float[np.ndarray, "coordinates variables"]:
        """Stand-ins of the mixture and of the drawn precisions."""
        return np.asarray(block_diag(self.mixture.stand_ins(parts, scale), self._tilts() * scale))

    def centre_by_variables(
        self, parts: Sequence[Forms], scale: BlockVector
    ) -> Float[np.ndarray, "coordinates variables"]:
        """Changes of the mixture and of the logarithms of the drawn precisions."""
        slopes = self._log_slopes.T * scale
        return np.asarray(block_diag(self.mixture.centre_by_variables(parts, scale), slopes))

    def perturbations(self) -> Float[np.ndarray, "coordinates entries"]:
        """Perturbations of the mixture change its statistics; of a precision, its squares."""
        n_blocks = len(self.squares)
        whole = block_diag(self.mixture.perturbations(), np.empty((0, n_blocks)), self._tilts())
        return np.asarray(whole)

    def uncoupled(self) -> ScaledCoordinates:
        """Coordinates of the mixture for small deviations."""
        return replace(self, mixture=self.mixture.uncoupled())

    def standard(self, draws: Draws) -> DrawCoordinates:
        scales = self.scales.standard(np.asarray(joined(draws)))
        return np.concatenate([self.mixture.standard(draws), scales], axis=1)

    def parameters(self, standard: DrawCoordinates) -> Draws:
        first = self.mixture.size
        mixture = self.mixture.parameters(standard[:, :first])
        scales = self.scales.parameters(standard[:, first:])
        return {**mixture, **parted(scales, self.sizes)}

    def log_volume(self, draws: Draws) -> DrawVector:
        """Log volume of the mixture, and ``sum log lambda``."""
        logs = np.log(np.asarray(joined(draws))).sum(axis=1)
        return np.asarray(self.mixture.log_volume(draws) + logs)


def joined(draws: Draws) -> Float[np.ndarray, "draws blocks"]:
    """Drawn precisions of all terms, the experts' first."""
    arrays = [draws[name] for name in SCALE_DRAWS if name in draws]
    whole: Float[np.ndarray, "draws blocks"] = namespace(arrays[0]).concatenate(arrays, axis=1)
    return whole


def parted(
    scales: Float[np.ndarray, "draws blocks"], sizes: Sequence[int]
) -> dict[str, Float[np.ndarray, "draws _"]]:
    """Drawn precisions by name, where there are any."""
    each = np.split(scales, np.cumsum(sizes)[:-1], axis=1)
    pairs = zip(SCALE_DRAWS, each, strict=True)
    return {name: values for name, values in pairs if values.shape[1]}
