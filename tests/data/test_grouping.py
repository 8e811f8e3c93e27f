"""Groups of rows, and blocks that never cut one."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bayesvb.data import grouping as module
from bayesvb.data.blocks import Block, Members
from bayesvb.data.grouping import Grouping, grouped_source, own_coefficients, regrouped
from bayesvb.errors import DataError

LABELS = pd.Series(["b", "a", "b", "c", "a", "b"])
GROUPS = Grouping.of(LABELS, "id")


def test_groups_come_in_the_order_in_which_they_appear():
    assert list(GROUPS.labels) == ["b", "a", "c"]
    assert_array_equal(GROUPS.sizes, [3, 2, 1])
    assert_array_equal(GROUPS.order, [0, 2, 5, 1, 4, 3])
    assert_array_equal(GROUPS.first, [0, 1, 3])
    values = np.arange(6.0)
    assert_array_equal(GROUPS.in_row_order(values[GROUPS.order]), values)


def test_values_that_differ_within_a_group_are_named():
    same = np.array([[1.0], [2.0], [1.0], [3.0], [2.0], [1.0]])
    assert_array_equal(GROUPS.constant(same, ("w",), "is known"), [[1.0], [2.0], [3.0]])
    other = same + np.array([[0.0], [0.0], [0.0], [0.0], [1.0], [0.0]])
    with pytest.raises(DataError, match=r"`w` is known, and differs within the group 'a' of `id`"):
        GROUPS.constant(other, ("w",), "is known")
    numbers = Grouping.of(LABELS.map({"a": 7, "b": 8, "c": 9}), "id")
    with pytest.raises(DataError, match="within the group 7 of `id`"):
        numbers.constant(other, ("w",), "is known")


@pytest.mark.parametrize("rows", [1, 4, 100])
def test_blocks_hold_whole_groups(monkeypatch, rows):
    monkeypatch.setattr(module, "BLOCK_ROWS", rows)
    rng = np.random.default_rng(1)
    matrices = {
        "mean": np.column_stack([np.ones(6), rng.normal(size=6)]),
        "gating": np.ones((6, 1)),
    }
    y = rng.normal(size=(6, 1))
    whole = Block({name: matrix.T for name, matrix in matrices.items()}, y.T)
    source = grouped_source(whole, GROUPS)
    assert source.n_rows == 3
    whole = source.take(np.arange(3))
    assert_array_equal(whole.members.sizes, [3, 2, 1])
    assert_array_equal(whole.members.rows.response[0], y[GROUPS.order, 0])
    back = source.take(np.array([2, 0]))
    assert_array_equal(back.members.rows.response[0], y[[3, 0, 2, 5], 0])
    assert_array_equal(back.ungrouped().designs["gating"], np.ones((1, 4)))


def test_coefficients_of_a_group_are_those_of_its_own_ridge_regression():
    rng = np.random.default_rng(2)
    x, y = np.vstack([np.ones(7), rng.normal(size=7)]), rng.normal(size=(1, 7))
    members = Members(Block({"mean": x}, y), np.array([0, 4]))
    found = own_coefficients(members)
    own = x[:, 4:]
    assert_allclose(found[:, 1], np.linalg.solve(own @ own.T + np.eye(2), own @ y[0, 4:]))
    block = Block({"summary": found}, np.empty((0, 2)), members=members)
    assert_allclose(regrouped(block, 2.0 * y).designs["summary"], 2.0 * found)
