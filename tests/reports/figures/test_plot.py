"""Drawings that stretch: places in per cent, ticks at round numbers, labels apart."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesvb.reports.cells.plain import numbers_only
from bayesvb.reports.figures.plot import (
    CELL,
    DENSE,
    GAP,
    Canvas,
    level_axis,
    log_axis,
    number_axis,
    panelled,
    plotted,
    row_axis,
)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3e-4, 2e-4), (1e6, 5.2e6), (7.0, 7.0)])
def test_ticks_are_round_and_inside(low, high):
    axis = number_axis(low, high)
    at = np.array([value for value, _ in axis.ticks])
    assert 1 <= len(at) <= 7 and ((at >= low - 1e-12) & (at <= high + 1e-9 * abs(high))).all()
    steps = np.diff(at)
    np.testing.assert_allclose(steps, steps[0] if len(steps) else 1.0)


def test_every_path_is_drawn_within_its_place():
    canvas = Canvas(number_axis(0.0, 10.0), number_axis(0.0, 2.0))
    x = np.array([0.0, 5.0, 10.0])
    canvas.line("med", x, np.array([0.0, 1.0, 1.0]))
    canvas.band("b1", x, np.zeros(3), np.ones(3))
    canvas.dots("pts", np.array([5.0, 11.0, np.nan]), np.array([1.0, 1.0, 1.0]))
    canvas.bars("thin", x, np.zeros(3), np.ones(3))
    canvas.columns("alone", x, np.array([True, False, False]))
    canvas.boxes("box", x[:1], x[1:2], np.zeros(1), np.ones(1))
    canvas.across("high", 1.5)
    canvas.upright("five", 5.0)
    canvas.upright("none", 11.0)
    paths = dict(canvas.paths)
    assert paths["med"] == "M0 1000L500 500L1000 500"
    assert paths["b1"] == "M0 500L1000 500L1000 1000L0 1000Z"  # corners only
    assert paths["box"] == "M0 1000V500H500V1000Z"
    assert (paths["high"], paths["five"]) == ("M0 250L1000 250", "M500 1000L500 0")
    assert "none" not in paths
    assert paths["pts"] == "M500 500h.1"  # what lies outside, or nowhere, is left out
    assert paths["thin"].count("M") == 3
    assert paths["alone"] == "M0 0L250 0L250 1000L0 1000Z"


def test_a_figure_is_text_free_and_its_labels_are_apart():
    canvas = Canvas(level_axis(["a", "b"]), number_axis(0.0, 1.0))
    for height in (0.97, 0.98, 0.99, 0.1):
        canvas.end(height, f"{height}")
    found = plotted(canvas, x="x", y="y", alt="Words.", caption="Words.")
    assert re.sub(r'<path class="[\w ]+" d="[MLHZh0-9 .]+"/>', "", found["drawing"]) == ""
    at = [place for place, *_ in found["end_labels"]]
    assert (np.diff(at) >= GAP - 1e-9).all() and max(at) <= 100.0
    assert [text for _, text in found["x_labels"]] == ["a", "b"]


def test_equal_ends_keep_their_order():
    canvas = Canvas(number_axis(0.0, 1.0), number_axis(0.0, 1.0))
    for name in ("5%", "25%", "median"):
        canvas.end(0.0, name)
    ends = plotted(canvas, x="x", y="y", alt="", caption="")["end_labels"]
    assert [text for _, text, _ in ends] == ["5%", "25%", "median"]


@given(
    st.lists(st.integers(0, 40), min_size=2, max_size=30), st.integers(1, 40).map(lambda k: 25 * k)
)
def test_a_curve_without_its_straight_corners_is_the_same_curve(heights, width):
    x = np.linspace(0.0, width, len(heights)).round()
    canvas = Canvas(number_axis(0.0, 1000.0), number_axis(0.0, 1000.0))
    canvas.line("curve", x, np.array(heights, dtype=float))
    kept = np.array(re.findall(r"(\d+) (\d+)", canvas.paths[0][1]), dtype=float)
    assert len(kept) <= len(heights) and kept[-1].tolist() == [width, 1000.0 - heights[-1]]
    alone = np.flatnonzero(np.diff(x, prepend=-1.0, append=-1.0)[:-1] != 0.0)  # no two at a place
    if len(alone) == len(x):
        drawn = np.interp(x, kept[:, 0], 1000.0 - kept[:, 1])
        np.testing.assert_allclose(drawn, heights, atol=1e-9)


def test_points_that_would_be_drawn_over_one_another_are_drawn_once(rng):
    canvas = Canvas(number_axis(0.0, 1.0), number_axis(0.0, 1.0))
    few, many = rng.uniform(size=(2, DENSE)), rng.uniform(size=(2, 50_000))
    canvas.dots("few", *few)
    canvas.dots("many", *many)
    paths = dict(canvas.paths)
    assert paths["few"].count("M") == DENSE
    at = np.array(re.findall(r"M(\d+) (\d+)h", paths["many"]), dtype=float)
    assert len(at) == len(np.unique(at, axis=0)) < 50_000
    down = 1000.0 * np.array([1.0, -1.0]) * (many.T[:100] - [0.0, 1.0])
    nearest = np.abs(down[:, None] - at).max(axis=2).min(axis=1)
    assert nearest.max() <= CELL + 0.5  # none is lost


def test_rows_have_their_names_and_room_and_powers_of_ten_their_words():
    rows = row_axis(["first", "a name that is much longer than all others here"])
    assert [at for at, _ in rows.ticks] == [0.0, -1.0] and rows.share(0.0) > rows.share(-1.0)
    assert max(len(text) for _, text in rows.ticks) <= 26 and "…" in rows.ticks[1][1]
    canvas = Canvas(log_axis(1e-7, 2.0), rows)
    assert [text for _, text in canvas.x.ticks] == ["10⁻⁷", "10⁻⁵", "0.001", "0.1"]
    figure = panelled([("one", canvas), ("", canvas)], x="x", y="", alt="Words.", caption="Words.")
    first, _ = figure["drawings"]
    assert (
        first["named"] == len(rows.ticks[1][1])
        and first["height"] == 3.0
        and first["title"] == "one"
    )
    assert numbers_only(figure).keys() == {"x_title", "y_title", "alt", "caption"}
