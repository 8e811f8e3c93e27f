"""Panels beside the picture: dots, bars and the numbers beside them."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.reports.panels import panels
from bayesvb.reports.panels.dots import Dot, dot_panel, fitting
from bayesvb.reports.sections.candidates import choice_sentence
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


def test_labels_under_a_panel_are_few_and_evenly_spaced_from_zero():
    for low, high in (
        (-457.0, 0.0), (-0.4, 9.4), (0.0, 7.4), (-36.0, 60.0), (-1.0, 0.2), (-52e3, 0.0)
    ):  # fmt: skip
        dot = Dot(label="a", estimate=high, interval=(low, high), decimals=1)
        ruler = dot_panel([dot], title="", caption="", heads=("", ""))["ruler"]
        at = np.array([place for place, _ in ruler["labels"]])
        assert len(at) <= 3 and np.isclose(at, ruler["origin"], atol=0.1).any()
        assert np.ptp(np.diff(at)) < 0.3 if len(at) > 2 else len(at) > 0
        assert all(np.diff(at) > 6.0 * max(len(text) for _, text in ruler["labels"]))


def test_as_many_rows_are_shown_as_fit_beside_the_picture():
    short = Dot(label="x", note="1 to 2", estimate=1.0, decimals=1)
    long = replace(short, label="average number of rooms of a dwelling")
    assert (short.n_lines, long.n_lines) == (2.5, 3.5)
    assert fitting([long, short, short], 6.0) == [long, short] and fitting([long], 1.0) == [long]


def test_each_of_several_responses_has_its_largest_effects_in_its_standard_deviations():
    rng = np.random.default_rng(1)
    data = pd.DataFrame(rng.normal(size=(60, 2)), columns=["x", "w"])
    data["y"] = data["x"] + 0.1 * rng.normal(size=60)
    data["z"] = 100.0 * data["w"] - 50.0 * data["x"] + rng.normal(size=60)
    fit = bvb.DensityRegression("y + z ~ x + w", data, n_components=1)
    (panel,) = panels(fit.fit(seed=1, restarts=1, draws=80))
    shown = [(row["label"], row["note"][0]) for row in panel["rows"]]
    assert shown == [("y", "x"), ("z", "w"), ("z", "x")]
    lengths = [row["places"][1] - panel["ruler"]["origin"] for row in panel["rows"]]
    ratio = [row["estimate"] / data[row["label"]].std(ddof=0) for row in panel["rows"]]
    assert np.array(lengths) / lengths[0] == pytest.approx(np.array(ratio) / ratio[0], abs=0.01)


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


@pytest.fixture(scope="module")
def courses():
    rng = np.random.default_rng(1)
    falls = np.arange(30) < 20
    data = pd.DataFrame({"id": np.repeat(np.arange(30), 4), "t": np.tile(np.arange(4.0), 30)})
    data["w"] = np.repeat(falls + rng.normal(size=30), 4)
    slope = np.repeat(np.where(falls, -1.0, 1.0), 4)
    data["y"] = 3.0 + slope * data["t"] + 0.3 * rng.normal(size=120)
    return data


def test_classes_of_subjects_have_their_courses_and_sizes(courses):
    model = bvb.DensityRegression("y ~ t | gating(1)", courses, n_components=2, group="id")
    fit = model.fit(seed=1, restarts=1, draws=80)
    text = sentences(fit, [])[0]
    first, second = fit.components()["share"]
    assert re.match(r"From t = 0 to 3, y falls from 3\.\d+ to 0\.\d+ in 6\d% \(89%", text)
    assert re.search(
        r" and rises from [23]\.\d+ to [56]\.\d+ in 3\d% of the 30 groups of id\.", text
    )
    (panel,) = panels(fit)
    assert [row["estimate"] for row in panel["rows"]] == pytest.approx([first, second])


def test_covariates_of_the_weights_change_the_probability_of_a_class(courses):
    model = bvb.DensityRegression("y ~ t | gating(w)", courses, n_components=2, group="id")
    (panel,) = panels(model.fit(seed=1, restarts=1, draws=80))
    (row,) = panel["rows"]
    assert row["label"] == "w" and 0.1 < row["estimate"] < 0.9


@pytest.mark.parametrize(
    ("differences", "chosen", "says"),
    [
        ([-90.0, -2.5, 0.0], 2,
         "2 components; more do not predict clearly better: 3 predict better by 2.5 nats "
         "(SE 3.0)."),
        ([-90.0, 0.0, -4.5], 2, "2 components predict best: 3 predict worse by 4.5 nats (SE 3.0)."),
        ([-90.0, -9.5, 0.0], 3,
         "3 components, the most that were tried: 2 predict worse by 9.5 nats (SE 3.0)."),
        ([0.0], 1, "1 component, the only number that was tried."),
    ],
)  # fmt: skip
def test_the_choice_of_a_number_of_components_is_stated_with_the_next_best(
    differences, chosen, says
):
    index = range(1, len(differences) + 1)
    frame = pd.DataFrame({"elpd_diff": differences, "dse": 3.0}, index=index)
    assert choice_sentence(frame, chosen) == says
