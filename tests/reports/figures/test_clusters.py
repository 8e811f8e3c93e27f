"""Pictures of clusters and scores: the variables that are chosen, and places inside the drawing."""

import re

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.reports.sections import SECTIONS


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    upper = rng.random(60) < 0.5
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=["noise", "far", "near"])
    return frame.assign(far=frame["far"] + 9.0 * upper, near=frame["near"] + 4.0 * upper)


def test_the_two_variables_that_separate_best_are_drawn(data):
    fit = bvb.GaussianMixture("~ noise + far + near", data, n_components=2).fit(seed=1, draws=30)
    picture = SECTIONS["pairs"].short(fit)["clusters"]
    assert (picture["x_title"], picture["y_title"]) == ("far", "near")
    assert "separate the components best" in picture["caption"]
    assert [text for *_, text, _ in picture["inner_labels"]] == ["1", "2"]
    places = np.array([[left, up] for left, up, *_ in picture["inner_labels"]])
    assert ((places > 0.0) & (places < 100.0)).all()
    assert abs(np.diff(places[:, 0]).item()) > 30.0  # the centres are apart


def test_one_variable_has_a_histogram_whose_parts_add_up(data):
    fit = bvb.GaussianMixture("~ far", data, n_components=2).fit(seed=1, draws=30)
    picture = SECTIONS["pairs"].short(fit)["clusters"]
    heights = {
        kind: 1000.0 - np.interp(range(1001), *np.array(re.findall(r"(\d+) (\d+)", path), float).T)
        for kind, path in re.findall(r'<path class="([\w ]+)" d="([^"]*)"', picture["drawing"])
        if kind not in ("grid", "axis", "b2")
    }
    parts = heights["curve k1"] + heights["curve k2"]
    np.testing.assert_allclose(parts, heights["med"], atol=2.0)
    assert len(picture["legend"]) == 2


def n_named(text):
    """Arrows that a label names: "a", "a, b" or "a, b and 2 more"."""
    names, _, more = text.partition(" and ")
    return len(names.split(", ")) + int(more.split()[0] if more else 0)


def test_arrows_of_loadings_stay_inside_with_names_apart(data):
    data = data.assign(both=data["far"] + data["near"], other=-data["far"])
    fit = bvb.BayesianPCA("~ noise + far + near + both + other", data).fit(seed=1, draws=30)
    picture = SECTIONS["scores"].short(fit)["scores"]
    texts = [text for *_, text, _ in picture["inner_labels"]]
    assert sum(map(n_named, texts)) == len(data.columns)  # names of near arrows stand together
    places = np.array([[left, up] for left, up, *_ in picture["inner_labels"]])
    assert ((places >= 0.0) & (places <= 100.0)).all()
    far = np.abs(places[:, None] - places) >= [24.9, 6.9]
    assert (far.any(axis=2) | np.eye(len(places), dtype=bool)).all()
    for left, _, _, kind in picture["inner_labels"]:
        assert kind.startswith("before" if left > 50.0 else "after")  # never over the edge
