"""Plots draw what the numbers say, on the axes that they are given, in the colours of reports."""

import re

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from bayesvb import ConditionalMixtureNetwork, DensityRegression, effects, plots
from bayesvb.drawing import marks
from bayesvb.drawing.palette import DARK, LIGHT, palette_of
from bayesvb.errors import DataError


@pytest.fixture(autouse=True)
def closed():
    matplotlib.use("Agg")
    yield
    plt.close("all")


def line(axes, number=-1):
    return axes.get_lines()[number].get_data()


def words(axes):
    return [text.get_text() for text in axes.texts]


def test_bands_end_at_the_quantiles_over_the_data(regimes, regimes_fit):
    axes = plots.quantiles(regimes_fit, "x", at={"z": 1.0})
    x, median = line(axes)
    expected = regimes_fit.predict({"x": x, "z": 1.0 + 0 * x}, kind="quantile", q=0.5)
    np.testing.assert_allclose(median, expected)
    assert words(axes) == ["5%", "25%", "median", "75%", "95%"]
    points = axes.collections[0].get_offsets()
    np.testing.assert_allclose(points, regimes[["x", "y"]])
    assert axes.get_title(loc="left") == "z = 1"
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "y")


def test_ridges_are_densities_of_the_same_height(regimes_fit):
    axes = plots.ridges(regimes_fit, "x", [-1.0, 1.0])
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["x = -1", "x = 1"]
    z = regimes_fit.model.design.frame["z"].mean()
    for row, at in enumerate([-1.0, 1.0]):
        y, height = line(axes, 2 * row + 1)
        expected = regimes_fit.predict({"x": [at], "z": [z]}, kind="density", at=y).to_numpy()[0]
        shape = marks.RIDGE * expected / expected.max()
        np.testing.assert_allclose(height - row, shape, atol=1e-12)


def test_weights_are_means_of_the_draws(regimes_fit):
    axes = plots.weights(regimes_fit, "x")
    x, weight = line(axes, 0)
    z = regimes_fit.model.design.frame["z"].mean()
    expected = regimes_fit.weights_at({"x": x, "z": z + 0 * x}).mean(axis=0)[:, 0]
    np.testing.assert_allclose(weight, expected)
    assert words(axes) == ["1", "2"]


def test_levels_are_dots_with_bars_in_their_order(regimes):
    side = pd.Categorical(np.where(regimes["x"] > 0, "right", "left"))
    data = regimes.assign(side=side)
    model = DensityRegression("y ~ side", data, n_components=2)
    fit = model.fit(seed=1, restarts=1, draws=50)
    axes = plots.quantiles(fit, "side")
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["left", "right"]
    median = fit.predict({"side": ["left", "right"]}, kind="quantile", q=0.5)
    np.testing.assert_allclose(line(axes), [[0, 1], median])
    points = axes.collections[0].get_offsets()
    np.testing.assert_array_equal(np.round(points[:, 0]), data["side"] == "right")
    axes = plots.weights(fit, "side")
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["1", "2"]
    axes = effects.predictions(fit, "side").plot()
    estimates = effects.predictions(fit, "side").summary["estimate"]
    np.testing.assert_allclose(line(axes), [[0, 1], estimates])


def test_effects_are_drawn_where_they_are(regimes_fit):
    found = effects.predictions(regimes_fit, ["x", "z"], target="quantile", q=0.9)
    axes = found.plot()
    for number, (_, mine) in enumerate(found.summary.groupby("z")):
        x, y = line(axes, number)
        np.testing.assert_allclose(np.stack([x, y]).T, mine[["x", "estimate"]])
    assert axes.get_ylabel() == "quantile of y at q = 0.9"
    assert len(words(axes)) == 3


def test_averages_are_listed_beside_where_nothing_changes(regimes_fit):
    found = effects.comparisons(
        regimes_fit, {"z": [0, 1]}, average_by=True, comparison="ratio", target="sd"
    )
    axes = found.plot()
    assert list(line(axes, 0)[0]) == [1.0, 1.0]
    assert list(line(axes, 1)[0]) == found.summary["estimate"].tolist()
    assert axes.get_xlabel() == "ratio of standard deviation of y\n(z: 1 / 0)"


def test_axes_that_are_given_are_used(regimes_fit):
    _, axes = plt.subplots()
    number = len(plt.get_fignums())
    for draw in (plots.quantiles, plots.weights, plots.ridges):
        assert draw(regimes_fit, "x", ax=axes) is axes
    assert effects.slopes(regimes_fit, "x", ["x"]).plot(axes) is axes
    assert len(plt.get_fignums()) == number


def test_too_many_curves_are_refused(regimes_fit):
    with pytest.raises(DataError, match="150 curves"):
        effects.predictions(regimes_fit).plot()
    with pytest.raises(DataError, match="along='w'"):
        plots.weights(regimes_fit, "w")
    with pytest.raises(DataError, match="at= names 'x'"):
        plots.weights(regimes_fit, "x", at={"x": 1})


def test_labels_stand_apart_in_their_order(rng):
    _, axes = plt.subplots()
    ends = rng.uniform(size=6)
    marks.end_labels(axes, ends.tolist(), [str(k) for k in range(6)], ["k"] * 6)
    at = np.array([text.xy[1] for text in axes.texts])
    assert (np.diff(np.sort(at)) >= marks.GAP - 1e-12).all()
    np.testing.assert_array_equal(np.argsort(at), np.argsort(ends))


def test_the_colours_are_those_of_reports(root):
    style = (root / "reports/static/report.css").read_text(encoding="utf-8")
    light, dark = (part for part in style.split("@media")[:2])
    for part, palette in ((light, LIGHT), (dark, DARK)):
        found = dict(re.findall(r"--([\w-]+): (#\w{6})", part))
        assert palette.series == tuple(found[f"series-{i}"] for i in range(1, 9))
        assert (palette.accent, palette.ink) == (found["accent"], found["fg"])
        assert (palette.mute, palette.line) == (found["mute"], found["line"])


@pytest.mark.parametrize(("style", "palette"), [("default", LIGHT), ("dark_background", DARK)])
def test_colours_follow_the_background(style, palette):
    with plt.style.context(style):
        _, axes = plt.subplots()
        assert palette_of(axes) is palette


def test_the_overview_goes_along_a_covariate_and_not_along_groups():
    x = np.arange(60.0)
    data = {"id": x % 6, "x": x, "y": x**2}
    fit = DensityRegression("y ~ x + (1 | id)", data, n_components=1).fit(seed=1, restarts=1)
    axes = fit.plot().axes
    assert axes[0].get_xlabel() == "x"


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.quick(weighted=(True,))
@pytest.mark.heavy
def test_classes_of_networks_are_averaged_over_observed_rows_by_case_weight(weighted):
    rng = np.random.default_rng(2)
    x, z = rng.normal(size=(2, 30))
    label = np.where(x + 2.0 * z + 0.3 * rng.normal(size=30) > 0.0, "yes", "no")
    data = pd.DataFrame({"x": x, "z": z, "label": label, "w": 1.0 + 4.0 * (z > 0.5)})
    model = ConditionalMixtureNetwork(
        "label ~ x + z", data, n_experts=2, weights="w" if weighted else None
    )
    fit = model.fit(seed=1, restarts=1, draws=300, covariance="mean-field")
    axes = fit.plot("x").axes[0]
    assert "averages over all 30 rows as observed" in "".join(
        text.get_text() for text in (*axes.texts, axes.title, axes._left_title)
    )
    lines = [line for line in axes.get_lines() if len(line.get_xdata()) == 50]
    assert len(lines) == 2
    for place in (0, 25, 49):
        at = lines[0].get_xdata()[place]
        p = fit.predict(data.assign(x=at), kind="probability").to_numpy()
        expected = np.average(p, axis=0, weights=data["w"] if weighted else None)
        shown = [line.get_ydata()[place] for line in lines]
        np.testing.assert_allclose(sorted(shown), sorted(expected), atol=0.02)


def test_quantiles_go_along_the_first_covariate_that_is_no_grouping(regimes_fit):
    alone, named = (plots.quantiles(regimes_fit, along) for along in (None, "x"))
    assert alone.get_xlabel() == named.get_xlabel() == "x"


def test_each_covariate_has_a_picture():
    rng = np.random.default_rng(0)
    x = rng.normal(size=80)
    data = {"x": x, "z": rng.normal(size=80), "g": np.where(x > 0, "a", "b"), "y": x}
    data["y"] = x + rng.normal(size=80)
    fit = DensityRegression("y ~ x + z + g", data, n_components=1).fit(seed=1)
    assert [axes.get_xlabel() for axes in fit.plot().axes[:3]] == ["x", "z", "g"]
    assert fit.plot("z").axes[0].get_xlabel() == "z"
    figure = fit.conditional_effects()
    assert [axes.get_xlabel() for axes in figure.axes] == ["x", "z", "g"]
    expected = effects.predictions(fit, "z").summary["estimate"]
    np.testing.assert_allclose(figure.axes[1].get_lines()[0].get_ydata(), expected)
    assert len(fit.conditional_effects(["z"], target="sd").axes) == 1
    with pytest.raises(DataError, match="along='w'"):
        fit.conditional_effects(["w"])
