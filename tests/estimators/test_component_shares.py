"""Shares of the components: averages of their weights over the rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayesvb.data.blocks import Block
from bayesvb.estimators.component_shares import averaged


@pytest.mark.parametrize("shape", [(2,), (5, 3)])
def test_rows_count_by_their_case_weight(shape, rng):
    weights, repeats = rng.uniform(size=(*shape, 6)), np.array([0, 1, 2, 3, 1, 5])
    rows = Block({}, np.zeros((1, 6)))
    weighted = Block({}, np.zeros((1, 6)), repeats.astype(float))
    assert_allclose(averaged(weights, rows), weights.mean(axis=-1))
    expected = np.repeat(weights, repeats, axis=-1).mean(axis=-1)
    assert_allclose(averaged(weights, weighted), expected)
    constant = weights[..., :1]  # of a gate whose weights are the same in every row
    assert_allclose(averaged(constant, weighted), constant[..., 0])
