"""Influence drawn: what the table says, with the labels of the rows."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np

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
