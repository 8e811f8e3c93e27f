"""Influence drawn: what the table says, with the labels of the rows."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import bayesvb as bvb
from bayesvb import plots


def test_points_are_the_measures_and_the_largest_are_named(regimes_fit):
    matplotlib.use("Agg")
    axes = plots.influence(regimes_fit, n=3)
    table = regimes_fit.influence()
    x, y = axes.get_lines()[0].get_data()
    np.testing.assert_allclose(x, table["leverage"])
    np.testing.assert_allclose(y, table["cooks_distance"])
    expected = [str(row) for row in table["cooks_distance"].nlargest(3).index]
    assert [text.get_text() for text in axes.texts] == expected
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("leverage", "Cook's distance")
    plt.close("all")


def test_groups_stand_in_the_order_of_the_data():
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"id": np.repeat(list("abcdefgh"), 3), "y": rng.standard_normal(24)})
    model = bvb.DensityRegression("y ~ 1 | gating(1)", data, n_components=1, group="id")
    fit = model.fit(seed=1, restarts=1, draws=50)
    axes = plots.influence(fit, n=1)
    x, y = axes.get_lines()[0].get_data()
    np.testing.assert_allclose(x, np.arange(1.0, 9.0))
    np.testing.assert_allclose(y, fit.influence()["cooks_distance"])
    assert axes.get_xlabel() == "order of the data"
    plt.close("all")
