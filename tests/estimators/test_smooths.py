"""Fits with smooth terms: penalised least squares, units, extrapolation, files."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesvb as bvb


@pytest.fixture(scope="module")
def waves():
    rng = np.random.default_rng(0)
    x = rng.uniform(0.0, 10.0, 150)
    g = rng.choice(["u", "v"], 150)
    y = np.sin(x) * (1.0 + (g == "v")) + 0.3 * rng.normal(size=150)
    return pd.DataFrame({"x": x, "g": g, "y": y})


@pytest.fixture(scope="module")
def fit(waves):
    model = bvb.DensityRegression("y ~ s(x) | gating(s(x, k=5))", waves, n_components=2)
    return model.fit(seed=1, restarts=1)


@pytest.mark.parametrize("scales", ["fixed", "learned"])
def test_a_single_component_is_penalised_least_squares(waves, scales):
    priors = bvb.Priors(coefficient_sd=2.0, scales=scales, coefficient_units="noise")
    model = bvb.DensityRegression("y ~ s(x)", waves, n_components=1, priors=priors)
    fit = model.fit(seed=1, restarts=1)
    matrix = model.design.matrices["mean"].copy()
    matrix[:, 1] = (matrix[:, 1] - matrix[:, 1].mean()) / matrix[:, 1].std()
    matrix[:, 2:] /= np.sqrt((matrix[:, 2:] ** 2).mean(axis=0).sum())
    y = ((waves.y - waves.y.mean()) / waves.y.std(ddof=0)).to_numpy()
    ridge = np.eye(matrix.shape[1]) / 2.0**2
    if scales == "learned":  # of the line and of the bends
        ridge = np.diag(fit.core.of_experts.by_term(fit.stats.scales.precision))
        assert ridge[0, 0] == 0.25 and len(set(np.diag(ridge))) == 3
    expected = matrix @ np.linalg.solve(matrix.T @ matrix + ridge, matrix.T @ y)
    found = (fit.predict() - waves.y.mean()) / waves.y.std(ddof=0)
    assert_allclose(found, expected, atol=1e-9)


def test_of_a_line_with_noise_the_curve_is_a_line():
    rng = np.random.default_rng(2)
    x = rng.uniform(size=300)
    data = {"x": x, "y": 1.0 + 2.0 * x + 0.3 * rng.normal(size=300)}
    fit = bvb.DensityRegression("y ~ s(x)", data, n_components=1).fit(seed=1, restarts=1)
    curve = bvb.effects.curves(fit)
    line = np.polyval(np.polyfit(curve["x"], curve["estimate"], 1), curve["x"])
    assert np.abs(curve["estimate"] - line).max() < 0.08  # with half-t scales 0.06
    assert ((curve["lower"] < line) & (line < curve["upper"])).all()
    assert fit.summary().loc[("scale", "", "s(x)"), "mean"] < 0.5


def test_predictions_do_not_depend_on_the_unit_of_x(waves, fit):
    other = bvb.DensityRegression(
        "y ~ s(x) | gating(s(x, k=5))", waves.assign(x=1e6 - 1e4 * waves.x), n_components=2
    ).fit(seed=1, restarts=1)
    assert_allclose(other.elbo, fit.elbo, rtol=1e-7)
    assert_allclose(other.predict(), fit.predict(), atol=1e-5)


def test_beyond_the_data_curves_are_lines(waves):
    fit = bvb.DensityRegression("y ~ s(x)", waves, n_components=1).fit(seed=1, restarts=1)
    far = fit.predict({"x": [11.0, 13.0, 15.0, -1.0, -2.0, -3.0]}).to_numpy()
    assert_allclose(far[0] - far[1], far[1] - far[2], rtol=1e-6)
    assert_allclose(far[3] - far[4], far[4] - far[5], rtol=1e-6)


def test_curves_of_levels_differ_and_new_rows_are_like_old_ones(waves):
    model = bvb.DensityRegression("y ~ g + s(x, by=g)", waves, n_components=1)
    fit = model.fit(seed=1, restarts=1)
    top = fit.predict({"x": [np.pi / 2, np.pi / 2], "g": ["u", "v"]}).to_numpy()
    assert_allclose(top, [1.0, 2.0], atol=0.25)
    assert_allclose(fit.predict(waves.iloc[3:9]), fit.predict().iloc[3:9], atol=1e-12)


def test_the_saved_fit_keeps_its_knots(fit, waves, tmp_path):
    again = bvb.load(fit.save(tmp_path / "fit.nc"))
    few = waves.iloc[:3]
    np.testing.assert_array_equal(again.predict(few), fit.predict(few))


def test_a_row_of_weight_two_is_two_rows(waves):
    weights = np.where(np.arange(150) % 3 == 0, 2.0, 1.0)
    twice = waves.loc[np.repeat(np.arange(150), weights.astype(int))].reset_index(drop=True)
    formula = "y ~ s(x) + (1 | g)"
    one = bvb.DensityRegression(formula, waves, n_components=1, weights=weights)
    two = bvb.DensityRegression(formula, twice, n_components=1)
    fits = [model.fit(seed=1, restarts=1) for model in (one, two)]
    assert_allclose(fits[0].elbo, fits[1].elbo, rtol=1e-9)
    assert_allclose(fits[0].predict(), fits[1].predict(waves), atol=1e-8)


@pytest.mark.heavy
def test_subjects_in_one_component_may_have_effects_as_well(waves):
    some = waves.assign(id=np.arange(150) // 10)
    model = bvb.DensityRegression("y ~ s(x, k=4) + (1 | id) | 1", some, n_components=2, group="id")
    assert "(1 | id)[3]" in model.design.terms["mean"]
    assert model.fit(seed=1, restarts=1).predict().shape == (150,)


@pytest.mark.heavy
def test_networks_take_smooths_as_columns(waves):
    fit = bvb.ConditionalMixtureNetwork("g ~ s(x, k=4)", waves, n_experts=2).fit(seed=1, restarts=1)
    assert fit.predict(kind="probability").shape == (150, 2)
