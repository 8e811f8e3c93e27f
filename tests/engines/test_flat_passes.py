"""Statistics as one vector are the points of the same space as their records."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import bayesvb as bvb
from bayesvb.data.statistics import SufficientStats
from bayesvb.engines import flat_passes
from bayesvb.engines.base import Iterate
from bayesvb.engines.flat_passes import FlatStats, compiled_pass


@dataclass(frozen=True)
class Sums(SufficientStats):
    weight: np.ndarray
    pairs: np.ndarray


ONE, OTHER = (Sums(np.arange(2.0) + n, np.arange(4.0).reshape(2, 2) - n) for n in (0, 3))
FLAT = FlatStats(ONE.to_vector(), ONE)


def test_sums_and_products_are_those_of_records():
    mixed = 0.25 * FLAT + 0.75 * FLAT.with_vector(OTHER.to_vector())
    assert_array_equal(mixed.to_vector(), (0.25 * ONE + 0.75 * OTHER).to_vector())


def test_names_and_shapes_are_those_of_the_record():
    moved = FLAT.with_vector(OTHER.to_vector())
    leaves = dict(moved.leaves("point."))
    assert {name: values.shape for name, values in leaves.items()} == {
        "point.weight": (2,),
        "point.pairs": (2, 2),
    }
    assert_array_equal(moved.record.pairs, OTHER.pairs)
    assert_array_equal(FLAT.with_leaves(leaves, "point.").to_vector(), OTHER.to_vector())


@pytest.mark.parametrize("is_left", [False, True])
def test_a_pass_that_the_core_leaves_is_made_in_numpy(is_left, monkeypatch):
    data = pd.DataFrame({"y": [1.0, 2.0, 4.0]})
    fitted = bvb.DensityRegression("y ~ 1", data, n_components=1)
    core, rows = fitted.core, fitted.source

    def one_pass(model, source, stats):
        assert model is core and source is rows
        return Iterate(stats, -2.0, OTHER)

    monkeypatch.setattr(flat_passes, "one_pass", one_pass)
    found = compiled_pass(
        lambda entries: None if is_left else (-1.0, 2.0 * entries), core, rows, FLAT
    )
    assert found.bound == (-2.0 if is_left else -1.0)
    expected = OTHER.to_vector() if is_left else 2.0 * FLAT.entries
    assert_array_equal(found.following.entries, expected)
    assert found.stats is FLAT
