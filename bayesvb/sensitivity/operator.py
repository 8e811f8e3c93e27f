"""Operations with the derivative of one undamped iteration, from statistics to statistics."""

from __future__ import annotations

import abc
from collections.abc import Callable
from contextlib import suppress

import numpy as np
from jaxtyping import Bool, Float, Int

from bayesvb.data.statistics import SufficientStats
from bayesvb.errors import DataError
from bayesvb.numerics.arrays import DirectionEntries, EntryVector
from bayesvb.numerics.pieces import AT_ONCE, pieces
from bayesvb.variational.model import AnyModel

STEP = 1e-5
"""Step of differences, relative to an entry and at least one: errors of its square."""


class AbstractSensitivity(abc.ABC):
    """Derivative ``F'`` of a pass in the statistics.

    Attributes
    ----------
    answering : ndarray, shape (entries,)
        Entries of the next statistics that answer to these at all.
    """

    answering: Bool[np.ndarray, " entries"]

    @property
    def n_entries(self) -> int:
        """Length of the vectors of statistics."""
        return len(self.answering)

    @abc.abstractmethod
    def solve(
        self, added: Float[np.ndarray, "groups entries"]
    ) -> Float[np.ndarray, "groups entries"]:
        """``(I - F')^-1`` times an external change of the statistics."""

    @abc.abstractmethod
    def solve_transposed(
        self, slopes: Float[np.ndarray, "values entries"]
    ) -> Float[np.ndarray, "values entries"]:
        """Slopes in an external change of the statistics, from slopes in the statistics.

        Their products with the change equal the products of ``slopes`` with ``solve`` of the
        change.
        """

    @abc.abstractmethod
    def whole(self) -> Float[np.ndarray, "entries entries"]:
        """Derivative as a matrix."""


class AbstractAppliedSensitivity(AbstractSensitivity):
    """Derivative that is applied, never made: the statistics are too many for a matrix in all.

    Attributes
    ----------
    metric_of : callable
        ``V`` times each of some directions.
    """

    metric_of: Callable[
        [Float[np.ndarray, "vectors entries"]], Float[np.ndarray, "vectors entries"]
    ]


def no_maximum() -> DataError:
    """Error of solvers that need a concave ELBO."""
    return DataError(
        "the fit is not at a maximum of its ELBO: the indirect effect of other rows is not defined",
        hint="fit with a smaller tol, or with fewer components",
    )


def expectations_along(
    model: AnyModel, stats: SufficientStats, posterior: object, directions: DirectionEntries
) -> DirectionEntries | None:
    """Derivatives of the expectations along directions; None where they have no closed form."""
    expectations = [directions[:0]]
    for some in pieces(len(directions), directions.shape[1], AT_ONCE):
        change = stats.with_vector(directions[some])
        moved = model.expectations_along(posterior, change)
        if moved is None:
            return None
        expectations.append(moved.to_vectors())
    return np.concatenate(expectations)


def changes_along(
    model: AnyModel, stats: SufficientStats, directions: DirectionEntries
) -> DirectionEntries:
    """Changes of the expectations, by small differences if no closed form is known."""
    known = expectations_along(model, stats, model.update(stats), directions)
    if known is not None:
        return known
    size, changes = np.maximum(np.abs(stats.to_vector()), 1.0), np.empty_like(directions)
    for number, direction in enumerate(directions):
        step = STEP / float((np.abs(direction) / size).max())
        changes[number] = change_along(model, stats, step * direction) / step
    return changes


def units(entries: Int[np.ndarray, " some"], size: int) -> Float[np.ndarray, "some size"]:
    """Directions that are one in one entry, zero in the others."""
    vectors = np.zeros((len(entries), size))
    vectors[np.arange(len(entries)), entries] = 1.0
    return vectors


def change_along(model: AnyModel, stats: SufficientStats, step: EntryVector) -> EntryVector:
    """Change of the expectations along a step, from both sides of it."""
    centre = stats.to_vector()

    def at(side: float) -> EntryVector:
        return model.expectations(model.update(stats.with_vector(centre + side * step)))

    return difference(at, centre.size)


def difference(function: Callable[[float], EntryVector], size: int) -> EntryVector:
    """Change of a function of ``size`` numbers from zero to one, by both sides of zero.

    From one side where the other is of no data, as next to a statistic that is zero; none where
    both are.
    """
    sides = []
    for side in (1.0, -1.0, 0.0):
        with suppress(np.linalg.LinAlgError):
            sides.append((side, function(side)))
        if len(sides) == 2:
            (first, ahead), (second, behind) = sides
            return np.asarray((ahead - behind) / (first - second))
    return np.zeros(size)
