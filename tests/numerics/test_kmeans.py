"""K-means against SciPy's, from the same random numbers."""

import numpy as np
import pytest
from scipy.cluster.vq import kmeans2

from bayesvb.numerics.kmeans import kmeans_centres


@pytest.mark.parametrize(("columns", "n_clusters"), [(1, 2), (3, 5), (8, 6)])
def test_centres_are_those_of_scipy(columns, n_clusters):
    for seed in range(5):
        points = np.random.default_rng(seed).normal(size=(columns, 60))
        expected, _ = kmeans2(points.T, n_clusters, minit="++", seed=np.random.default_rng(seed))
        centres = kmeans_centres(points, n_clusters, np.random.default_rng(seed))
        np.testing.assert_allclose(centres, expected, rtol=1e-12, atol=1e-14)


class FirstPoint(np.random.Generator):
    """Random numbers that draw the first point as every seed."""

    def __init__(self):
        super().__init__(np.random.PCG64(0))

    def integers(self, _):
        return 0

    def uniform(self):
        return 0.0


def test_an_empty_cluster_keeps_its_centre():
    points = np.array([[0.0, 1.0, 2.0]])
    np.testing.assert_array_equal(kmeans_centres(points, 2, FirstPoint()), [[1.5], [0.0]])
