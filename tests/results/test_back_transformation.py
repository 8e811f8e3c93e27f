"""Predictions, effects, figures and comparisons of a response before the formula transformed it."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesvb as bvb
from bayesvb.distributions.response import Response
from bayesvb.distributions.transformations import written_function
from bayesvb.errors import DataError

FEW = {"seed": 1, "restarts": 1, "draws": 400}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    x = rng.uniform(-1.0, 1.0, 150)
    return pd.DataFrame({"x": x, "y": np.exp(1.0 + 0.5 * x + 0.4 * rng.normal(size=150))})


@pytest.fixture(scope="module")
def fit(data):
    return bvb.DensityRegression("log(y) ~ x", data, n_components=2).fit(**FEW)


@pytest.mark.parametrize("kind", ["quantile", "interval", "draws"])
def test_what_is_ordered_is_transformed(fit, data, kind):
    own = {"seed": 1} if kind == "draws" else {}
    found = fit.predict(data[:5], kind, transform="inverse", **own)
    assert_allclose(found, np.exp(fit.predict(data[:5], kind, **own)))


def test_densities_have_the_jacobian_and_read_values_of_the_data(fit, data):
    found = fit.predict(data, "density", at=data["y"], transform="exp")
    assert_allclose(np.log(found), fit.log_density(data) - np.log(data["y"]))
    found = fit.predict(data, "cdf", at=[2.0], transform="exp")
    assert_allclose(found[2.0], fit.predict(data, "cdf", at=np.log(2.0)))


def test_recalibrated_and_jackknife_intervals_are_transformed(fit, data):
    for calibrated in (True, "jackknife+"):
        plain = fit.predict(data[:3], "interval", recalibrate=calibrated)
        found = fit.predict(data[:3], "interval", recalibrate=calibrated, transform="inverse")
        assert_allclose(found, np.exp(plain))


def test_moments_of_a_new_group_integrate_over_groups(data):
    rng = np.random.default_rng(2)
    frame = data.assign(
        g=np.arange(150) % 15, y=data.y * np.exp(rng.normal(size=15))[np.arange(150) % 15]
    )
    fit = bvb.DensityRegression("log(y) ~ x + (1 | g)", frame, n_components=1).fit(**FEW)
    new = pd.DataFrame({"x": [0.5, 0.5], "g": [3, 99]})
    mean = fit.predict(new, transform="inverse")
    typical = fit.predict(new, transform="inverse", new_groups="typical")
    draws = fit.named_draws.values
    line = draws["beta"][:, 0, 0] + 0.5 * draws["beta"][:, 0, 1]
    variance = draws["sigma"][:, 0] ** 2 + draws["group_sd"][:, 0] ** 2
    assert_allclose(mean[1], np.median(np.exp(line + 0.5 * variance)))
    assert_allclose(typical[1], np.median(np.exp(line + 0.5 * draws["sigma"][:, 0] ** 2)))
    assert_allclose(mean[0], typical[0], rtol=1e-12)


def test_means_are_those_of_log_normals(data):
    fit = bvb.DensityRegression("log(y) ~ x", data, n_components=1).fit(**FEW)
    new = pd.DataFrame({"x": [-0.5, np.nan, 0.5]})
    mean, sd = (
        fit.predict(new, kind, transform="inverse", missing="keep") for kind in ("mean", "sd")
    )
    draws = fit.named_draws.values
    beta, sigma = draws["beta"][:, 0], draws["sigma"].reshape(len(draws["sigma"]))
    each = np.exp(beta[:, :1] + beta[:, 1:] * [-0.5, 0.5] + 0.5 * sigma[:, None] ** 2)
    assert_allclose(mean.dropna(), np.median(each, axis=0))
    assert_allclose(
        sd.dropna() / mean.dropna(), np.sqrt(np.expm1(np.median(sigma) ** 2)), rtol=0.02
    )
    assert mean.isna().tolist() == [False, True, False]
    assert abs(mean[0] / np.exp(1.0 - 0.25 + 0.08) - 1.0) < 0.12  # the truth


def test_moments_beyond_the_largest_double_are_infinite(fit, recwarn):
    new = {"x": [1e5, 0.0]}
    for kind in ("mean", "sd"):
        far, near = fit.predict(new, kind, transform="exp", extrapolation="keep")
        assert np.isposinf(far) and np.isfinite(near)
    assert not recwarn


def test_effects_name_the_response_of_the_data(fit):
    plain = bvb.effects.predictions(fit, {"x": [0.0]}, target="quantile", q=0.5)
    found = bvb.effects.predictions(fit, {"x": [0.0]}, target="quantile", q=0.5, transform="exp")
    assert found.words == "quantile of y at q = 0.5"
    assert_allclose(found.draws, np.exp(plain.draws))
    above = [bvb.effects.predictions(fit, {"x": [0.0]}, above=value, target="probability",
                                     transform=how).draws
             for value, how in ((3.0, "inverse"), (np.log(3.0), None))]  # fmt: skip
    assert_allclose(*above)
    mean = bvb.effects.slopes(fit, "x", {"x": [0.0]}, slope="eydx", transform="inverse")
    assert mean.summary["estimate"].iloc[0] == np.median(mean.draws)
    assert mean.summary["sd"].isna().all() and " sd " not in str(mean)
    assert " sd " in str(plain) and plain.summary["sd"].notna().all()


def test_figures_are_in_units_of_the_data(fit, data):
    axes = bvb.plots.quantiles(fit, "x", transform="inverse")
    assert axes.get_ylabel() == "y" and axes.get_ylim()[1] > data["y"].max()
    assert bvb.plots.ridges(fit, "x", transform="inverse").get_xlabel() == "y"


def test_log_densities_name_their_scale_and_change_it(fit, data):
    own, of_data = fit.log_density(data), fit.log_density(data, jacobian=True)
    assert (own.name, of_data.name) == ("log density of log(y)", "log density of y")
    assert_allclose(of_data - own, -np.log(data["y"]))
    assert Response(kind="count").score_name(["n"]) == "log probability of n"
    amount = Response(kind="amount").score_name(["n"])
    assert amount == "log density of n, log probability of 0"


def test_fits_on_two_scales_are_compared_by_the_density_of_the_data(fit, data):
    other = bvb.DensityRegression("y ~ x", data, n_components=1).fit(**FEW)
    with pytest.raises(DataError, match="jacobian=True"):
        bvb.compare({"log": fit, "plain": other})
    table = bvb.compare({"plain": other, "log": fit}, jacobian=True)
    own = bvb.compare({"a": fit, "b": fit})["elpd"].iloc[0] - np.log(data["y"]).sum()
    assert table.index[0] == "log"
    assert_allclose(table.loc["log", "elpd"], own)


@pytest.mark.heavy
def test_cross_validation_scores_the_response_of_the_data(data):
    models = {name: bvb.DensityRegression(f"{name} ~ x", data, n_components=1)
              for name in ("log(y)", "y")}  # fmt: skip
    options = {"folds": 3, "seed": 1, "n_jobs": 1, "restarts": 1, "draws": 50}
    with pytest.raises(DataError, match="jacobian=True"):
        bvb.cross_validate(models, **options)
    found = bvb.cross_validate(models, jacobian=True, **options)
    assert found.best == "log(y)"
    own = bvb.cross_validate(models["log(y)"], **options)
    score = found.scores.set_index(["model", "score"])["mean"]
    before = own.scores.set_index("score")["mean"]
    gain = -np.log(data["y"]).mean()
    assert_allclose(score["log(y)", "log_density"], before["log_density"] + gain)
    assert score["log(y)", "coverage 0.9"] == before["coverage 0.9"]
    assert score["log(y)", "pinball 0.5"] > before["pinball 0.5"]
    assert "crps" not in found.rows


@pytest.mark.parametrize(
    ("response", "name"),
    [
        ("log(share/(1-share))", "share"),
        ("np.log(share / (1.0 - share))", "share"),
        ("log(`my share` / (1 - `my share`))", "my share"),
    ],
)
def test_log_odds_of_a_share_are_undone_to_the_share(data, response, name):
    rows = data.assign(share=data["y"] / (1.0 + data["y"])).rename(columns={"share": name})
    fit = bvb.DensityRegression(f"{response} ~ x", rows, n_components=1).fit(**FEW)
    median, odds = (fit.predict(kind="quantile", q=0.5, transform=t) for t in ("inverse", None))
    assert_allclose(median, 1.0 / (1.0 + np.exp(-odds)), rtol=1e-12)
    found = bvb.effects.predictions(fit, {}, target="quantile", q=0.5, transform="inverse")
    assert found.words == f"quantile of {name} at q = 0.5"
    own, before = (
        bvb.compare({"a": fit, "b": fit}, jacobian=j)["elpd"].iloc[0] for j in (True, False)
    )
    assert_allclose(own - before, -np.log(rows[name] * (1.0 - rows[name])).sum(), rtol=1e-10)


def test_log_odds_of_something_else_are_undone_to_the_odds():
    assert written_function("log(a / (1 - b))") == ("exp", "a / (1 - b)")
    assert written_function("log(a / (2 - a))") == ("exp", "a / (2 - a)")
    assert written_function("log10(a / (1 - a))") == ("exp10", "a / (1 - a)")


def test_what_cannot_be_undone_is_refused(fit, data):
    plain = bvb.DensityRegression("y ~ x", data, n_components=1).fit(**FEW)
    joint = bvb.GaussianMixture("~ x + y", data, n_components=1).fit(**FEW)
    normal = bvb.Normal("log(y) ~ 1", data).fit(**FEW)
    wrong = [
        (fit, {"transform": "square"}, "is one of"),
        (plain, {"transform": "inverse"}, "log1p"),
        (joint, {"transform": "exp", "kind": "density"}, "omit transform"),
        (normal, {"transform": "exp", "kind": "mean"}, "quantile"),
    ]
    for one, options, words in wrong:
        with pytest.raises(DataError, match=words):
            one.predict(**options)
    assert_allclose(normal.predict(kind="quantile", q=0.5, transform="exp"),
                    np.exp(normal.predict(kind="quantile", q=0.5)))  # fmt: skip


@pytest.mark.heavy
def test_a_network_of_numbers_is_transformed_too(data):
    model = bvb.ConditionalMixtureNetwork("log(y) ~ x", data, n_experts=2)
    fit = model.fit(seed=1, restarts=2, draws=100, tol=0.5)
    mean = fit.predict(data, transform="inverse")
    assert abs(mean.mean() / data["y"].mean() - 1.0) < 0.1
