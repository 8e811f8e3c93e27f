"""Further columns of a response in blocks: their units, and what keeps them."""

import numpy as np
import pytest

from bayesvb.data.blocks import Block
from bayesvb.data.response_columns import INTERVAL, RESPONSE_COLUMNS, TRIALS, with_response_columns
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
