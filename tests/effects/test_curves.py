"""Smooth curves and effects of groups, component by component."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesvb as bvb
from bayesvb.errors import DataError


@pytest.fixture(scope="module")
def fit():
    rng = np.random.default_rng(0)
    g = np.repeat(np.arange(12), 15)
    x = rng.uniform(0.0, 6.0, 180)
    y = np.sin(x) + 0.7 * rng.normal(size=12)[g] + 0.2 * rng.normal(size=180)
    frame = pd.DataFrame({"y": y, "x": x, "g": [f"g{one}" for one in g]})
    model = bvb.DensityRegression("y ~ s(x) + (1 | g) | s(x, k=4)", frame, n_components=2)
    return model.fit(seed=1, restarts=1)


def test_a_curve_is_how_the_mean_of_a_component_changes(fit):
    table = bvb.effects.curves(fit, points=5)
    assert list(table.columns) == ["curve", "component", "x", "estimate", "lower", "upper"]
    assert (table["lower"] < table["estimate"]).all() and (table["estimate"] < table["upper"]).all()
    one = table[table["component"] == 1]
    frame = pd.DataFrame({"x": one["x"], "g": "g3"})
    design = fit.model.design.new(frame).matrices["mean"]
    centre = fit.named_draws.values["beta"].mean(axis=0)[0] @ design.T
    assert_allclose(np.diff(one["estimate"]), np.diff(centre), atol=1e-10)


def test_curves_of_the_gate_are_of_its_coefficients(fit):
    table = bvb.effects.curves(fit, "gating")
    assert set(table["component"]) == {2}
    assert set(table["curve"]) == {"s(x)"}


def test_degrees_of_freedom_are_the_trace_of_what_the_rows_decide(fit):
    """The referee inverts the joint precision of the coefficients and the common ones."""
    table = bvb.effects.smoothness(fit)
    weights, experts = fit.responsibilities().to_numpy(), fit.q.experts
    prior, x = experts.prior, fit.model.source.take(np.arange(180)).designs["mean"].T
    n, noise = x.shape[1], experts.shape / experts.rate[..., 0]
    spread, pick = np.diag(prior.terms), np.eye(n)[:, prior.columns.places]
    joint = np.zeros((2 * n + len(prior.common),) * 2)
    joint[2 * n :, 2 * n :] = np.diag(prior.common) + noise.sum() * pick.T @ spread @ pick
    grams = [noise[k] * x.T @ (weights[:, [k]] * x) for k in (0, 1)]
    for k in (0, 1):
        own = slice(k * n, (k + 1) * n)
        joint[own, own] = grams[k] + noise[k] * spread
        joint[own, 2 * n :] = -noise[k] * spread @ pick
        joint[2 * n :, own] = joint[own, 2 * n :].T
    covariance = np.linalg.inv(joint)
    places = list(fit.model.design.curves("mean")[0].places)
    for k in (0, 1):
        own = slice(k * n, (k + 1) * n)
        expected = np.diag(covariance[own, own] @ grams[k])[places].sum()
        assert_allclose(table["edf"][k], expected, rtol=1e-4)
    assert table["coefficients"].tolist() == [9, 9]
    assert ((table["edf"] > 1.0) & (table["edf"] < 9.0)).all()


def test_degrees_of_freedom_are_none_of_point_estimates(fit):
    model = bvb.DensityRegression("y ~ s(x)", fit.model.design.frame, n_components=1)
    with pytest.raises(DataError, match="not available"):
        bvb.effects.smoothness(model.fit("em", seed=1, restarts=1))


def test_effects_of_groups_are_coefficients(fit):
    table = bvb.effects.groups(fit)
    assert len(table) == 2 * 13
    own = table.set_index(["component", "group"]).loc[(1, "g3"), "estimate"]
    assert_allclose(own, fit.summary().loc[("mean", 1, "(1 | g)[g3]"), "mean"], rtol=1e-9)


def test_coefficients_and_effects_of_groups_add_up_to_predictions(fit):
    data = fit.model.design.frame.assign(x=lambda frame: frame["x"] + 30.0)
    model = bvb.DensityRegression("y ~ x + (x | g) | 1", data, n_components=1)
    points = model.fit("em", seed=1, restarts=1, max_iter=200)
    coefficients = points.coef()["mean"][1]
    groups = bvb.effects.groups(points).set_index(["term", "group"])["estimate"]
    for group in ("g0", "g7"):
        level = coefficients["Intercept"] + groups["(1 | g)", group]
        slope = coefficients["x"] + groups["(x | g)", group]
        found = points.predict({"x": [0.0, 33.0], "g": [group, group]})
        assert_allclose(found, [level, level + 33.0 * slope], rtol=1e-9)


def test_what_is_not_there_is_refused(fit):
    with pytest.raises(DataError, match="no groups"):
        bvb.effects.groups(fit, "gating")
    with pytest.raises(DataError, match="is a column of groups"):
        bvb.effects.groups(fit, "g")
    with pytest.raises(DataError, match="part='spread' is not known"):
        bvb.effects.curves(fit, "spread")
    plain = bvb.DensityRegression("y ~ x", fit.model.design.frame, n_components=1)
    with pytest.raises(DataError, match="no smooth"):
        bvb.effects.curves(plain.fit(seed=1, restarts=1))
    with pytest.raises(DataError, match="no coefficients"):
        bvb.effects.curves(plain.fit(seed=1, restarts=1), "gating")


def test_pictures_hold_the_curves_and_the_groups(fit):
    axes = bvb.plots.curve(fit)
    x, middle = axes.get_lines()[0].get_data()
    table = bvb.effects.curves(fit)
    assert_allclose(middle, table[table["component"] == 1]["estimate"])
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("x", "s(x), mean")
    assert len(x) == 101
    listed = bvb.plots.groups(fit, "(1 | g)", component=2)
    places = listed.get_lines()[-1].get_xdata()
    assert (np.diff(places) >= 0.0).all() and len(places) == 13
    for refused in (
        lambda: bvb.plots.curve(fit, "s(z)"),
        lambda: bvb.plots.groups(fit, component=3),
    ):
        with pytest.raises(DataError):
            refused()


@pytest.mark.heavy
def test_coefficients_of_curves_and_groups_are_not_printed_one_by_one(fit):
    text = str(fit)
    assert "s(x).line" in text and "s(x).1" not in text and "[g3]" not in text
    assert "s(x): 8 coefficients, effects.curves(fit)" in text
    dof = bvb.effects.smoothness(fit).query("curve == 's(x)'")["edf"]
    told = ", ".join(f"{value:.1f}" for value in dof)
    assert f"effects.curves(fit); effective degrees of freedom with its line {told} of 9" in text
    assert "(1 | g): 12 groups, effects.groups(fit)" in text
    assert "s(x): 2 coefficients, effects.curves(fit, 'gating')" in text


@pytest.mark.parametrize(("k", "small"), [(4, True), (20, False)])
def test_few_knots_are_noticed(k, small):
    data = bvb.datasets.load("mcycle")
    model = bvb.DensityRegression(f"accel ~ s(times, k={k})", data, n_components=1)
    assert ("k may be small" in str(model.fit(seed=1, draws=25))) == small


@pytest.mark.heavy
@pytest.mark.parametrize("response", ["y", "label"])
def test_networks_have_curves_and_pages_without_degrees_of_freedom(response, tmp_path):
    rng = np.random.default_rng(3)
    x = rng.uniform(-1.0, 1.0, 60)
    y = np.sin(3.0 * x) + 0.3 * rng.normal(size=60)
    data = pd.DataFrame({"x": x, "y": y, "label": np.where(y > 0.0, "up", "down")})
    model = bvb.ConditionalMixtureNetwork(f"{response} ~ s(x, k=4)", data, n_experts=2)
    fit = model.fit(seed=1, restarts=1, draws=25, tol=0.1)
    assert len(bvb.effects.curves(fit)) > 0
    with pytest.raises(DataError, match="effective degrees of freedom are not available"):
        bvb.effects.smoothness(fit)
    assert "s(x, k=4)" in fit.report(tmp_path / "page.html").read_text()
