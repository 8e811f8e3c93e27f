"""Means and sums of squares of columns that several parts of the rows have told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bayesvb.data.scaling import ROUNDING


@dataclass(frozen=True)
class ColumnMoments:
    """Weight of some rows, and of each column the mean and the sum of squares about it.

    Attributes
    ----------
    weight : float
    mean, squares : ndarray, shape (columns,)
    """

    weight: float
    mean: Float[np.ndarray, " columns"]
    squares: Float[np.ndarray, " columns"]

    @classmethod
    def of(
        cls, matrix: Float[np.ndarray, "rows columns"], weight: Float[np.ndarray, " rows"] | None
    ) -> ColumnMoments:
        """Those of the rows of a matrix."""
        own = np.ones(len(matrix)) if weight is None else weight
        total = float(own.sum())
        mean = own @ matrix / total if total else np.zeros(matrix.shape[1])
        return cls(total, mean, own @ (matrix - mean) ** 2)

    @staticmethod
    def pooled(parts: Sequence[ColumnMoments]) -> ColumnMoments:
        """Those of all rows together.

        References
        ----------
        Chan, Golub, LeVeque (1983), Algorithms for computing the sample variance,
        doi:10.1080/00031305.1983.10483115.

        Examples
        --------
        >>> rows = np.array([[1.0], [2.0], [6.0]])
        >>> parts = [ColumnMoments.of(some, None) for some in (rows[:1], rows[1:])]
        >>> whole = ColumnMoments.pooled(parts)
        >>> whole.mean.tolist(), whole.squares.tolist()
        ([3.0], [14.0])
        """
        weights = np.array([part.weight for part in parts])
        means = np.stack([part.mean for part in parts])
        total = float(weights.sum())
        mean = weights @ means / total
        within = np.sum([part.squares for part in parts], axis=0)
        return ColumnMoments(total, mean, within + weights @ (means - mean) ** 2)

    def scaling(self, *, centred: bool, intercept: int | None) -> Float[np.ndarray, "2 columns"]:
        """Centres and scales of the columns, as ``Scaling.of`` has them."""
        squares = self.squares if centred else self.squares + self.weight * self.mean**2
        centre = self.mean.copy() if centred else np.zeros_like(self.mean)
        scale = np.sqrt(squares / self.weight)
        scale[scale <= ROUNDING * np.abs(self.mean)] = 1.0
        scale[scale == 0.0] = 1.0
        if intercept is not None:
            centre[intercept], scale[intercept] = 0.0, 1.0
        return np.stack([centre, scale])
