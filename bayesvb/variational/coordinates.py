"""Standard coordinates of a posterior: mean zero, variance one and uncorrelated under it."""

from __future__ import annotations

import abc
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.linalg import block_diag

from bayesvb.linear.quadratic_forms import Forms
from bayesvb.numerics.arrays import BlockVector, DrawCoordinates, DrawVector, EntryVector, Floats


class AbstractStandardCoordinates(abc.ABC):
    """Standard coordinates of some parameters, and draws in which these have been moved."""

    @abc.abstractmethod
    def standard(self, draws: Any) -> DrawCoordinates:
        """Coordinates of draws of the parameters."""

    @abc.abstractmethod
    def moved(self, draws: Any, root: Float[np.ndarray, "coordinates coordinates"]) -> Any:
        """The draws at their coordinates times the root of a covariance."""

    @abc.abstractmethod
    def log_volume(self, draws: Any) -> DrawVector:
        """Log determinant of ``d parameters / d coordinates``, up to a constant."""


class AbstractCoordinates(AbstractStandardCoordinates):
    """One-to-one map between the parameters of a posterior and standard coordinates.

    Every coordinate has a stand-in ``h`` that is linear in the sufficient statistics of the
    posterior: to tilt the posterior by ``exp(t h)`` is to add ``t`` times a record to these.
    """

    def centre_slopes(
        self, change: Float[np.ndarray, "changes entries"]
    ) -> Float[np.ndarray, "changes coordinates"] | None:
        """Changes of the centre with small changes of the expectations; None if not at hand."""
        return None

    @abc.abstractmethod
    def expectations(self) -> EntryVector:
        """Expected sufficient statistics: the multiplier of each statistic."""

    @abc.abstractmethod
    def perturbations(self) -> Float[np.ndarray, "coordinates entries"]:
        """Change of the statistics by a unit perturbation of each coordinate, as vectors.

        The stand-ins are uncorrelated under the posterior and have variance one, but for a small
        correlation of the noise with coefficients that components share.
        """

    def linear_perturbations(self) -> Float[np.ndarray, "coordinates vectors entries"]:
        """``perturbations`` of the statistics that are linear in each vector of coefficients.

        Of a part whose ``forms`` are known; they are zero in the other statistics.
        """
        raise NotImplementedError(f"{type(self).__name__} has no forms")

    def centre_along(
        self, change: Float[np.ndarray, "changes vectors entries"]
    ) -> Float[np.ndarray, "changes coordinates"]:
        """``centre_slopes`` for the expectations of the statistics of each vector.

        Of a part whose ``forms`` are known; the centre does not depend on the other expectations.
        """
        raise NotImplementedError(f"{type(self).__name__} has no forms")

    def stand_ins(
        self, parts: Sequence[Forms], scale: BlockVector
    ) -> Float[np.ndarray, "coordinates variables"]:
        """Combinations of variables that the stand-ins are, of a model with ``row_forms``."""
        raise NotImplementedError(f"{type(self).__name__} has no forms")

    def centre_by_variables(
        self, parts: Sequence[Forms], scale: BlockVector
    ) -> Float[np.ndarray, "coordinates variables"]:
        """Changes of the centre with the expected variables, of a model with ``row_forms``."""
        raise NotImplementedError(f"{type(self).__name__} has no forms")

    @abc.abstractmethod
    def parameters(self, standard: DrawCoordinates) -> Any:
        """Draws of the parameters at these coordinates."""

    @property
    def size(self) -> int:
        """Number of coordinates: by default the number of perturbations."""
        return len(self.perturbations())

    def uncoupled(self) -> AbstractCoordinates:
        """Coordinates for small deviations, each normal with many rows.

        Themselves, unless the scale of one parameter depends on another.
        """
        return self

    def moved(self, draws: object, root: Float[np.ndarray, "coordinates coordinates"]) -> object:
        """The draws at their coordinates times the root of a covariance.

        Quantities that do not depend on the coordinates stay unchanged.
        """
        parameters = self.parameters(self.standard(draws) @ root)
        return {**draws, **parameters} if isinstance(draws, Mapping) else parameters


@dataclass(frozen=True)
class JoinedCoordinates(AbstractCoordinates):
    """Standard coordinates of named draws, then of an array among them.

    Of the experts and the gate of a mixture; of lines and the coefficients of their spread.

    Attributes
    ----------
    first : AbstractCoordinates
        Of draws by name.
    second : AbstractCoordinates
        Of an array.
    name : str
        Name of the array in the draws.
    """

    first: AbstractCoordinates
    second: AbstractCoordinates
    name: str = "gate"

    @property
    def size(self) -> int:
        """Coordinates of both."""
        return self.first.size + self.second.size

    def expectations(self) -> EntryVector:
        """Expectations of the first, then of the second."""
        return np.concatenate([self.first.expectations(), self.second.expectations()])

    def centre_slopes(
        self, change: Float[np.ndarray, "changes entries"]
    ) -> Float[np.ndarray, "changes coordinates"] | None:
        """Slopes of the first, then of the second; None if one has none."""
        n_first = len(self.first.expectations())
        first = self.first.centre_slopes(change[:, :n_first])
        second = self.second.centre_slopes(change[:, n_first:])
        return None if first is None or second is None else np.concatenate([first, second], axis=1)

    def stand_ins(
        self, parts: Sequence[Forms], scale: BlockVector
    ) -> Float[np.ndarray, "coordinates variables"]:
        """Stand-ins of the first and of the second."""
        each = [
            np.tensordot(one.linear_perturbations(), forms.statistics(), axes=2)
            for one, forms in zip((self.first, self.second), parts, strict=True)
        ]
        return np.asarray(block_diag(*each))

    def centre_by_variables(
        self, parts: Sequence[Forms], scale: BlockVector
    ) -> Float[np.ndarray, "coordinates variables"]:
        """Changes of the first and of the second."""
        each = [
            one.centre_along(np.moveaxis(forms.statistics(), -1, 0)).T
            for one, forms in zip((self.first, self.second), parts, strict=True)
        ]
        return np.asarray(block_diag(*each))

    def perturbations(self) -> Float[np.ndarray, "coordinates entries"]:
        """Tilts of each touch its own statistics only."""
        return np.asarray(block_diag(self.first.perturbations(), self.second.perturbations()))

    def uncoupled(self) -> JoinedCoordinates:
        """Coordinates of both for small deviations."""
        return JoinedCoordinates(self.first.uncoupled(), self.second.uncoupled(), self.name)

    def standard(self, draws: Any) -> DrawCoordinates:
        parts = [self.first.standard(draws), self.second.standard(draws[self.name])]
        return np.concatenate(parts, axis=1)

    def parameters(self, standard: DrawCoordinates) -> Any:
        first, second = np.split(standard, [self.first.size], axis=1)
        return {**self.first.parameters(first), self.name: self.second.parameters(second)}

    def log_volume(self, draws: Any) -> DrawVector:
        """Sum of both."""
        second = self.second.log_volume(draws[self.name])
        return np.asarray(self.first.log_volume(draws) + second)


def perturbation_rows(
    *leaves: Float[np.ndarray, "coordinates ..."],
) -> Float[np.ndarray, "coordinates entries"]:
    """Perturbations from one array for each leaf, in the order of ``to_vector``."""
    rows = [leaf.reshape(len(leaf), math.prod(leaf.shape[1:])) for leaf in leaves]
    return np.concatenate(rows, axis=1)


def entries(*leaves: Floats) -> EntryVector:
    """Expectations from one array for each leaf of the statistics."""
    return np.concatenate([np.ravel(leaf) for leaf in leaves])


class NoCoordinates(AbstractCoordinates):
    """Coordinates of a part without parameters: there are none, and no statistics."""

    def expectations(self) -> Float[np.ndarray, " 0"]:
        """No expectations."""
        return np.empty(0)

    def perturbations(self) -> Float[np.ndarray, "0 0"]:
        """No perturbations."""
        return np.empty((0, 0))

    def standard(self, draws: Float[np.ndarray, "draws 0"]) -> Float[np.ndarray, "draws 0"]:
        """The draws, which have no entries."""
        return draws

    def parameters(self, standard: Float[np.ndarray, "draws 0"]) -> Float[np.ndarray, "draws 0"]:
        """The coordinates, which have no entries."""
        return standard

    def log_volume(self, draws: Float[np.ndarray, "draws 0"]) -> DrawVector:
        """Zero: of an empty matrix."""
        return np.zeros(len(draws))
