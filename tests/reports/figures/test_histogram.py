"""Bars and curve of a response without covariates have one scale."""

import re

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.reports.figures.histogram import fitted_histogram


@pytest.mark.parametrize(("family", "shape"), [("gaussian", "med"), ("poisson", "median")])
def test_heights_of_the_curve_add_up_to_the_rows(family, shape):
    rng = np.random.default_rng(1)
    values = rng.normal(size=300) if shape == "med" else rng.poisson(4.0, 300).astype(float)
    data = pd.DataFrame({"y": values})
    fit = bvb.DensityRegression("y ~ 1", data, n_components=1, family=family).fit(seed=1, draws=25)
    figure = fitted_histogram(fit, "y", values)
    paths = dict(re.findall(r'<path class="(\w+)" d="([^"]*)"', figure["drawing"]))
    bars = re.findall(r"M\d+ 1000V(\d+)H", paths["b2"])
    heights = np.array([1000.0 - float(top) for top in bars])
    x, y = np.array(re.findall(r"(\d+) (\d+)", paths[shape]), dtype=float).T
    curve = 1000.0 - (np.interp(np.linspace(0.0, 1000.0, 161), x, y) if shape == "med" else y)
    # Bars touch one another: the mean height of the curve over them is that of the bars.
    share = heights.sum() / len(heights) if shape == "med" else heights.sum() / len(curve)
    assert curve.mean() == pytest.approx(share, rel=0.1)
    assert figure["y_title"] == "rows" and len(bars) >= 8
