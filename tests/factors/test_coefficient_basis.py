"""Bases of coefficients: one-to-one, and uncorrelated under the covariance they are made of."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayesvb.factors.coefficient_basis import ExpertBasis, JointBasis


@pytest.fixture
def joint(rng):
    """A basis of two components of three columns, with its parts."""
    root = rng.normal(size=(2, 3, 3))
    own = root @ np.swapaxes(root, -1, -2) + np.eye(3)
    slope, common = rng.normal(size=(2, 3, 2)), np.diag([0.5, 2.0])
    noise, shape = np.array([[1.5], [0.7]]), np.array([4.0, 9.0])
    return JointBasis.of(own, slope, common, noise, shape), own, slope, common, noise, shape


def test_coordinates_are_one_to_one(joint, rng):
    scaled = rng.normal(size=(5, 2, 1, 3))
    each = ExpertBasis(joint[1], joint[4])
    for basis in (joint[0], each):
        assert_allclose(basis.scaled(basis.standard(scaled)), scaled, rtol=1e-9, atol=1e-12)


def test_joint_coordinates_are_uncorrelated_with_variance_one(joint):
    basis, own, slope, common, _, _ = joint
    stacked = slope.reshape(6, 2)
    covariance = stacked @ common @ stacked.T
    for k in range(2):
        covariance[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] += own[k]
    assert_allclose(basis.root @ basis.root.T, covariance, rtol=1e-12)


def test_stand_ins_are_uncorrelated_with_variance_one(joint):
    """Of ``tau (beta - m) / sqrt(E tau)``, whose variance contains that of ``tau``."""
    basis, own, slope, common, _, shape = joint
    stacked = slope.reshape(6, 2)
    covariance = stacked @ common @ stacked.T
    for k in range(2):
        at = slice(3 * k, 3 * k + 3)
        covariance[at, at] *= 1.0 + 1.0 / shape[k]
        covariance[at, at] += own[k]
    found = basis.stand_in @ covariance @ basis.stand_in.T
    assert_allclose(found, np.eye(6), atol=1e-10)
