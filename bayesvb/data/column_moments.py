"""Means, variances and products of columns, from moments of blocks that are put together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import BLOCK_ROWS
from bayesvb.numerics.arrays import RowVector
from bayesvb.numerics.special import ROUNDING

DISTINCT = 1e-2
"""Share of a column that others do not explain from which on products keep twelve digits of it."""

Vector = Float[np.ndarray, " columns"]

Triangle = Float[np.ndarray, "columns columns"]


@dataclass(frozen=True)
class ColumnMoments:
    """Moments of the columns of some rows; ``+`` adds further rows.

    A row of weight w enters as w rows would; one without weight not at all. Deviations are from
    the means of these rows, and columns are divided by their largest entry first: no digit is lost
    where means are large, and squares neither overflow nor vanish.

    Attributes
    ----------
    weight : float
        Sum of the case weights.
    mean, deviation, root : ndarray, shape (columns,)
        Means, standard deviations and root mean squares.
    lowest, highest : ndarray, shape (columns,)
    triangle : ndarray, shape (columns, columns), or None
        Upper triangle ``R`` with ``R' R`` the summed products of the deviations from the means, if
        requested. It has twice the digits of the products themselves.

    References
    ----------
    Chan, Golub, LeVeque (1983), Algorithms for computing the sample variance, The American
    Statistician 37(3), eq. 2.1. Bjorck (1996), Numerical Methods for Least Squares Problems,
    section 3.2 (triangles of more rows), doi:10.1137/1.9781611971484.
    """

    weight: float
    mean: Vector
    deviation: Vector
    root: Vector
    lowest: Vector
    highest: Vector
    triangle: Triangle | None = None

    @classmethod
    def of(
        cls,
        matrix: Float[np.ndarray, "rows columns"],
        weight: RowVector | None = None,
        *,
        products: bool = False,
    ) -> ColumnMoments:
        """Moments of rows in memory, block by block; with ``products`` the triangle of these too.

        Examples
        --------
        >>> whole = ColumnMoments.of(np.array([[1.0], [3.0]])) + ColumnMoments.of(np.array([[8.0]]))
        >>> whole.mean.tolist(), round(float(whole.deviation[0]) ** 2, 12)
        ([4.0], 8.666666666667)
        """
        pieces = []
        for start in range(0, max(len(matrix), 1), BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            share = None if weight is None else weight[rows]
            pieces.append(cls._of_block(matrix[rows], share, products=products))
        return reduce(add, pieces)

    @classmethod
    def _of_block(
        cls, matrix: Float[np.ndarray, "rows columns"], weight: RowVector | None, *, products: bool
    ) -> ColumnMoments:
        """Moments of few rows."""
        if weight is not None:
            matrix, weight = matrix[weight > 0.0], weight[weight > 0.0]
        total = float(len(matrix) if weight is None else weight.sum())
        divisor = total or 1.0
        lowest = matrix.min(axis=0, initial=np.inf)
        highest = matrix.max(axis=0, initial=-np.inf)
        size = _sizes(lowest, highest)
        mean, deviation, root = np.zeros((3, matrix.shape[1]))
        for column, largest in enumerate(np.where(size == 0.0, 1.0, size)):
            values = matrix[:, column] / largest
            shares = _weighted(values, weight)
            middle = shares.sum() / divisor
            root[column] = largest * np.sqrt(shares @ values / divisor)
            values -= middle
            mean[column] = middle * largest
            deviation[column] = largest * np.sqrt(_weighted(values, weight) @ values / divisor)
        triangle = _triangle(_apart(matrix, mean, weight)) if products else None
        return cls(total, mean, deviation, root, lowest, highest, triangle)

    def __add__(self, other: ColumnMoments) -> ColumnMoments:
        """Moments of the rows of both."""
        if not self.weight or not other.weight:
            return self if self.weight else other
        weight = self.weight + other.weight
        mine, part = self.weight / weight, other.weight / weight
        apart = other.mean - self.mean
        between = np.sqrt(mine * part) * apart
        return ColumnMoments(
            weight,
            self.mean + part * apart,
            np.hypot(_pooled(self.deviation, other.deviation, mine, part), between),
            _pooled(self.root, other.root, mine, part),
            np.minimum(self.lowest, other.lowest),
            np.maximum(self.highest, other.highest),
            _both(self.triangle, other.triangle, np.sqrt(self.weight * part) * apart),
        )

    @property
    def largest(self) -> Vector:
        """Largest absolute value of each column."""
        return _sizes(self.lowest, self.highest)

    def columns(self) -> list[ColumnMoments]:
        """Moments of each column by itself."""
        parts = zip(self.mean, self.deviation, self.root, self.lowest, self.highest, strict=True)
        return [ColumnMoments(self.weight, *(np.array([value]) for value in one)) for one in parts]

    def scales(self, *, centred: bool) -> tuple[Vector, Vector]:
        """Means and standard deviations; zeros and root mean squares if not ``centred``.

        A column without spread gets the scale 1.
        """
        centre = self.mean.copy() if centred else np.zeros_like(self.mean)
        spread = self.deviation if centred else self.root
        largest = self.largest
        flat = spread <= ROUNDING * np.where(largest == 0.0, 1.0, largest)
        return centre, np.where(flat, 1.0, spread)


def _sizes(lowest: Vector, highest: Vector) -> Vector:
    """Largest absolute values; zeros without rows."""
    size = np.maximum(np.abs(lowest), np.abs(highest))
    return np.where(lowest <= highest, size, 0.0)


def _pooled(mine: Vector, theirs: Vector, share: float, part: float) -> Vector:
    """Root of the mean square of two groups of rows."""
    return np.asarray(np.hypot(np.sqrt(share) * mine, np.sqrt(part) * theirs))


def _weighted(values: RowVector, weight: RowVector | None) -> RowVector:
    return values if weight is None else values * weight


def _apart(
    matrix: Float[np.ndarray, "rows columns"], mean: Vector, weight: RowVector | None
) -> Float[np.ndarray, "rows columns"]:
    """Deviations from the means, times the root of the weights."""
    apart = matrix - mean
    return np.asarray(apart if weight is None else np.sqrt(weight)[:, None] * apart)


def _triangle(rows: Float[np.ndarray, "rows columns"]) -> Triangle:
    """Upper triangle with the products of these rows and a diagonal that is not negative."""
    size = np.abs(rows).max(axis=0, initial=0.0)  # squares of extreme units overflow
    varies = np.flatnonzero(size)
    triangle = np.zeros((len(size), len(size)))
    triangle[np.ix_(varies, varies)] = _upper(rows[:, varies] / size[varies])
    return np.asarray(triangle * size)


def _upper(rows: Float[np.ndarray, "rows columns"]) -> Triangle:
    """Upper triangle of columns none of which is zero."""
    products = rows.T @ rows
    try:  # a fraction of the time of rotations, where no column is nearly a sum of others
        result = np.linalg.cholesky(products).T
        if (np.diagonal(result) > DISTINCT * np.sqrt(np.diagonal(products))).all():
            return np.asarray(result)
    except np.linalg.LinAlgError:
        pass
    result, upper = np.zeros_like(products), np.linalg.qr(rows, mode="r")
    result[: len(upper)] = upper
    result[np.diagonal(result) < 0.0] *= -1.0
    return np.asarray(result)


def _both(mine: Triangle | None, theirs: Triangle | None, between: Vector) -> Triangle | None:
    """Triangle of the rows of both, whose means are apart."""
    if mine is None or theirs is None:
        return None
    return _triangle(np.vstack([mine, theirs, between]))
