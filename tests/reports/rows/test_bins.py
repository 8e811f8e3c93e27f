"""Bins of a covariate: whole ranges with about as many rows each, or levels."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.reports.rows.bins import BINS, FEWEST_IN_BIN, bins


@pytest.fixture(scope="module")
def design():
    rng = np.random.default_rng(1)
    data = pd.DataFrame(
        {"x": rng.gamma(1.0, size=90), "g": list("ab") * 40 + list("b" * 5 + "c" * 5)}
    )
    return bvb.DensityRegression("y ~ g + x", data.assign(y=data["x"]), n_components=1).design


def test_ranges_hold_all_rows_once_and_about_as_many_each(design):
    found = bins(design, "x", np.arange(90))
    rows = np.concatenate([one.rows for one in found])
    assert sorted(rows) == list(range(90))
    assert [len(one.rows) for one in found] == [90 // BINS] * BINS
    some = np.arange(0, 90, 2)
    for one in bins(design, "x", some):
        x = design.frame["x"].to_numpy()[some][one.rows]
        assert (one.low <= x).all() and (x <= one.high).all()


def test_levels_with_few_rows_are_left_out(design):
    found = bins(design, "g", np.arange(90))
    assert [(one.label, one.low, one.high) for one in found] == [("b", 0.0, 0.0), ("a", 1.0, 1.0)]
    assert (design.frame["g"] == "c").sum() < FEWEST_IN_BIN
