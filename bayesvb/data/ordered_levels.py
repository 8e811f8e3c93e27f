"""Levels of an ordered response: their labels, and the numbers that stand for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from bayesvb.data.labels import match_labels
from bayesvb.errors import DataError
from bayesvb.numerics.array_library import namespace
from bayesvb.numerics.arrays import SameShape


@dataclass(frozen=True)
class OrderedLevels:
    """Levels from the lowest to the highest.

    Attributes
    ----------
    values : tuple
        Levels as the data hold them: text or whole numbers.

    Examples
    --------
    >>> OrderedLevels(("low", "medium", "high")).numbers.tolist()
    [1.0, 2.0, 3.0]
    >>> OrderedLevels((3, 4, 6)).numbers.tolist()
    [3.0, 4.0, 6.0]
    """

    values: tuple[object, ...]

    def __len__(self) -> int:
        """Number of levels."""
        return len(self.values)

    @property
    def are_numbers(self) -> bool:
        """Whether the levels are whole numbers in ascending order, which stand for themselves."""
        if not all(isinstance(value, int | float) for value in self.values):
            return False
        return bool((np.diff(np.asarray(self.values, dtype=float)) > 0.0).all())

    @property
    def numbers(self) -> Float[np.ndarray, " levels"]:
        """The levels themselves where they are numbers; 1, 2, ... elsewhere."""
        values = self.values if self.are_numbers else range(1, len(self) + 1)
        return np.asarray(values, dtype=float)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the levels."""
        return tuple(
            f"{value:g}" if isinstance(value, float) else str(value) for value in self.values
        )

    def places(self, numbers: Float[np.ndarray, "*rows"]) -> Int[np.ndarray, "*rows"]:
        """Position of the level of each number, from 0, in NumPy or JAX."""
        xp = namespace(numbers)
        places: Int[np.ndarray, "*rows"] = xp.searchsorted(xp.asarray(self.numbers), numbers)
        return places

    def drawn(
        self,
        masses: Float[np.ndarray, "draws experts rows levels"],
        chosen: Int[np.ndarray, "draws rows"],
        rng: np.random.Generator,
    ) -> Float[np.ndarray, "draws 1 rows"]:
        """Number of one level per draw and row, from the probabilities of the chosen expert."""
        chosen_masses = np.take_along_axis(masses, chosen[:, None, :, None], axis=1)[:, 0]
        below = np.cumsum(chosen_masses, axis=-1)[..., :-1]
        passed = (rng.random(chosen.shape)[..., None] > below).sum(axis=-1)
        return np.asarray(self.numbers[passed[:, None]])

    def labels_at(self, numbers: Sequence[float]) -> list[object]:
        """Levels that these numbers stand for, as the data hold them."""
        return [self.values[place] for place in self.places(np.asarray(numbers, dtype=float))]

    def numbers_of(self, name: str, values: object) -> SameShape:
        """Numbers of one level or of several.

        Raises
        ------
        DataError
            If a value is not a level.
        """
        given = np.asarray(values, dtype=object)
        known = pd.Index(list(self.values))
        places = match_labels(pd.Index(given.ravel()).infer_objects(), known, name)
        if (places < 0).any():
            strange = given.ravel()[int((places < 0).argmax())]
            raise DataError(
                f"{name}={strange!r} is not a level of the response",
                hint=f"the levels are {', '.join(map(repr, self.values))}",
            )
        return np.asarray(self.numbers[places]).reshape(given.shape)


UNORDERED = OrderedLevels(())
"""Levels of a response that has none."""
