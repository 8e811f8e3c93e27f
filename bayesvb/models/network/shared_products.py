"""Quadratic forms and weighted sums of two designs that often are one and the same.

A matrix product with the rows of both parts takes less time than one for each part.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.numerics.linalg import quadratic_weights

Pair = tuple[Float[np.ndarray, "_ _"], Float[np.ndarray, "_ _"]]


@dataclass(frozen=True)
class PairedProducts:
    """Products of the terms of two designs of a block.

    Attributes
    ----------
    first, second : ndarray, shape (pairs, rows)
        One array where the designs are one.

    Examples
    --------
    >>> x = np.array([[1.0, 1.0], [0.0, 3.0]])
    >>> paired = PairedProducts.of(Block({"mean": x, "gating": x}, x[:1]), "mean", "gating")
    >>> paired.forms(np.eye(2)[None], 2.0 * np.eye(2)[None])
    (array([[ 1., 10.]]), array([[ 2., 20.]]))
    >>> paired.sums(np.ones((1, 2)), np.array([[0.0, 1.0]]))
    (array([[2., 3., 9.]]), array([[1., 3., 9.]]))
    """

    first: Float[np.ndarray, "_ rows"]
    second: Float[np.ndarray, "_ rows"]

    @classmethod
    def of(cls, block: Block, first: str, second: str) -> PairedProducts:
        """Products of these designs."""
        products = block.products(first)
        shared = block.designs[first] is block.designs[second]
        return cls(products, products if shared else block.products(second))

    def forms(
        self,
        first: Float[np.ndarray, "_ terms terms"],
        second: Float[np.ndarray, "_ other_terms other_terms"],
    ) -> Pair:
        """``x' S x`` of every row for each matrix of either part."""
        weights = quadratic_weights(first), quadratic_weights(second)
        if self.first is not self.second:
            return weights[0] @ self.first, weights[1] @ self.second
        return _parted(np.concatenate(weights) @ self.first, len(first))

    def sums(self, first: Float[np.ndarray, "_ rows"], second: Float[np.ndarray, "_ rows"]) -> Pair:
        """``sum_n w_n x_n x_n'``, packed, for each row of weights of either part."""
        if self.first is not self.second:
            return first @ self.first.T, second @ self.second.T
        return _parted(np.concatenate([first, second]) @ self.first.T, len(first))


def _parted(rows: Float[np.ndarray, "_ _"], place: int) -> Pair:
    """The rows before the place, and the others."""
    return rows[:place], rows[place:]
