"""What is drawn over rows of all groups is of any group, and is told as what it is."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.reports.rows.profiles import profile
from bayesvb.reports.sections import conditional, finding
from bayesvb.results.groups import predictive_of_any_group


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    g = np.repeat(np.arange(30), 12)
    x = rng.uniform(0, 10, 360)
    y = 2 * x + 8 * rng.normal(size=30)[g] + rng.normal(size=360)
    return pd.DataFrame({"y": y, "x": x, "g": [f"s{i}" for i in g]})


@pytest.fixture(scope="module")
def fit(rows):
    model = bvb.DensityRegression("y ~ x + (1 | g)", rows, n_components=1)
    return model.fit(seed=1, restarts=1, draws=200)


def test_nine_of_ten_rows_of_all_groups_are_within_the_middle_of_any_group(fit, rows):
    new = rows.assign(g="elsewhere")
    low, high = predictive_of_any_group(fit, new).quantile(np.array([0.05, 0.95]))
    assert 0.84 < ((low <= rows["y"]) & (rows["y"] <= high)).mean() < 0.96
    low, high = fit.predictive(new, new_groups="typical").quantile(np.array([0.05, 0.95]))
    assert ((low <= rows["y"]) & (rows["y"] <= high)).mean() < 0.5
    known = predictive_of_any_group(fit, rows).mean()
    np.testing.assert_allclose(known, fit.predict(rows), rtol=1e-9)


def test_pages_and_plots_draw_any_group_and_say_so(fit, rows):
    page = conditional.summary(fit)["responses"][0]
    assert "a new group varies as groups do" in page["bands"]["caption"]
    assert "modes" not in page["densities"]["caption"]
    bands = profile(fit, "x").predictive(fit).quantile(np.array([0.05, 0.95]))
    assert np.median(bands[1] - bands[0]) > 4 * 3.3
    axes = bvb.plots.quantiles(fit, "x")
    low, high = np.array(axes.get_ylim())
    assert np.isfinite([low, high]).all()
    assert " the mean of y rises by " in finding.sentences(fit, [])[0]


def test_humps_are_told_where_they_are_drawn():
    rng = np.random.default_rng(2)
    x = rng.uniform(0, 1, 300)
    y = np.where(rng.random(300) < 0.5, -2.0, 2.0) + x + 0.3 * rng.normal(size=300)
    two = bvb.DensityRegression("y ~ x", {"x": x, "y": y}, n_components=2)
    page = conditional.summary(two.fit(seed=1, restarts=2, draws=60))["responses"][0]
    assert "Several modes: several kinds of rows." in page["densities"]["caption"]
