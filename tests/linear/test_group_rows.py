"""Values and sums of groups of rows."""

import numpy as np
from numpy.testing import assert_array_equal

from bayesvb.linear.group_rows import GroupRows


def test_sums_and_effects_of_groups():
    rows = GroupRows.from_matrix(np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 1.0]]))
    assert_array_equal(rows.place, [1, 0, 1])
    assert_array_equal(rows.sums(np.array([[1.0, 2.0, 4.0]]), 3), [[2.0, 5.0, 0.0]])
    assert_array_equal(rows.linear(np.array([[10.0, 20.0, 30.0]])), [20.0, 10.0, 20.0])
    none = GroupRows(rows.place, rows.values[:0])
    assert_array_equal(none.linear(np.empty((2, 0, 3))), np.zeros((2, 3)))
