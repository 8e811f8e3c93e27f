"""Directions in which rows bend the bound: their features, in the entries of each scalar."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import csr_array

from bayesvb.numerics.arrays import RowVector
from bayesvb.variational.row_derivatives import RowScalars


@dataclass(frozen=True)
class Directions:
    """Features of which each row's features are sums: different ones, or single ones if fewer.

    Attributes
    ----------
    scalars : RowScalars
        Of the rows.
    features : ndarray, shape (features, different)
    coordinates : scipy.sparse.csr_array, shape (rows, different)
        The sum that each row is.
    """

    scalars: RowScalars
    features: Float[np.ndarray, "features different"]
    coordinates: csr_array

    @classmethod
    def of(cls, scalars: RowScalars) -> Directions:
        """Directions of rows with these scalars."""
        features, number = np.unique(scalars.features, axis=1, return_inverse=True)
        if features.shape[1] > len(features):
            return cls(scalars, np.eye(len(features)), csr_array(scalars.features.T))
        every = np.arange(number.size + 1)
        shape = (number.size, features.shape[1])
        numbers = csr_array((np.ones(number.size), number.reshape(-1), every), shape=shape)
        return cls(scalars, features, numbers)

    @property
    def size(self) -> int:
        """Number of directions: of each scalar each of the features."""
        return int(len(self.scalars.entries) * self.features.shape[1])

    def summed(self, value: RowVector, other: Directions) -> Float[np.ndarray, "different others"]:
        """Sum over rows of these values times products of both coordinates."""
        total = self.coordinates.T.multiply(value).tocsr() @ other.coordinates
        return np.asarray(total.toarray())


@dataclass(frozen=True)
class RowDirections:
    """Columns of a matrix ``B`` of few different numbers: features of rows, and single entries.

    Attributes
    ----------
    each : tuple of Directions
        Of each group of scalars.
    single : ndarray, shape (single,)
        Entries that are directions by themselves; they come last.
    n_entries : int
    """

    each: tuple[Directions, ...]
    single: Int[np.ndarray, " single"]
    n_entries: int

    @cached_property
    def places(self) -> list[list[Int[np.ndarray, " _"]]]:
        """Numbers of the directions of each scalar, by group."""
        places, first = [], 0
        for one in self.each:
            different = np.arange(one.size).reshape(len(one.scalars.entries), -1)
            places.append(list(first + different))
            first += one.size
        return places

    @property
    def size(self) -> int:
        """Number of directions."""
        return sum(one.size for one in self.each) + len(self.single)

    def scalars(self) -> Iterator[tuple[Directions, Int[np.ndarray, " _"], Int[np.ndarray, " _"]]]:
        """Iterate over the scalars: group, entries, and numbers of the directions of each."""
        for one, places in zip(self.each, self.places, strict=True):
            yield from ((one, *both) for both in zip(one.scalars.entries, places, strict=True))

    def present(self) -> Bool[np.ndarray, " entries"]:
        """Entries in which some direction is not zero."""
        mask = np.zeros(self.n_entries, dtype=bool)
        mask[self.single] = True
        for one, entries, _ in self.scalars():
            mask[entries] |= one.features.any(axis=1)
        return mask

    def products(
        self, vectors: Float[np.ndarray, "vectors entries"]
    ) -> Float[np.ndarray, "vectors directions"]:
        """``B' v`` of each of these."""
        products = np.zeros((len(vectors), self.size))
        for one, entries, places in self.scalars():
            if (part := vectors[:, entries]).any():
                products[:, places] = part @ one.features
        products[:, self.size - len(self.single) :] = vectors[:, self.single]
        return products

    def combined(
        self, shares: Float[np.ndarray, "vectors directions"]
    ) -> Float[np.ndarray, "vectors entries"]:
        """``B c`` of each of these."""
        total = np.zeros((len(shares), self.n_entries))
        for one, entries, places in self.scalars():
            total[:, entries] = shares[:, places] @ one.features.T
        total[:, self.single] += shares[:, self.size - len(self.single) :]
        return total
