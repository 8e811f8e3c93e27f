"""Initialisation of factor models: principal axes, the first few of them in use."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.data.sources import AbstractSource, InMemorySource
from bayesvb.data.statistics import SufficientStats
from bayesvb.factors.loadings import Loadings

LEAST_NOISE = 1e-14
"""Least noise variance of a start, relative to the mean variance of a variable.

Near the rounding of eigenvalues: variables of small units lie in the last axes."""


@dataclass(frozen=True)
class Moments(SufficientStats):
    """Sums of ``t`` and ``t t'`` over rows, and their weight; zeros stand for missing entries."""

    weight: Float[np.ndarray, " 1"]
    t: Float[np.ndarray, " dims"]
    tt: Float[np.ndarray, "dims dims"]


@dataclass(frozen=True)
class PrincipalAxes:
    """Eigenvalues and eigenvectors of a covariance matrix, the largest first, with the means.

    Of complete rows they hold all that a factor model can learn, as each row enters by its value
    and its squares only.

    Attributes
    ----------
    variance : ndarray, shape (dims,)
    direction : ndarray, shape (dims, dims)
        One axis per column.
    n_rows : float
        Rows, or their total weight.
    centre : ndarray, shape (dims,)
    """

    variance: Float[np.ndarray, " dims"]
    direction: Float[np.ndarray, "dims dims"]
    n_rows: float
    centre: Float[np.ndarray, " dims"]

    @classmethod
    def of(cls, source: AbstractSource) -> PrincipalAxes:
        """Axes of all rows, missing entries at the mean (zero)."""

        def moments(block: Block) -> Moments:
            t = block.designs["variables"]
            weighted = block.weighted(t)
            weight = block.weighted(np.ones((1, block.n_rows)))
            return Moments(weight.sum(axis=1), weighted.sum(axis=1), weighted @ t.T)

        return cls.from_moments(source.map_reduce(moments))

    @classmethod
    def from_moments(cls, stats: Moments) -> PrincipalAxes:
        """Axes of rows with these sums."""
        centre = stats.t / stats.weight
        variance, direction = np.linalg.eigh(stats.tt / stats.weight - np.outer(centre, centre))
        variance = np.maximum(variance[::-1], 0.0)
        return cls(variance, direction[:, ::-1], float(stats.weight[0]), centre)

    @property
    def moments(self) -> Moments:
        """Sums over the rows."""
        covariance = (self.direction * self.variance) @ self.direction.T
        second = covariance + np.outer(self.centre, self.centre)
        weight = np.array([self.n_rows])
        return Moments(weight, weight * self.centre, weight * second)

    def rows(self) -> InMemorySource:
        """Weighted rows with the same sums: two on either side of the mean for each axis."""
        n_dims = len(self.variance)
        steps = self.direction * np.sqrt(n_dims * self.variance)
        values = self.centre[:, None] + np.concatenate([steps, -steps], axis=1)
        weight = np.full(2 * n_dims, self.n_rows / (2 * n_dims))
        return InMemorySource.of(Block({"variables": values}, np.empty((0, 2 * n_dims)), weight))

    def loadings(self, n_columns: int, rank: int) -> Loadings:
        """Maximum-likelihood loadings of this rank, the other columns nearly zero.

        References
        ----------
        Tipping, Bishop (1999), Probabilistic principal component analysis,
        doi:10.1111/1467-9868.00196, eqs 7 and 8.
        """
        n_dims = len(self.variance)
        floor = LEAST_NOISE * float(self.variance.mean()) or LEAST_NOISE
        noise = max(float(self.variance[rank:].mean()) if rank < n_dims else 0.0, floor)
        size = np.sqrt(np.maximum(self.variance[:n_columns] - noise, floor))
        # Size of a column that starts out of use: at zero it would stay there.
        size[rank:] *= 1e-3
        mean = np.zeros((n_dims, n_columns + 1))
        mean[:, :-1] = self.direction[:, :n_columns] * size
        entries = self.n_rows * n_dims
        precision = self.n_rows * np.eye(n_columns + 1)[None]
        return Loadings.from_precision(mean, precision, 0.5 * entries, 0.5 * entries * noise)
