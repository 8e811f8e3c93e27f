"""Student's t against the incomplete beta function."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtr, stdtr
from scipy.stats import t

from bayesvb.numerics.student_cdf import MANY, expanded_cdf_and_density, student_cdf

POINTS = np.concatenate([np.linspace(-40.0, 40.0, 801), [-1e-9, 1e-9, -1e300, 1e300]])


@pytest.mark.parametrize("dof", [0.3, 3.0, MANY - 1e-9, MANY, 47.3, 200.0, 1e5, 1e9, 1e15])
def test_it_is_right_to_a_small_part_of_one(dof):
    z = POINTS[:, None, None]
    assert_allclose(student_cdf(np.array([dof]), z)[:, 0, 0], stdtr(dof, POINTS), atol=3e-12)


@pytest.mark.parametrize(("dof", "error"), [(4.0, 1.2e-6), (5.0, 2e-7), (8.0, 3e-9), (20.0, 1e-10)])
def test_the_expansion_of_fewer_degrees_is_as_right_as_it_says(dof, error):
    found = student_cdf(np.array([dof]), POINTS[:, None, None], many=dof)[:, 0, 0]
    assert_allclose(found, stdtr(dof, POINTS), atol=error)
    assert np.abs(found - stdtr(dof, POINTS)).max() > 0.0


def test_without_end_it_is_normal():
    z = np.clip(POINTS, -30.0, 30.0)[:, None, None]
    assert_allclose(student_cdf(np.array([np.inf]), z), ndtr(z), atol=1e-12)


def test_each_expert_has_its_own_degrees_of_freedom():
    dof = np.array([200.0, 4.0, 31.0, 0.5])
    z = np.random.default_rng(1).normal(size=(5, 4, 6))
    alone = [student_cdf(dof[[k]], z[:, [k]]) for k in range(4)]
    assert_array_equal(student_cdf(dof, z), np.concatenate(alone, axis=1))


def test_sides_are_mirrored():
    z = np.random.default_rng(2).normal(size=(20, 2, 3))
    dof = np.array([60.0, 5.0])
    assert_allclose(student_cdf(dof, z) + student_cdf(dof, -z), 1.0, atol=1e-14)


def test_the_expansion_comes_with_the_density():
    dof, z = np.array([[MANY], [200.0], [1e9]]), np.tile(POINTS[:-2], (3, 1))
    below, density = expanded_cdf_and_density(dof, z)
    assert_allclose(below, stdtr(dof, z), atol=3e-12)
    # SciPy's constant is the difference of two logarithms that nearly cancel.
    assert_allclose(density, t.pdf(z, dof), rtol=1e-7, atol=1e-300)
