"""Drawings that stretch: places in per cent, ticks at round numbers, labels apart."""

import re

import numpy as np
import pytest

from bayesvb.reports.figures.plot import GAP, Canvas, level_axis, number_axis, plotted


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
    canvas.line("med", x, np.array([0.0, 1.0, 2.0]))
    canvas.band("b1", x, np.zeros(3), np.ones(3))
    canvas.dots("pts", np.array([5.0, 11.0, np.nan]), np.array([1.0, 1.0, 1.0]))
    canvas.bars("thin", x, np.zeros(3), np.ones(3))
    canvas.columns("alone", x, np.array([True, False, False]))
    paths = dict(canvas.paths)
    assert paths["med"] == "M0 1000L500 500L1000 0"
    assert paths["b1"] == "M0 500L500 500L1000 500L1000 1000L500 1000L0 1000Z"
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
