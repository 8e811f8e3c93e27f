"""Further columns of a response in blocks: their units, and what keeps them."""

import numpy as np
import pytest

from bayesvb.data.blocks import Block
from bayesvb.data.response_columns import (
    INTERVAL,
    RESPONSE_COLUMNS,
    TRIALS,
    coarsened,
    upper_ends,
    with_response_columns,
)
from bayesvb.data.scaling import Scaling

RESPONSE = Scaling(np.array([3.0]), np.array([2.0]), None)


@pytest.mark.parametrize(("name", "unit"), [(INTERVAL, 2.0), (TRIALS, 1.0)])
def test_lengths_have_the_scale_of_the_response_and_numbers_none(name, unit):
    columns = RESPONSE_COLUMNS[name]
    given = np.tile([4.0, np.inf], (len(columns.names), 1)).T
    found = columns.scaling(RESPONSE).rows_last(given)
    np.testing.assert_array_equal(found[:, 0], 4.0 / unit)
    assert np.isinf(found[:, 1]).all()


def test_they_stay_with_their_rows():
    rows = np.arange(4.0)
    designs = {"mean": rows[None], "gating": rows[None], TRIALS: rows[None] + 1.0}
    block = Block(designs, rows[None])
    some = Block.joined([block.take(np.array([3, 1])), block.part(0, 1)])
    np.testing.assert_array_equal(some.designs[TRIALS][0], [4.0, 2.0, 1.0])
    assert set(with_response_columns(block, ("mean",))) == {"mean", TRIALS}


def test_new_responses_are_known_as_far_as_the_old_ones():
    """Seen, right and left censored at 1, and in the cell (1, 3] of a grid."""
    ends = np.array([[0.0, 0.0, np.inf, 1.0], [0.0, np.inf, 0.0, 1.0]])
    block = Block({INTERVAL: ends}, np.array([[0.5, 1.0, 1.0, 2.0]]))
    beyond = coarsened(block, np.array([[7.0, 5.0, -5.0, 7.5]]))
    np.testing.assert_array_equal(beyond.response, [[7.0, 1.0, 1.0, 8.0]])
    np.testing.assert_array_equal(beyond.designs[INTERVAL], ends)
    within = coarsened(block, np.array([[7.0, 0.2, 2.0, -0.1]]))
    np.testing.assert_array_equal(within.response, [[7.0, 0.2, 2.0, 0.0]])
    np.testing.assert_array_equal(within.designs[INTERVAL][:, 1:3], 0.0)
    np.testing.assert_array_equal(upper_ends(within), [[7.0, 0.2, 2.0, 1.0]])
