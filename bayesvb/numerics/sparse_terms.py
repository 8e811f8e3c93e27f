"""Sums over rows most of whose terms are zero, as indicators of groups and of levels are.

A row with ``s`` terms that are not zero has ``s^2`` products that are not, however many terms there
are. Terms that are hardly ever zero are one matrix; of the others each row has its few numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from jaxtyping import Float, Int

FEWEST_TERMS = 24
"""Terms from which zeros are looked for; with fewer, a matrix product is as fast."""

FEWEST_ROWS = 64
"""Rows from which zeros are looked for."""

SHARE = 0.125
"""A term that more of the rows have than these is no sparse one."""

FULL = 0.4
"""Share of a matrix's sparse terms from which on it is worth its while."""

MOST_SLOTS = 6
"""Sparse terms of one row, at most: products of two of them are taken pair by pair."""


@dataclass(frozen=True)
class SparseTerms:
    """A matrix, its rows on the last axis, as dense terms and the few others of each row.

    Attributes
    ----------
    dense : ndarray, shape (dense,)
        Numbers of the terms that most rows have.
    matrix : ndarray, shape (dense, rows)
        These terms.
    place : ndarray, shape (slots, rows)
        Numbers of each row's other terms; any where there is none.
    value : ndarray, shape (slots, rows)
        Their values; zero where there is none.
    n_terms : int
        Number of all terms.
    """

    dense: Int[np.ndarray, " dense"]
    matrix: Float[np.ndarray, "dense rows"]
    place: Int[np.ndarray, "slots rows"]
    value: Float[np.ndarray, "slots rows"]
    n_terms: int

    @classmethod
    def of(cls, x: Float[np.ndarray, "terms rows"]) -> SparseTerms | None:
        """A matrix so, or None where that would be no gain.

        Examples
        --------
        >>> indicators = np.vstack([np.ones(100), np.eye(40)[:, np.arange(100) % 40]])
        >>> found = SparseTerms.of(indicators)
        >>> found.dense, found.value.shape
        (array([0]), (1, 100))
        >>> SparseTerms.of(np.ones((40, 100))) is None
        True
        """
        n_terms, n_rows = x.shape
        if n_terms < FEWEST_TERMS or n_rows < FEWEST_ROWS:
            return None
        some = x[:, :: max(n_rows // FEWEST_ROWS, 1)]
        if np.count_nonzero(some) > (1.0 - 0.5 * FULL) * some.size:
            return None
        there = x != 0.0
        counts = np.count_nonzero(there, axis=1)
        sparse = np.flatnonzero(counts <= SHARE * n_rows)
        if len(sparse) < FULL * n_terms:
            return None
        dense = np.flatnonzero(counts > SHARE * n_rows)
        at, row = np.divmod(np.flatnonzero(there[sparse]), n_rows)
        slots = _slots(x, sparse[at], row)
        return None if slots is None else cls(dense, x[dense], *slots, n_terms)

    def second_moments(
        self, weights: Float[np.ndarray, "experts rows"]
    ) -> Float[np.ndarray, "experts terms terms"]:
        """``sum_n w_kn x_n x_n'`` for all ``k``."""
        found = np.zeros((len(weights), self.n_terms, self.n_terms))
        for own, result in zip(weights, found, strict=True):
            weighted = self.matrix * own
            result[np.ix_(self.dense, self.dense)] = weighted @ self.matrix.T
            for place, value in zip(self.place, self.value, strict=True):
                for term, values in zip(self.dense, weighted, strict=True):
                    sums = np.bincount(place, value * values, self.n_terms)
                    result[term] += sums
                    result[:, term] += sums
            for i, j, both in self._pairs():
                result += self._moments_of(i, j, both * own)
        return found

    def _moments_of(
        self, i: int, j: int, weights: Float[np.ndarray, " rows"]
    ) -> Float[np.ndarray, "terms terms"]:
        """Sums of the products of two slots, both ways round where they are two."""
        n_terms = self.n_terms
        if i == j:
            return np.diag(np.bincount(self.place[i], weights, n_terms))
        at = self.place[i] * n_terms + self.place[j]
        found = np.bincount(at, weights, n_terms * n_terms).reshape(n_terms, n_terms)
        return np.asarray(found + found.T)

    def quadratic(
        self, matrices: Float[np.ndarray, "experts terms terms"]
    ) -> Float[np.ndarray, "experts rows"]:
        """``x_n' S_k x_n`` for all ``k``."""
        found = np.empty((len(matrices), self.matrix.shape[1]))
        for own, result in zip(matrices, found, strict=True):
            through = own[np.ix_(self.dense, self.dense)] @ self.matrix
            among = own[self.dense]
            for place, value in zip(self.place, self.value, strict=True):
                through += (2.0 * value) * among[:, place]
            np.einsum("dn,dn->n", through, self.matrix, out=result)
            for i, j, both in self._pairs():
                share = own[self.place[i], self.place[j]] * both
                result += share if i == j else 2.0 * share
        return found

    def _pairs(self) -> Iterator[tuple[int, int, Float[np.ndarray, " rows"]]]:
        """Two slots and the product of their values."""
        for i, j in combinations_with_replacement(range(len(self.value)), 2):
            yield i, j, self.value[i] * self.value[j]


def _slots(
    x: Float[np.ndarray, "terms rows"],
    term: Int[np.ndarray, " entries"],
    row: Int[np.ndarray, " entries"],
) -> tuple[Int[np.ndarray, "slots rows"], Float[np.ndarray, "slots rows"]] | None:
    """Numbers and values of each row's entries; None where a row has too many."""
    n_rows = x.shape[1]
    sizes = np.bincount(row, minlength=n_rows)
    n_slots = int(sizes.max(initial=0))
    if n_slots > MOST_SLOTS:
        return None
    order = np.argsort(row, kind="stable")
    term, row = term[order], row[order]
    slot = np.arange(len(row)) - (np.cumsum(sizes) - sizes)[row]
    place, value = np.zeros((n_slots, n_rows), dtype=np.int64), np.zeros((n_slots, n_rows))
    place[slot, row], value[slot, row] = term, x[term, row]
    return place, value
