"""Rows of groups: the group of each row, and the values that the effects of its group multiply."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int


@dataclass(frozen=True)
class GroupRows:
    """The groups of some rows.

    Attributes
    ----------
    place : ndarray of int, shape (rows,)
        Number of each row's group.
    values : ndarray, shape (effects, rows)
        Values that the effects of its group are multiplied by.
    """

    place: Int[np.ndarray, " rows"]
    values: Float[np.ndarray, "effects rows"]

    @classmethod
    def from_matrix(cls, matrix: Float[np.ndarray, "_ rows"]) -> GroupRows:
        """Groups of a design whose first row holds their numbers, the others the values."""
        return cls(np.rint(matrix[0]).astype(np.int64), matrix[1:])

    def at_rows(self, values: Float[np.ndarray, "*axes groups"]) -> Float[np.ndarray, "*axes rows"]:
        """Return for each row the value of its group."""
        return np.asarray(np.take(values, self.place, axis=-1))

    def linear(
        self, effects: Float[np.ndarray, "*axes effects groups"]
    ) -> Float[np.ndarray, "*axes rows"]:
        """Return for each row its values times the effects of its group."""
        total: Float[np.ndarray, "*axes rows"]
        if not len(self.values):
            return np.zeros((*effects.shape[:-2], len(self.place)))
        total = self.at_rows(effects[..., 0, :]) * self.values[0]
        for j in range(1, len(self.values)):
            total += self.at_rows(effects[..., j, :]) * self.values[j]
        return total

    def sums(
        self, values: Float[np.ndarray, "*axes rows"], n_groups: int
    ) -> Float[np.ndarray, "*axes groups"]:
        """Sum values over the rows of each group."""
        sums = np.empty((*values.shape[:-1], n_groups))
        for axes in np.ndindex(*values.shape[:-1]):
            sums[axes] = np.bincount(self.place, values[axes], n_groups)
        return sums
