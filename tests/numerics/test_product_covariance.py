"""Covariances of products are those of a product of sums over a grid."""

import numpy as np
from numpy.testing import assert_allclose

from bayesvb.numerics.product_covariance import product_covariance


def test_covariances_are_those_of_quadrature():
    rng = np.random.default_rng(0)
    mean, root = rng.normal(size=3), np.tril(rng.normal(size=(3, 3)))
    nodes, weights = np.polynomial.hermite_e.hermegauss(5)
    z = np.stack(np.meshgrid(nodes, nodes, nodes)).reshape(3, -1)
    weight = np.prod(np.stack(np.meshgrid(weights, weights, weights)), axis=0).ravel()
    a = mean[:, None] + root @ z
    pairs = np.array([0, 1, 2, 2]), np.array([0, 0, 1, 2])
    values = a[pairs[0]] * a[pairs[1]]
    expected = np.cov(values, aweights=weight, ddof=0)
    found = product_covariance(np.outer(mean, mean), root @ root.T, pairs)
    assert_allclose(found, expected, rtol=1e-10)
