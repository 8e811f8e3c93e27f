"""Mixtures over ordered levels: predictive distributions, and distributions given draws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bayesvb.data.ordered_levels import OrderedLevels
from bayesvb.distributions.base import (
    AbstractDiscreteMixture,
    AbstractDrawnMixture,
    check_probabilities,
)
from bayesvb.numerics.arrays import (
    DrawRows,
    ExpertRows,
    ExpertValues,
    Floats,
    PointRows,
    PointVector,
    ProbVector,
    RowVector,
)
from bayesvb.numerics.special import ROUNDING


@dataclass(frozen=True)
class OrdinalMixture(AbstractDiscreteMixture):
    """Predictive distribution of ordered levels, for which numbers stand.

    Attributes
    ----------
    weights : ndarray, shape (experts, rows)
    masses : ndarray, shape (experts, rows, levels)
        Probability of each level under each component.
    order : OrderedLevels
    """

    values = "levels"

    weights: ExpertRows
    masses: Float[np.ndarray, "experts rows levels"]
    order: OrderedLevels

    @property
    def levels(self) -> Float[np.ndarray, "rows levels"]:
        """Probability of each level in each row."""
        return np.asarray((self.weights[..., None] * self.masses).sum(axis=0))

    def mean(self) -> RowVector:
        """Mean number of the level."""
        return np.asarray(self.levels @ self.order.numbers)

    def sd(self) -> RowVector:
        """Standard deviation of the number of the level."""
        return _deviations(self.order.numbers, self.levels)

    def component_log_density(self, y: RowVector) -> ExpertRows:
        with np.errstate(divide="ignore"):
            return np.asarray(
                np.log(np.stack([_at(self.order.numbers, each, y) for each in self.masses]))
            )

    def log_density(self, y: RowVector) -> RowVector:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(_at(self.order.numbers, self.levels, y)))

    def density_at(self, points: PointVector) -> PointRows:
        return _at(self.order.numbers, self.levels, points[:, None])

    def cdf(self, y: RowVector) -> RowVector:
        """Probability of a level up to ``y``, each row at its own point."""
        return _up_to(self.order.numbers, self.levels, y)

    def cdf_at(self, points: PointVector) -> PointRows:
        """Probability of a level up to each of the same points, for every row."""
        return _up_to(self.order.numbers, self.levels, points[:, None])

    def quantile(self, q: ProbVector) -> Float[np.ndarray, "probs rows"]:
        """Smallest level whose distribution function is at least ``q``."""
        check_probabilities(q)
        return _smallest(self.order.numbers, self.levels, q[:, None])

    def draws(self, n: int, rng: np.random.Generator) -> DrawRows:
        levels = self.levels
        return _smallest(self.order.numbers, levels, rng.random((n, len(levels))))


@dataclass(frozen=True)
class DrawnOrdinalMixture(AbstractDrawnMixture):
    """Mixtures over ordered levels for every draw and row.

    Attributes
    ----------
    weights : ndarray, shape (experts, draws, rows)
    masses : ndarray, shape (experts, draws, rows, levels)
    order : OrderedLevels
    """

    weights: ExpertValues
    masses: ExpertValues
    order: OrderedLevels

    @property
    def levels(self) -> Float[np.ndarray, "... levels"]:
        """Probability of each level."""
        if len(self.masses) == 1:  # a sum would copy all of them
            return np.asarray(self.weights[0, ..., None] * self.masses[0])
        return np.asarray((self.weights[..., None] * self.masses).sum(axis=0))

    def mean(self) -> Floats:
        """Mean numbers of the level."""
        return np.asarray(self.levels @ self.order.numbers)

    def sd(self) -> Floats:
        """Standard deviations of the number of the level."""
        return _deviations(self.order.numbers, self.levels)

    def above(self, value: float) -> Floats:
        return 1.0 - _up_to(self.order.numbers, self.levels, np.asarray(value, dtype=float))

    def below(self, value: float | RowVector) -> Floats:
        return _up_to(self.order.numbers, self.levels, np.asarray(np.ceil(value) - 1.0))

    def density(self, value: float) -> Floats:
        """Probabilities of a level."""
        return _at(self.order.numbers, self.levels, np.asarray(value, dtype=float))

    def quantile(self, q: float) -> Floats:
        """Smallest level whose distribution function is at least ``q``."""
        check_probabilities(np.array([q]))
        return _smallest(self.order.numbers, self.levels, np.asarray(q))


Levels = Float[np.ndarray, "... levels"]


def _deviations(numbers: Floats, levels: Levels) -> Floats:
    """Standard deviations of the number of the level."""
    mean = levels @ numbers
    return np.asarray(np.sqrt(np.maximum(levels @ numbers**2 - mean**2, 0.0)))


def _places(levels: Levels, y: Floats) -> tuple[Floats, Floats]:
    """Points of each row, and cumulative probabilities with zero first."""
    below = np.cumsum(levels, axis=-1)
    below = np.concatenate([np.zeros_like(below[..., :1]), below], axis=-1)
    shape = np.broadcast_shapes(levels.shape[:-1], np.shape(y))
    whole = np.broadcast_to(below, (*shape, below.shape[-1]))
    return np.broadcast_to(y, shape), whole


def _at(numbers: Floats, levels: Levels, y: Floats) -> Floats:
    """Probability of a value; zero if it is not a level."""
    shape = np.broadcast_shapes(levels.shape[:-1], np.shape(y))
    points = np.broadcast_to(y, shape)
    place = np.minimum(np.searchsorted(numbers, points), len(numbers) - 1)
    whole = np.broadcast_to(levels, (*shape, len(numbers)))
    result = np.take_along_axis(whole, place[..., None], axis=-1)
    return np.where(numbers[place] == points, result[..., 0], 0.0)


def _up_to(numbers: Floats, levels: Levels, y: Floats) -> Floats:
    """Probability of values up to ``y``."""
    points, below = _places(levels, y)
    place = np.searchsorted(numbers, points, side="right")[..., None]
    return np.asarray(np.take_along_axis(below, place, axis=-1)[..., 0].clip(0.0, 1.0))


def _smallest(numbers: Floats, levels: Levels, q: Floats) -> Floats:
    """Smallest level up to which there is a probability of at least ``q``."""
    points, below = _places(levels, q)
    short = (below[..., 1:-1] < points[..., None] - ROUNDING).sum(axis=-1)
    return np.asarray(numbers[short])
