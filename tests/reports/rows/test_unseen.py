"""Places of a curve at which nothing was seen."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.reports.rows.profiles import profile
from bayesvb.reports.rows.unseen import unseen, unseen_words


@pytest.fixture(scope="module")
def fit():
    """No row between -1 and 1; x and z go together."""
    rng = np.random.default_rng(1)
    x = np.r_[rng.uniform(-3.0, -1.0, 150), rng.uniform(1.0, 3.0, 150)]
    frame = pd.DataFrame({"x": x, "z": x + 0.1 * rng.normal(size=300), "g": list("ab") * 150})
    frame["y"] = x + rng.normal(size=300)
    return bvb.DensityRegression("y ~ x + z + g", frame, n_components=1).fit(seed=1, restarts=1)


def test_a_gap_and_a_combination_that_is_in_no_row_are_unseen(fit):
    curve = profile(fit, "x")
    found, z = unseen(fit, curve), float(curve.frame["z"].iloc[0])
    assert found[np.abs(curve.x) < 0.5].all()
    assert found[np.abs(curve.x - z) > 1.5].all()
    assert "no row is near" in unseen_words(found, curve)


def test_where_rows_are_is_seen():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"x": rng.uniform(0.0, 1.0, 400)})
    frame["y"] = frame["x"] + rng.normal(size=400)
    fit = bvb.DensityRegression("y ~ x", frame, n_components=1).fit(seed=1, restarts=1)
    curve = profile(fit, "x")
    assert unseen(fit, curve).mean() < 0.05
    assert unseen_words(np.zeros(3, dtype=bool), curve) == ""


def test_levels_are_never_unseen(fit):
    assert not unseen(fit, profile(fit, "g")).any()


def test_values_between_those_of_a_repeated_design_are_seen():
    frame = pd.DataFrame({"x": np.tile(np.linspace(0.0, 50.0, 6), 10), "g": list("ab") * 30})
    frame["y"] = frame["x"] + np.random.default_rng(3).normal(size=60)
    fit = bvb.DensityRegression("y ~ x + g", frame, n_components=1).fit(seed=1, restarts=1)
    assert not unseen(fit, profile(fit, "x")).any()
