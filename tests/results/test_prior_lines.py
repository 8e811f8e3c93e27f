"""Priors as they are printed: a row for the groups and the curve, not one for each coefficient."""

import numpy as np
import pytest

import bayesvb as bvb
from bayesvb.results.printing import folded


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(1)
    rows = {
        "y": rng.normal(size=90),
        "x": rng.normal(size=90),
        "g": [f"g{i % 30}" for i in range(90)],
    }
    return bvb.DensityRegression("y ~ s(x) + (1 | g) | x", rows, n_components=2)


def test_curves_and_groups_have_a_row_each(model):
    table = model.prior_table()
    found = folded(table)
    terms = [term for part, term in found.index if part == "mean"]
    assert terms == ["Intercept", "s(x).line", "s(x): 8 coefficients", "(1 | g): 31 coefficients"]
    assert found.columns.equals(table.columns) and found.index.names == table.index.names
    assert found.loc[("mean", "s(x): 8 coefficients")].equals(table.loc[("mean", "s(x).3")])
    assert "(1 | g): 31 coefficients" in str(model) and "(1 | g)[g7]" not in str(model)


def test_coefficients_with_other_priors_and_levels_keep_their_rows(model):
    table = model.prior_table()
    table.loc[("mean", "s(x).4"), "scale"] *= 2.0
    terms = [term for part, term in folded(table).index if part == "mean"]
    assert terms[2:8] == ["s(x).1", "s(x).2", "s(x).3", "s(x).4", "s(x): 4 coefficients",
                          "(1 | g): 31 coefficients"]  # fmt: skip
    few = bvb.Normal("y ~ 1", {"y": [1.0, 2.0, 4.0]}).prior_table()
    assert folded(few).equals(few)
