"""k-means: against another implementation from the same draws, and where rows coincide."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster.vq import kmeans2, vq

from bayesvb.numerics import k_means as module
from bayesvb.numerics.k_means import k_means, nearest, seeds


@pytest.mark.parametrize("n_columns", [1, 3, 8])
@pytest.mark.parametrize("n_clusters", [1, 4, 9])
def test_centres_are_those_of_another_implementation(n_columns, n_clusters):
    points = np.random.default_rng(1).normal(size=(300, n_columns))
    points[:100] += 4.0
    expected, _ = kmeans2(points, n_clusters, minit="++", rng=np.random.default_rng(7))
    found = k_means(points, n_clusters, np.random.default_rng(7))
    assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_labels_are_the_nearest_and_the_first_of_several():
    rng = np.random.default_rng(2)
    points, centres = rng.normal(size=(57, 4)), rng.normal(size=(5, 4))
    assert_array_equal(nearest(points, centres), vq(points, centres)[0])
    assert_array_equal(nearest(points, centres[[0, 0]]), np.zeros(57))


def test_seeds_are_different_rows():
    points = np.repeat(np.arange(6.0), 20)[:, None]
    for seed in range(20):
        found = seeds(points, 6, np.random.default_rng(seed))
        assert_array_equal(np.sort(found.ravel()), np.arange(6.0))


def test_a_cluster_that_loses_its_rows_stays(monkeypatch):
    points = np.array([[0.0], [1.0], [2.0], [3.0]])
    monkeypatch.setattr(module, "seeds", lambda *_: np.array([[1.5], [90.0]]))
    found = k_means(points, 2, np.random.default_rng(0))
    assert_allclose(found, [[1.5], [90.0]])
