"""Least squares left out group by group: against refits, and row by row."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_t

from bayesvb.evaluation.linear_baseline import leave_groups_out, leave_one_out


def test_the_baseline_is_what_refitting_without_each_group_gives(rng):
    x = np.column_stack([np.ones(20), rng.normal(size=(20, 2))])
    y = 1e3 * (x @ [1.0, 2.0, -1.0] + rng.normal(size=20))
    number = rng.permutation(np.arange(20) % 6)
    copies = np.array([1, 2, 1, 1, 3, 1])
    weights = copies[number].astype(float)
    found = leave_groups_out(x, y, number, weights)
    for group in range(6):
        left = copies - (np.arange(6) == group)
        rows = np.repeat(np.arange(20), left[number])
        own = number == group
        inverse = np.linalg.inv(x[rows].T @ x[rows])
        b = inverse @ x[rows].T @ y[rows]
        free = len(rows) - 3
        s2 = ((y[rows] - x[rows] @ b) ** 2).sum() / free
        shape = s2 * (np.eye(own.sum()) + x[own] @ inverse @ x[own].T)
        law = multivariate_t(x[own] @ b, shape, df=free)
        assert found[group] == pytest.approx(law.logpdf(y[own]), rel=1e-8)


def test_groups_of_one_row_are_rows_also_with_redundant_terms(rng):
    x = np.column_stack([np.ones(15), rng.normal(size=15)])
    y = rng.normal(size=15)
    expected = leave_one_out(x, y)
    assert_allclose(leave_groups_out(x, y, np.arange(15)), expected, rtol=1e-8)
    twice = np.column_stack([x, 2.0 * x[:, 1]])
    assert_allclose(leave_groups_out(twice, y, np.arange(15)), expected, rtol=1e-8)


def test_groups_without_which_nothing_is_known_have_none(rng):
    only = np.column_stack([np.ones(9), np.repeat([1.0, 0.0, 0.0], 3)])
    found = leave_groups_out(only, rng.normal(size=9), np.repeat([0, 1, 2], 3))
    assert np.isnan(found[0]) and np.isfinite(found[1:]).all()
    assert leave_groups_out(np.ones((4, 1)), np.arange(4.0), np.array([0, 0, 0, 0])) is None
    exact = np.column_stack([np.ones(6), np.arange(6.0)])
    assert leave_groups_out(exact, 1.0 + exact[:, 1], np.arange(6) // 2) is None
