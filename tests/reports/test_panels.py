"""Panels beside the picture: dots, bars and the numbers beside them."""

import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.reports.panels import panels
from bayesvb.reports.panels.dots import Dot, dot_panel
from bayesvb.reports.sections.finding import sentences


def test_dots_lie_on_one_scale_that_includes_zero():
    dots = [
        Dot(label="a", estimate=2.0, interval=(1.0, 4.0), decimals=1),
        Dot(label="b", estimate=30.0, sd=10.0, decimals=0, scale=(20.0, 10.0)),
    ]
    panel = dot_panel(dots, title="", caption="", heads=("", ""), n_in_full=1)
    assert [row["places"] for row in panel["rows"]] == [[25.0, 50.0, 100.0], [0.0, 25.0, 50.0]]
    assert panel["ruler"]["origin"] == 0.0
    assert [row["less"] for row in panel["rows"]] == [False, True]
    assert panel["rows"][1]["interval"] is None and panel["rows"][1]["sd"] == 10.0


@pytest.mark.parametrize(("low", "origin"), [(-1.0, 50.0), (-3.0, 75.0)])
def test_the_place_of_zero_is_marked(low, origin):
    panel = dot_panel(
        [Dot(label="a", estimate=0.5, interval=(low, 1.0), decimals=1)],
        title="", caption="", heads=("", ""),
    )  # fmt: skip
    assert panel["ruler"]["origin"] == origin


def test_the_exact_posterior_is_shown_beside_the_approximate_one_and_is_the_sentence():
    fit = bvb.Normal("y ~ 1", pd.DataFrame({"y": [1.0, 2.0, 2.5, 4.0, 6.0]})).fit(seed=1)
    (panel,) = panels(fit)
    table = fit.model.exact(fit)
    for row, key in zip(panel["rows"], [("mu", "exact"), ("mu", "factorised")], strict=False):
        assert [row["estimate"], *row["interval"]] == pytest.approx(
            list(table.loc[key, ["mean", "lower", "upper"]])
        )
    mean = panel["rows"][0]
    shown = [f"{one:.{mean['decimals']}f}" for one in (mean["estimate"], *mean["interval"])]
    assert sentences(fit, [])[0].startswith(
        f"The mean of y is {shown[0]} (89% interval {shown[1]} to {shown[2]}), its standard "
    )
