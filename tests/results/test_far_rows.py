"""Outliers: named first, whatever they do to the other checks, and not where tails are heavy."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.results.checks.far_rows import outliers


def data(size: float, n: int = 150) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    x, noise = rng.normal(size=(2, n))
    rows = pd.DataFrame({"x": x, "y": x + noise}, index=[f"row {i}" for i in range(n)])
    rows.loc["row 7", "y"] = size
    return rows


@pytest.mark.parametrize("size", [9.0, -30.0, 1000.0])
@pytest.mark.parametrize("n_components", [1, 2])
@pytest.mark.quick(size=(-30.0,))
def test_an_outlier_is_named_and_is_the_one_remedy(size, n_components):
    """Of two components one holds that row alone, and predicts it as one of many."""
    model = bvb.DensityRegression("y ~ x", data(size), n_components=n_components)
    table = model.fit(seed=1, restarts=2, draws=60).check()
    far = table.loc["Rows far off"]
    assert table.index[0] == "Rows far off" and far["grade"] == "problem" and far["number"] == 1
    assert far["remedy"].startswith(f"Row row 7 (y = {size:.4g}) is an outlier")
    fit = table[(table["group"] != "computation") & (table["grade"] != "ok")].iloc[1:]
    assert set(fit["remedy"]) <= {"Fix *Rows far off* first: it may explain this."}
    assert str(table).count("it may explain this") <= 3  # one for each grade, one of the accuracy


def test_a_variable_of_a_joint_density_has_outliers_too():
    table = bvb.BayesianPCA("~ x + y", data(40.0)).fit(seed=1, draws=60).check()
    assert table.loc["Rows far off", "remedy"].startswith("Row row 7 (y = 40) is an outlier")


def test_a_right_fit_has_none():
    fit = bvb.DensityRegression("y ~ x", data(0.0), n_components=1).fit(seed=1, draws=60)
    assert fit.check().loc["Rows far off", "grade"] == "ok"


def test_rows_in_heavy_or_skewed_tails_are_none():
    rng = np.random.default_rng(3)
    heavy, skewed = rng.standard_t(3, size=500), rng.exponential(size=500) ** 1.5
    assert np.abs(heavy).max() > 8.0 and skewed.max() > 8.0
    assert not outliers(heavy).any() and not outliers(skewed).any()
    assert outliers(np.append(heavy, 1e4)).nonzero()[0].tolist() == [500]


def test_outliers_do_not_depend_on_the_scale_that_they_distort():
    rng = np.random.default_rng(5)
    scores = np.append(rng.normal(size=200), [60.0, -50.0])
    for shift, factor in ((0.0, 1.0), (0.5, 0.01), (-3.0, 7.0)):
        assert outliers(shift + factor * scores).nonzero()[0].tolist() == [200, 201]


def test_a_twentieth_of_the_rows_is_a_component_and_no_outlier():
    scores = np.append(np.random.default_rng(6).normal(size=190), np.full(10, 9.0))
    assert not outliers(scores).any()
