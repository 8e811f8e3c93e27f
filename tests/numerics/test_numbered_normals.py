"""Numbers that are a function of a key and a place are independent and standard normal."""

import numpy as np
from numpy.testing import assert_array_equal
from scipy.stats import kstest

from bayesvb.numerics.numbered_normals import LARGEST_KEY, numbered_normals


def test_numbers_are_standard_normal_and_uncorrelated():
    keys = np.arange(200.0)
    found = numbered_normals(keys, np.arange(500))
    assert kstest(found.ravel(), "norm").pvalue > 1e-3
    for axis in (0, 1):
        ahead, behind = np.delete(found, 0, axis), np.delete(found, -1, axis)
        assert abs(np.corrcoef(ahead.ravel(), behind.ravel())[0, 1]) < 0.015
    assert abs(np.cov(found.T)[np.triu_indices(500, 1)]).max() < 0.4
    squares = np.corrcoef(found[:-1].ravel() ** 2, found[1:].ravel() ** 2)[0, 1]
    assert abs(squares) < 0.015


def test_a_place_has_the_same_number_wherever_it_is_asked_for():
    keys = np.array([[0.0, LARGEST_KEY - 1.0]])
    every = numbered_normals(keys, np.arange(1000))
    some = np.array([999, 0, 999])
    assert_array_equal(numbered_normals(keys, some), every[..., some])
    assert len(np.unique(every)) == every.size
