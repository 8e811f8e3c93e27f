"""Exact draws of one component with groups: default, choice, files, tables, predictions."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesvb as bvb
from bayesvb.evaluation.elpd import read_elpd
from bayesvb.results.exact_draws import is_integrated, log_evidence
from bayesvb.results.subsampling import criteria_at


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    g = np.repeat(np.arange(6), 8)
    y = 10.0 + 5.0 * rng.normal(size=6)[g] + 3.0 * rng.normal(size=48)
    return pd.DataFrame({"w": rng.normal(size=6)[g], "g": [f"g{i}" for i in g], "y": y})


@pytest.fixture(scope="module")
def fit(data):
    return bvb.DensityRegression("y ~ w + (1 | g)", data, n_components=1).fit(seed=1)


def test_rows_are_left_out_of_the_posterior_that_draws_are_from(fit):
    """Ratios of the likelihoods of its draws agree to their Monte Carlo error."""
    found, exact = fit.loo(), fit.loo(method="exact")
    by_draws = fit.model.fit(seed=2, draws=4000).loo(method="psis")
    assert "posterior integrated over scales" in str(found)
    assert read_elpd(exact).elpd == read_elpd(found).elpd
    assert read_elpd(found).elpd == pytest.approx(read_elpd(by_draws).elpd, abs=0.2)
    other = fit.with_covariance("linear-response").loo()
    assert "linear response" in str(other)
    assert read_elpd(other).elpd != read_elpd(found).elpd


def test_draws_without_columns_of_groups_have_their_scales_in_the_criteria():
    """Likelihoods of rows are averaged over the exact draws, whose effects need prior scales."""
    rng = np.random.default_rng(4)
    g = np.repeat(np.arange(100), 6)
    data = pd.DataFrame({"g": [f"g{i}" for i in g], "y": rng.normal(size=100)[g]})
    data["y"] += rng.normal(size=len(data))
    fit = bvb.DensityRegression("y ~ (1 | g)", data, n_components=1).fit(seed=1)
    assert is_integrated(fit) and "effect_key" in fit.draws
    loo = read_elpd(fit.loo())
    with pytest.warns(UserWarning, match="p_waic"):
        waic = read_elpd(fit.waic())
    assert waic.elpd == pytest.approx(loo.elpd, abs=3.0)
    assert_allclose(waic.pointwise, loo.pointwise, atol=0.3)
    half = criteria_at(fit, np.arange(0, 600, 2))
    assert_allclose(half[0].pointwise, loo.pointwise[::2], rtol=1e-9)
    assert_allclose(half[1].pointwise, waic.pointwise[::2], atol=0.05)


def test_the_printed_bound_names_its_prior(fit):
    evidence = log_evidence(fit)
    assert f"log evidence {evidence:,.1f} (ELBO {fit.elbo:,.1f} with gamma priors" in str(fit)
    assert log_evidence(fit.with_covariance("mean-field")) is None


def test_exact_draws_are_the_default_and_others_can_be_had(data, fit):
    assert fit.covariance == "exact" and np.isnan(fit.khat) and is_integrated(fit)
    assert "Intervals: exact" in str(fit)
    other = fit.with_covariance("linear-response")
    assert other.covariance == "linear-response" and not is_integrated(other)
    again = other.with_covariance("exact")
    assert_array_equal(again.draws["coefficients"], fit.draws["coefficients"])
    sds = [one.summary().loc[("mean", 1, "w"), "sd"] for one in (fit, other)]
    assert sds[0] > 1.1 * sds[1]  # six groups: a plug-in scale is too sure of itself
    asked = fit.model.fit(seed=1, covariance="mean-field")
    assert asked.covariance == "mean-field" and not is_integrated(asked)
    sampled = {"weights": np.ones(48), "weight_type": "sampling"}
    weighted = bvb.DensityRegression("y ~ w + (1 | g)", data, n_components=1, **sampled)
    assert weighted.fit(seed=1).covariance == "robust"


def test_files_have_the_same_draws_and_predictions(data, fit, tmp_path):
    again = bvb.load(fit.save(tmp_path / "fit.nc"))
    assert again.covariance == "exact"
    for name, values in fit.draws.items():
        assert_array_equal(again.draws[name], values)
    new = data.iloc[:3].assign(g=["g1", "new", "g2"])
    pd.testing.assert_frame_equal(again.predict(new, "interval"), fit.predict(new, "interval"))


def test_an_updated_fit_is_that_of_all_rows(data):
    """In the units of the first rows: sums are all that the integration reads."""
    first = bvb.DensityRegression("y ~ w + (1 | g)", data[::2], n_components=1).fit(seed=1)
    later = first.update(data[1::2])
    assert later.covariance == "exact" and is_integrated(later)
    both = bvb.DensityRegression("y ~ w + (1 | g)", data, n_components=1).fit(seed=1)
    new = data.iloc[:2].assign(g=["g1", "new"])
    widths = [one.predict(new, "interval").diff(axis=1)["upper"] for one in (later, both)]
    assert_allclose(widths[0], widths[1], rtol=0.05)  # units, and so priors, differ a little
    noise = [np.log(one.draws["precision"]).std() for one in (first, later)]
    assert noise[1] < 0.8 * noise[0]  # twice the rows


def test_predictions_are_those_of_the_draws(data, fit):
    """Of a known group and of a new one, whose sd is integrated over too."""
    new = pd.DataFrame({"w": [0.3, 0.3], "g": ["g1", "new"]})
    many = bvb.DensityRegression("y ~ w + (1 | g)", data, n_components=1).fit(seed=2, draws=20_000)
    beta = many.named_draws.values["beta"][:, 0]
    mean = beta[:, [0]] + 0.3 * beta[:, [1]] + beta[:, [3, -1]]
    sigma = many.named_draws.values["sigma"]
    y = mean + sigma * np.random.default_rng(0).normal(size=mean.shape)
    interval = fit.predict(new, "interval", prob=0.9)
    inside = (y > interval["lower"].to_numpy()) & (y < interval["upper"].to_numpy())
    assert_allclose(inside.mean(axis=0), 0.9, atol=0.012)
    assert_allclose(fit.predict(new), y.mean(axis=0), atol=0.15)


def test_tables_have_the_sd_of_groups_in_units_of_the_response(data, fit):
    told = fit.summary().loc["sd of groups"]
    assert told.index.get_level_values("term").tolist() == ["(1 | g)"]
    assert told["lower"].iloc[0] < data.groupby("g")["y"].mean().std() < told["upper"].iloc[0]
    row = fit.model.prior_table().loc[("scale", "(1 | g)")]
    assert "half-Student t(3)" in row["prior"]
    assert row["scale"] == pytest.approx(data["y"].std(ddof=0))
    scaled = bvb.DensityRegression("y ~ w + (1 | g)", data.assign(y=100 * data.y), n_components=1)
    other = scaled.fit(seed=1).summary().loc["sd of groups"]
    assert_allclose(other["mean"], 100 * told["mean"], rtol=1e-6)


def test_the_print_has_standard_deviations_of_groups_once_in_units_of_the_response():
    data = bvb.datasets.load("sleepstudy")
    lone = bvb.DensityRegression("Reaction ~ Days + (Days | Subject)", data, n_components=1)
    text = str(lone.fit(seed=1))
    assert "\nsd of groups (" in text and "\nscale (" not in text
    curve = bvb.DensityRegression("Reaction ~ s(Days) + (1 | Subject)", data, n_components=1)
    assert "\nscale (" in str(curve.fit(seed=1))
