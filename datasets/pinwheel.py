"""The pinwheel: classes that are Gaussian clouds bent into the arms of a spiral."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.errors import DataError

from .designs import AbstractClassSimulation, read_columns

__all__ = ["Pinwheel"]

_HALVINGS = 60
# Points of one cloud that map to the same place, at most: far beyond what a sample can reach.
_MOST_WINDINGS = 500


@dataclass(frozen=True)
class Pinwheel(AbstractClassSimulation):
    """Pinwheel in the plane, x = 10 R(2πc/C + rate · exp f₁) f.

    A point of class c has radial part f₁ ~ N(1, radial²) and tangential part f₂ ~ N(0,
    tangential²); R(angle) rotates anticlockwise. Classes are equally likely.

    Parameters
    ----------
    classes : int
        Number of arms C.
    radial, tangential : float
        Standard deviations along and across an arm, before bending.
    rate : float
        How strongly the arms bend.

    References
    ----------
    Johnson, Duvenaud, Wiltschko, Datta and Adams (2016), Composing graphical models with
    neural networks for structured representations and fast inference, arXiv:1603.06277.

    Examples
    --------
    >>> from bayesvb.datasets import SIMULATIONS, load
    >>> frame = load("pinwheel", n=4, seed=1)
    >>> SIMULATIONS["pinwheel"].probabilities(frame).shape
    (4, 5)
    """

    classes: int = 5
    radial: float = 0.7
    tangential: float = 0.3
    rate: float = 0.2

    def __post_init__(self) -> None:
        """Refuse shapes that are no pinwheel."""
        for name in ("classes", "radial", "tangential", "rate"):
            if not getattr(self, name) > 0:
                raise DataError(f"{name} = {getattr(self, name)} must be positive")

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(str(c) for c in range(self.classes))

    @property
    def _turns(self) -> Float[np.ndarray, " classes"]:
        """Angle of each arm."""
        return 2 * np.pi * np.arange(self.classes) / self.classes

    def sample(self, n: int, rng: np.random.Generator) -> pd.DataFrame:
        code = rng.integers(self.classes, size=n)
        f = rng.standard_normal((2, n)) * [[self.radial], [self.tangential]] + [[1.0], [0.0]]
        angle = self._turns[code] + self.rate * np.exp(f[0])
        cos, sin = np.cos(angle), np.sin(angle)
        x = 10 * np.stack([f[0] * cos - f[1] * sin, f[0] * sin + f[1] * cos], axis=1)
        return self.labelled(x, code)

    def log_class_densities(self, frame: pd.DataFrame) -> Float[np.ndarray, "rows classes"]:
        """Log density of each row's point in each class.

        In polar coordinates the bending keeps the radius r and takes the angle a of f to
        h(a) = a + rate · exp(r cos a), with derivative 1 − rate · f₂ exp f₁. It is not one to one
        where that is negative, so the density is a sum over all angles that lead to the point.

        Raises
        ------
        DataError
            If a column is missing, or a point lies far beyond the reach of the arms.
        """
        x = read_columns(frame, ("x1", "x2")) / 10
        radius = np.hypot(x[:, 0], x[:, 1])
        windings = self.rate * np.exp(np.minimum(radius, 700.0)) / np.pi
        if (windings > _MOST_WINDINGS).any():
            raise DataError(
                f"a point lies {10 * radius.max():.4g} from the centre, beyond all arms",
                hint=f"stay within {10 * np.log(np.pi * _MOST_WINDINGS / self.rate):.3g}",
            )
        target = np.arctan2(x[:, 1], x[:, 0])[:, None] - self._turns
        flat = self._log_density_at(np.repeat(radius, self.classes), target.ravel())
        return np.asarray(flat.reshape(target.shape) - np.log(100))

    def _log_density_at(
        self, radius: Float[np.ndarray, " points"], target: Float[np.ndarray, " points"]
    ) -> Float[np.ndarray, " points"]:
        """Log density of f bent by an unrotated arm, at polar coordinates (radius, target)."""
        rise, fall = self._turning_angles(radius)
        top, bottom = self._bend(rise, radius), self._bend(fall, radius)
        total = np.full(radius.shape, -np.inf)
        # h climbs from fall − 2π to rise, and descends from rise to fall (an empty stretch
        # where h is monotone).
        for start, end, low, high in (
            (fall - 2 * np.pi, rise, bottom - 2 * np.pi, top),
            (fall, rise, bottom, top),
        ):
            first = np.floor((low - target) / (2 * np.pi)) + 1
            count = np.floor((high - target) / (2 * np.pi)) - first + 1
            for turn in range(int(count.max(initial=0))):
                at = np.flatnonzero(turn < count)
                level = target[at] + 2 * np.pi * (first[at] + turn)
                angle = self._unbend(level, radius[at], start[at], end[at])
                total[at] = np.logaddexp(total[at], self._log_branch(angle, radius[at]))
        return total

    def _bend(
        self, angle: Float[np.ndarray, " points"], radius: Float[np.ndarray, " points"]
    ) -> Float[np.ndarray, " points"]:
        """Angle after bending, h(a) = a + rate · exp(r cos a)."""
        return np.asarray(angle + self.rate * np.exp(radius * np.cos(angle)))

    def _unbend(
        self,
        level: Float[np.ndarray, " points"],
        radius: Float[np.ndarray, " points"],
        start: Float[np.ndarray, " points"],
        end: Float[np.ndarray, " points"],
    ) -> Float[np.ndarray, " points"]:
        """Angle between start and end, where h rises from one to the other, with h(a) = level."""
        return _root(lambda a: self._bend(a, radius) - level, start, end)

    def _turning_angles(
        self, radius: Float[np.ndarray, " points"]
    ) -> tuple[Float[np.ndarray, " points"], Float[np.ndarray, " points"]]:
        """Angles in (0, π) where h turns down and up again; equal where h is monotone.

        r sin a · exp(r cos a) has one maximum in (0, π), where cos a = r sin² a; h′ vanishes where
        it equals 1 / rate, on either side of that maximum.
        """

        def descent(a: Float[np.ndarray, " points"]) -> Float[np.ndarray, " points"]:
            return np.asarray(self.rate * radius * np.sin(a) * np.exp(radius * np.cos(a)) - 1)

        steepest = np.arccos(2 * radius / (1 + np.sqrt(1 + 4 * radius**2)))
        zero, half = np.zeros_like(radius), np.full_like(radius, np.pi)
        return _root(descent, zero, steepest), _root(descent, half, steepest)

    def _log_branch(
        self, angle: Float[np.ndarray, " points"], radius: Float[np.ndarray, " points"]
    ) -> Float[np.ndarray, " points"]:
        """Log density of f at (radius, angle), over the stretching of the angle."""
        f1, f2 = radius * np.cos(angle), radius * np.sin(angle)
        quadratic = ((f1 - 1) / self.radial) ** 2 + (f2 / self.tangential) ** 2
        stretch = np.abs(1 - self.rate * f2 * np.exp(f1))
        normaliser = np.log(2 * np.pi * self.radial * self.tangential)
        return np.asarray(-0.5 * quadratic - normaliser - np.log(stretch))


def _root(
    rising: Callable[[np.ndarray], np.ndarray],
    start: Float[np.ndarray, " points"],
    end: Float[np.ndarray, " points"],
) -> Float[np.ndarray, " points"]:
    """Zero of a function that rises on the way from start to end (which may lie below it)."""
    for _ in range(_HALVINGS):
        middle = 0.5 * (start + end)
        beyond = rising(middle) > 0
        start, end = np.where(beyond, start, middle), np.where(beyond, middle, end)
    return np.asarray(0.5 * (start + end))
