"""Centres of k-means: seeds drawn far apart, then Lloyd's algorithm."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

STEPS = 10
"""Steps of Lloyd's algorithm: the centres are where ascents begin, not results."""

Points = Float[np.ndarray, "rows columns"]
Centres = Float[np.ndarray, "clusters columns"]


def k_means(points: Points, n_clusters: int, rng: np.random.Generator) -> Centres:
    """Means of clusters, each row in that of the nearest; a cluster without rows stays.

    Parameters
    ----------
    points : ndarray, shape (rows, columns)
    n_clusters : int
        At most the number of different rows.
    rng : Generator
        Draws the seeds.

    References
    ----------
    Lloyd (1982), Least squares quantization in PCM, IEEE Transactions on Information Theory 28(2).

    Examples
    --------
    >>> points = np.array([[0.0], [0.2], [5.0], [5.2]])
    >>> np.sort(k_means(points, 2, np.random.default_rng(0)).ravel())
    array([0.1, 5.1])
    """
    centres = seeds(points, n_clusters, rng)
    for _ in range(STEPS):
        label = nearest(points, centres)
        count = np.bincount(label, minlength=n_clusters)
        sums = [np.bincount(label, column, minlength=n_clusters) for column in points.T]
        means = np.stack(sums, axis=1) / np.maximum(count, 1)[:, None]
        moved = np.where(count[:, None] > 0, means, centres)
        if (moved == centres).all():
            break
        centres = moved
    return centres


def seeds(points: Points, n_clusters: int, rng: np.random.Generator) -> Centres:
    """Rows as first centres, each drawn in proportion to its squared distance from those before.

    References
    ----------
    Arthur, Vassilvitskii (2007), k-means++: the advantages of careful seeding, SODA.
    """
    chosen = [int(rng.integers(len(points)))]
    squared = np.full(len(points), np.inf)
    for _ in range(n_clusters - 1):
        squared = np.minimum(squared, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
        shares = np.cumsum(squared / squared.sum())
        chosen.append(min(int(np.searchsorted(shares, rng.uniform())), len(points) - 1))
    return points[chosen]


def nearest(points: Points, centres: Centres) -> Int[np.ndarray, " rows"]:
    """Number of the nearest centre of each row; the first of several."""
    squared = np.zeros((len(centres), len(points)))
    for column, place in zip(points.T, centres.T, strict=True):
        squared += (column - place[:, None]) ** 2
    return np.asarray(squared.argmin(axis=0))
