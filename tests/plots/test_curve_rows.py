"""Curves of networks are averages over observed rows, unless the others are asked to be held."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb import plots
from bayesvb.errors import DataError
from bayesvb.plots.curve_rows import curve_rows

FEW = {"seed": 1, "restarts": 1, "draws": 40, "tol": 1e-2}
COUNTS = np.arange(30.0) % 4


@pytest.fixture(autouse=True)
def closed():
    matplotlib.use("Agg")
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.uniform(-1.0, 1.0, size=(30, 2)), columns=["x", "z"])
    frame["g"] = np.where(rng.random(30) < 0.5, "a", "b")
    return frame.assign(y=2.0 * frame["x"] + frame["z"] + 0.3 * rng.normal(size=30))


@pytest.fixture(scope="module", params=[None, COUNTS], ids=["rows", "case weights"])
def fit(request, data):
    model = bvb.ConditionalMixtureNetwork("y ~ x + z + g", data, n_experts=2, weights=request.param)
    return model.fit(**FEW)


def share(fit):
    weights = np.ones(30) if fit.model.weights is None else COUNTS
    return weights / weights.sum()


def test_a_curve_of_a_network_is_the_average_over_the_rows_as_on_its_page(fit, data):
    rows = curve_rows(fit, "x", [-0.5, 0.5], None, None)
    assert rows.words == "averages over all 30 rows as observed"
    points = np.linspace(-2.0, 2.0, 5)
    found = rows.predictive(fit, None).density_at(points)
    for place, x in enumerate((-0.5, 0.5)):
        each = fit.predictive(data[["x", "z", "g"]].assign(x=x)).density_at(points)
        np.testing.assert_allclose(found[:, place], each @ share(fit))


def test_what_is_named_is_held_and_the_rest_averaged(fit, data):
    rows = curve_rows(fit, "x", [0.5], {"g": "b"}, None)
    each = fit.predictive(data[["x", "z", "g"]].assign(x=0.5, g="b")).mean()
    np.testing.assert_allclose(rows.predictive(fit, None).mean(), each @ share(fit))
    assert rows.words == "g = b, averages over all 30 rows as observed"


def test_others_say_whether_they_are_held_or_averaged_over(fit, data):
    held = curve_rows(fit, "x", [0.5], {"g": "b"}, "hold")
    middle = np.average(data["z"], weights=share(fit))
    typical = pd.DataFrame({"x": [0.5], "z": [middle], "g": ["b"]})
    np.testing.assert_allclose(held.predictive(fit, None).mean(), fit.predictive(typical).mean())
    line = bvb.DensityRegression("y ~ x + z", data, n_components=1).fit(seed=1, restarts=1)
    assert curve_rows(line, "x", [0.5], None, None).n_each == 1
    assert curve_rows(line, "x", [0.5], None, "average").n_each == 30


def test_plots_draw_the_averages(fit):
    assert "averages over all 30 rows" in plots.quantiles(fit, "x").get_title(loc="left")
    held = plots.weights(fit, "x", others="hold").get_title(loc="left")
    assert "averages" not in held and held.startswith("z = ")
    plots.ridges(fit, "x", [0.0])
    with pytest.raises(DataError, match="others='mean'"):
        plots.weights(fit, "x", others="mean")
