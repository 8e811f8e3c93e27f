"""Curves of classes stand over the observed shares of the rows."""

import re

import numpy as np
import pytest

from bayesvb.reports.figures.class_curves import class_numbers
from bayesvb.reports.rows.bins import bins
from bayesvb.reports.sections import SECTIONS


@pytest.fixture(scope="module")
def picture(class_fit):
    return SECTIONS["classes"].short(class_fit)


def test_strokes_are_the_observed_shares_of_ranges(class_fit, picture):
    design = class_fit.model.design
    at = np.arange(design.n_rows)
    found = bins(design, picture["along"], at)
    x = design.frame[picture["along"]].to_numpy()
    for one, after in zip(found, [*found[1:], None], strict=True):
        assert (x[one.rows] >= one.low).all() and len(one.rows) >= 10
        assert (x[one.rows] <= one.high).all() and (after is None or one.high <= after.low)
    paths = dict(re.findall(r'<path class="([\w ]+)" d="([^"]*)"', picture["curves"]["drawing"]))
    strokes = re.findall(r"M\d+ (\d+)L\d+ (\d+)", paths["share k3"])
    shares = [(class_numbers(class_fit)[one.rows] == 2).mean() for one in found]
    heights = [(1.04 - 1.08 * float(y) / 1000.0) for y, _ in strokes]
    assert heights == pytest.approx(shares, abs=0.002)
    assert all(first == second for first, second in strokes)


def test_classes_are_named_in_a_legend_with_their_styles(picture):
    figure = picture["curves"]
    assert figure["legend"] == [
        ("setosa", "k1"), ("versicolor", "k2"), ("virginica", "k3"),
    ]  # fmt: skip
    kinds = re.findall(r'class="curve (\w+)"', figure["drawing"])
    assert kinds == [kind for _, kind in figure["legend"]]
