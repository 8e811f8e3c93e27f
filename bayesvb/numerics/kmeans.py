"""K-means clustering."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float


def kmeans_centres(
    points: Float[np.ndarray, "columns points"], n_clusters: int, rng: np.random.Generator
) -> Float[np.ndarray, "clusters columns"]:
    """Centres of clusters by Lloyd's algorithm from k-means++ seeds.

    A cluster that loses all its points keeps its centre. SciPy's ``kmeans2`` returns the same
    centres from the same random numbers; its import takes longer than a first fit.

    Parameters
    ----------
    points : ndarray, shape (columns, points)
    n_clusters : int
        At most the number of distinct points.
    rng : numpy.random.Generator

    References
    ----------
    Arthur and Vassilvitskii (2007), k-means++: the advantages of careful seeding, SODA.
    """
    centres = _seeds(points, n_clusters, rng)
    # Iterations of Lloyd: clusters start runs, and need not be final.
    for _ in range(10):
        offset = 0.5 * (centres * centres).sum(axis=1)
        labels = np.argmin(offset[:, None] - centres @ points, axis=0)
        members = np.bincount(labels, minlength=n_clusters)
        sums = np.stack([np.bincount(labels, row, minlength=n_clusters) for row in points], axis=1)
        filled = members > 0
        centres = centres.copy()
        centres[filled] = sums[filled] / members[filled, None]
    return centres


def _seeds(
    points: Float[np.ndarray, "columns points"], n_clusters: int, rng: np.random.Generator
) -> Float[np.ndarray, "clusters columns"]:
    """Points drawn with probabilities proportional to the squared distance from earlier ones."""
    number = rng.integers(points.shape[1])
    nearest, numbers = np.full(points.shape[1], np.inf), [number]
    for _ in range(n_clusters - 1):
        away = points - points[:, [numbers[-1]]]
        nearest = np.minimum(nearest, np.einsum("cp,cp->p", away, away))
        below = np.cumsum(nearest / nearest.sum())
        numbers.append(np.searchsorted(below, rng.uniform()))
    return np.ascontiguousarray(points[:, numbers].T)
