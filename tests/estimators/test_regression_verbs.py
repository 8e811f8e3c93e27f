"""Coefficients, residuals, calibration and figures of fits, by the names that users try first."""

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scipy.stats
from scipy.special import ndtri

import bayesvb as bvb
from bayesvb.errors import DataError

FEW = {"seed": 1, "restarts": 1, "draws": 200, "max_iter": 200}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    x = rng.normal(size=80)
    frame = pd.DataFrame({"x": x, "y": 2.0 + 3.0 * x + rng.normal(size=80)})
    frame["z"] = frame["y"] + rng.normal(size=80)
    frame["k"] = np.where(x + 0.5 * rng.normal(size=80) > 0.0, "a", "b")
    return frame


@pytest.fixture(scope="module")
def line(data):
    return bvb.DensityRegression("y ~ x", data, n_components=1).fit(**FEW)


@pytest.fixture(scope="module")
def two(data):
    return bvb.DensityRegression("y + z ~ x", data, n_components=2).fit(**FEW)


@pytest.fixture(scope="module")
def classes(data):
    model = bvb.ConditionalMixtureNetwork("k ~ x", data, n_experts=1)
    return model.fit(**{**FEW, "max_iter": 500, "tol": 1.0, "draws": 50})


@pytest.fixture(scope="module")
def joint(data):
    return bvb.GaussianMixture("~ x + y", data, n_components=2).fit(**FEW)


@pytest.fixture(autouse=True)
def undrawn():
    with matplotlib.rc_context({"backend": "agg"}):
        yield
        plt.close("all")


def test_coefficients_and_covariance_are_those_of_least_squares(line, data):
    design = np.column_stack([np.ones(80), data["x"]])
    estimate, squares, *_ = np.linalg.lstsq(design, data["y"].to_numpy(), rcond=None)
    errors = np.sqrt(np.diag(squares[0] / 78 * np.linalg.inv(design.T @ design)))
    assert np.allclose((line.coef()["mean"] - estimate) / errors, 0.0, atol=0.01)
    assert np.allclose(np.sqrt(np.diag(line.vcov())), np.sqrt(78 / 76) * errors, rtol=0.02)
    table, ends = line.summary(0.9)["mean":"mean"], scipy.stats.t(78).ppf(0.95) * errors
    assert np.allclose((table["upper"] - table["lower"]) / (2.0 * ends), 1.0, atol=0.02)
    assert np.allclose((table["upper"] + table["lower"]) / 2.0, line.coef()["mean"])
    slope = bvb.effects.slopes(line, "x", average_by=True, prob=0.9).summary.iloc[0]
    assert np.allclose(slope[["estimate", "sd", "lower", "upper"]].to_numpy(float),
                       table.iloc[1, :4])  # fmt: skip
    assert np.allclose(table["p_positive"], scipy.stats.t(78).cdf(estimate / errors), atol=0.01)
    assert line.nobs == 80
    assert line.update(data.head(10)).nobs == 90


@pytest.mark.parametrize("kind", ["line", "two", "classes", "joint"])
def test_coefficients_agree_with_the_summary_and_the_covariance_has_their_labels(kind, request):
    fit = request.getfixturevalue(kind)
    coefficients, covariance, table = fit.coef(), fit.vcov(), fit.summary()
    assert coefficients.index.equals(covariance.index)
    assert covariance.index.equals(covariance.columns)
    assert np.array_equal(coefficients, table["mean"].loc[coefficients.index])
    assert np.allclose(np.sqrt(np.diag(covariance)), table["sd"].loc[coefficients.index])
    assert np.linalg.eigvalsh(covariance).min() > -1e-8 * np.abs(covariance).to_numpy().max()


def test_maximum_likelihood_has_coefficients_and_no_covariance_unless_it_is_known(data):
    model = bvb.DensityRegression("y ~ x", data, n_components=1)
    fit = model.fit("em", prior=False, **FEW)
    slope = np.polyfit(data["x"], data["y"], 1)[0]
    assert np.isclose(fit.coef().loc["mean", 1, "x"], slope, rtol=1e-4)
    assert fit.vcov().shape == (2, 2)


def test_response_residuals_and_fitted_values_add_up_to_the_data(line, two, data):
    assert np.allclose(line.fitted() + line.residuals("response"), data["y"])
    both = two.fitted() + two.residuals("response")
    assert np.allclose(both, data[["y", "z"]])


def test_quantile_residuals_are_normal_scores_of_pit_values_and_standard_normal(line, two):
    assert np.allclose(line.residuals(), ndtri(line.pit()))
    assert abs(line.residuals().std() - 1.0) < 0.1
    assert list(two.residuals().columns) == ["y", "z"]
    assert np.allclose(two.residuals()["z"], np.clip(ndtri(two.pit()["z"]), -4, 4))


def test_classes_are_fitted_by_probabilities_and_predicted_so_unless_told_otherwise(classes, data):
    p = classes.fitted()
    pd.testing.assert_frame_equal(classes.predict(), p)
    pd.testing.assert_frame_equal(classes.predict(data), p)
    hits = pd.get_dummies(data["k"]).to_numpy(dtype=float)
    assert np.allclose(classes.residuals("response"), hits - p.to_numpy())
    with pytest.raises(DataError, match="classes"):
        classes.residuals()


def test_calibration_is_coverage_of_rows_left_out(line, two, classes):
    found, pit = line.calibration(), line.pit()
    expected = [(np.abs(pit - 0.5) <= p / 2).mean() for p in found.index]
    assert np.allclose(found["observed"], expected)
    assert 0.001 < found.attrs["p_value"] <= 1.0
    assert list(two.calibration().index.get_level_values("response").unique()) == ["y", "z"]
    table = classes.calibration()
    assert table.loc["a", "rows"].sum() == table.loc["b", "rows"].sum() == 80
    assert np.isclose(
        (table.loc["a", "observed"] * table.loc["a", "rows"]).sum(),
        (classes.model.design.frame["k"] == "a").sum(),
    )
    assert table.attrs["left_out"] == "a fifth at a time"


def test_without_a_response_nothing_is_fitted_or_calibrated(joint):
    for call in (joint.fitted, joint.residuals, joint.calibration):
        with pytest.raises(DataError, match="response"):
            call()


@pytest.mark.parametrize("kind, panels", {"line": 4, "two": 5, "classes": 2, "joint": 2}.items())
def test_the_figures_are_on_one_grid(kind, panels, request):
    axes = request.getfixturevalue(kind).plot().axes
    assert len(axes) == panels
    assert all(ax.get_xlabel() for ax in axes)


def test_the_predictive_check_draws_the_data_and_their_replicates(line, two, data, classes):
    axes = two.pp_check(7, response="z")
    *replicates, own = axes.get_lines()
    assert len(replicates) == 7
    assert np.array_equal(own.get_xdata(), np.sort(data["z"]))
    with pytest.raises(DataError, match="along='u'"):
        line.plot("u")
    with pytest.raises(DataError, match="classes"):
        classes.pp_check()
    with pytest.raises(DataError, match="n=999"):
        line.pp_check(999)


def test_notebooks_show_what_is_printed(line):
    html = line._repr_html_()
    assert html.startswith(f"<div><strong>{str(line).splitlines()[0]}")
    assert "y ~ x" in html and "<strong>" in line.model._repr_html_()
    shown = bvb.effects.predictions(line, {"x": [0.0, 1.0]})
    assert "<table" in shown._repr_html_() and "intervals" in shown._repr_html_()


SPELLINGS = {
    "new_data": (lambda fit, d: fit.predict(new_data=d), r"predict\(\).*\n.*data="),
    "type": (lambda fit, d: fit.predict(d, type="sd"), "kind="),
    "n_samples": (lambda fit, d: fit.predict(kind="draws", n_samples=3), "n= here"),
    "random_state": (lambda fit, d: fit.model.fit(random_state=3), "seed="),
    "n_init": (lambda fit, d: fit.model.fit(n_init=3), "restarts="),
    "k": (lambda fit, d: bvb.DensityRegression("y ~ x", d, k=3), r"DensityRegression\(\).*\n.*n_c"),
    "a typing error": (lambda fit, d: fit.summary(proba=0.9), "prob="),
    "cv": (lambda fit, d: bvb.cross_validate(fit.model, cv=3), "folds="),
    "nothing known": (lambda fit, d: fit.plot(zzz=1), "its arguments are along"),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_names_that_arguments_have_elsewhere_are_answered_with_ours(name, line, data):
    call, message = SPELLINGS[name]
    with pytest.raises(DataError, match=message):
        call(line, data)


def test_a_mapping_of_single_values_is_a_row(line):
    one = line.predict({"x": 1.0})
    assert one.shape == (1,) and np.isclose(one.iloc[0], line.predict({"x": [1.0]}).iloc[0])
    assert len(line.predict({"x": [1.0, 2.0], "site": "north"})) == 2
    effect = bvb.effects.predictions(line, data={"x": 1.0})
    assert np.isclose(effect.summary["estimate"].iloc[0], one.iloc[0], atol=0.1)
