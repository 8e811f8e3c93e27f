"""Panels beside the picture: dots, bars and the numbers beside them."""

import pytest

from bayesvb.reports.panels.dots import Dot, dot_panel


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
