"""Remedies name what stands in the data, and can be written into the formula as they are."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.reports.cells.markup import code as as_html
from bayesvb.results.checks.remedies import Remedies


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    return pd.DataFrame(rng.normal(size=(60, 4)), columns=["y", "x", "Solar.R", "z"])


def remedies(formula, rows):
    model = bvb.DensityRegression(formula, rows, n_components=1)
    return Remedies(model.fit(seed=1, restarts=1, draws=50))


def test_names_that_are_none_stand_in_backquotes(rows):
    told = remedies("y ~ x + `Solar.R`", rows)
    product = told.product("Solar.R", "x")
    assert product == "Add the interaction `` `Solar.R`:x `` to the formula."
    assert "`` s(`Solar.R`) ``" in told.mean("Solar.R", distinct=60)
    assert "sigma(`Solar.R`)" in told.spread("Solar.R")
    for text in ("`Solar.R`:x", "s(`Solar.R`)"):
        bvb.DensityRegression(f"y ~ {text}", rows, n_components=1)
    assert "<code>`Solar.R`:x</code>" in as_html(product)


def test_curves_are_advised_for_numbers_without_one(rows):
    straight = remedies("y ~ s(x) + z + `Solar.R`", rows)
    numbers = {"x": 60, "z": 60, "Solar.R": 60}
    assert "add curves, `s(z)`, `` s(`Solar.R`) ``." in straight.curved(numbers)
    assert "add a curve, `s(z)`." in straight.curved({"x": 60, "z": 60})
    assert "add interactions." in straight.curved({"x": 60, "z": 3})


def test_dates_are_told_as_dates(rows):
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(60), unit="D")
    dated = rows.assign(day=day, y=rows["y"] + np.arange(60))
    fit = bvb.DensityRegression("y ~ day", dated, n_components=1).fit(seed=1, restarts=1, draws=50)
    from bayesvb.reports.sections.finding import sentences

    assert sentences(fit)[0].startswith("From day = 2020-01-06 21:36 to 2020-02-23 02:24 the mean")


@pytest.mark.parametrize(
    ("response", "shift", "log"),
    [("y", 0.0, "`log(y)`"), ("`my y`", 0.0, "`` log(`my y`) ``"), ("I(y + 1)", 0.0, "log(I(y + 1"),
     ("y", -9.0, ""), ("log1p(y)", 0.0, ""), ("np.log(y)", 0.0, ""), ("log(y / (9 - y))", 0.0, "")],
)  # fmt: skip
def test_a_logarithm_is_advised_for_positive_responses_without_one(rows, response, shift, log):
    y = 1.0 + np.abs(rows["y"]) + shift
    told = remedies(f"{response} ~ x", rows.assign(**{"y": y, "my y": y}))
    texts = [told.skewed(), told.fanned(), told.curved({}), told.bounded(1.0, largest=False)]
    assert all(log in text if log else "log" not in text for text in texts)
    assert "log" not in told.bounded(1.0, largest=True)  # no logarithm bounds a response above
