"""What a model says before any data are seen."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import bayesvb as bvb
from bayesvb.errors import DataError
from bayesvb.gates import GATES
from bayesvb.storage.arviz_objects import group, group_names

DRAWS = 4000
QUANTILES = [0.2, 0.5, 0.8]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    x = 20.0 + 3.0 * rng.normal(size=60)
    return pd.DataFrame({"y": 100.0 + 5.0 * x + rng.normal(size=60), "x": x, "z": x**2})


def agree(draws, law):
    """The draws have the quantiles of the law, within what their number allows."""
    below = [(np.ravel(draws) < law.ppf(q)).mean() for q in QUANTILES]
    np.testing.assert_allclose(below, QUANTILES, atol=4.0 * 0.5 / DRAWS**0.5)


@pytest.mark.parametrize("units", ["noise", "response"])
@pytest.mark.parametrize("gate", GATES)
def test_the_prior_of_a_density_regression_is_that_of_its_table(data, gate, units):
    numbers = {"noise_shape": 2.0, "noise_rate": 0.5, "coefficient_sd": 3.0, "scales": "fixed"}
    priors = bvb.Priors(coefficient_units=units, **numbers)
    model = bvb.DensityRegression("y ~ x", data, n_components=2, gate=gate, priors=priors)
    table = model.prior_table()
    prior = group(model.prior_predictive(DRAWS, seed=1), "prior")
    for component, term in itertools.product([1, 2], ["Intercept", "x"]):
        centre, scale = table.loc[("mean", term), ["location", "scale"]]
        law = stats.norm(centre, scale) if units != "noise" else stats.t(4.0, centre, scale)
        agree(prior["beta"].sel(component=component, term_mean=term), law)
    typical = table.loc[("sigma", ""), "location"]
    agree(typical**2 / prior["sigma"].sel(component=1) ** 2, stats.gamma(2.0, scale=0.5))
    if "gating" not in table.index:
        assert "gamma" not in prior
        return
    if "gamma" not in prior:
        agree(prior["share"].sel(component=2), stats.beta(1.0, 1.0))
        return
    contrast = 2.0**0.5 if model.core.gate.formula == "softmax" else 1.0  # of two components
    for term in ("Intercept", "x"):
        gamma = prior["gamma"].isel(component_gating=0).sel(term_gating=term)
        agree(gamma, stats.norm(0.0, contrast * table.loc[("gating", term), "scale"]))


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_the_prior_of_a_gaussian_mixture_is_that_of_its_table(data, covariance):
    model = bvb.GaussianMixture("~ x + y", data, n_components=2, covariance=covariance)
    table = model.prior_table()
    prior = group(model.prior_predictive(DRAWS, seed=2), "prior")
    for component, name in itertools.product([1, 2], ["x", "y"]):
        centre, scale = table.loc[("mean", name), ["location", "scale"]]
        drawn = prior.sel(component=component, feature=name)
        agree(drawn["mean"], stats.t(4.0, centre, scale))
        typical = table.loc[("sd", name), "location"]
        agree(typical**2 / drawn["sd"] ** 2, stats.gamma(2.0, scale=1.0))
    agree(prior["share"].sel(component=1), stats.beta(0.5, 0.5))


def shapes(dataset):
    return {
        name: {dim: size for dim, size in array.sizes.items() if dim != "draw"}
        for name, array in dataset.data_vars.items()
    }


@pytest.mark.parametrize("gate", ["softmax", "stick-breaking", "dirichlet"])
def test_names_and_axes_are_those_of_the_posterior(data, gate):
    model = bvb.DensityRegression("y + z ~ x", data, n_components=3, gate=gate)
    fit = model.fit(seed=1, restarts=1, draws=25, max_iter=2000, covariance="mean-field")
    prior = group(model.prior_predictive(20, seed=1), "prior")
    assert shapes(prior) == shapes(fit.posterior)
    for name in set(prior.coords) - {"draw", "component_gating"}:
        assert prior[name].values.tolist() == fit.posterior[name].values.tolist()


def test_data_are_drawn_at_the_rows(data):
    frame = data.set_index(pd.Index(range(100, 160), name="car"))
    obj = bvb.DensityRegression("y ~ x", frame).prior_predictive(30, seed=1)
    assert group_names(obj) == ["prior", "prior_predictive"]
    drawn = group(obj, "prior_predictive")["y"]
    assert drawn.dims == ("chain", "draw", "obs_id") and drawn.shape == (1, 30, 60)
    assert drawn["obs_id"].values.tolist() == frame.index.tolist()
    assert np.isfinite(drawn.values).all()
    assert obj.attrs["rows"] == "all 60 rows"
    assert obj.attrs["seed"] == 1


def test_data_are_spread_about_the_mean_of_the_components(data):
    numbers = {"noise_shape": 50.0, "noise_rate": 50.0, "scales": "fixed"}
    priors = bvb.Priors(coefficient_sd=0.01, **numbers)
    model = bvb.DensityRegression("y ~ x", data, n_components=3, priors=priors)
    drawn = group(model.prior_predictive(DRAWS, seed=3), "prior_predictive")["y"]
    y = data["y"]
    np.testing.assert_allclose(drawn.mean(("chain", "draw")), y.mean(), atol=0.1 * y.std())
    np.testing.assert_allclose(drawn.std(("chain", "draw")), y.std(), rtol=0.1)


@pytest.mark.parametrize("units", ["noise", "response"])
def test_draws_stay_finite_with_a_nearly_flat_prior(data, units):
    priors = bvb.Priors(noise_shape=1e-3, coefficient_units=units)
    obj = bvb.DensityRegression("y ~ x", data, priors=priors).prior_predictive(200, seed=1)
    assert np.isfinite(group(obj, "prior_predictive")["y"]).all()
    assert all(np.isfinite(array).all() for array in group(obj, "prior").data_vars.values())


def test_many_rows_are_thinned_evenly():
    frame = pd.DataFrame({"a": np.arange(1201.0), "b": np.arange(1201.0) % 7})
    obj = bvb.GaussianMixture("~ a + b", frame).prior_predictive(5, seed=1)
    rows = group(obj, "prior_predictive")["obs_id"].values
    assert len(rows) == 500 and (rows[0], rows[-1]) == (0, 1200)
    assert set(np.diff(rows).tolist()) == {2, 3}
    assert obj.attrs["rows"] == "500 of 1201 rows, evenly thinned"
    assert set(group(obj, "prior_predictive").data_vars) == {"a", "b"}


def test_the_seed_makes_the_same_draws_again(data):
    model = bvb.DensityRegression("y ~ x", data)
    one, same, other = (model.prior_predictive(10, seed=s) for s in (1, 1, 2))
    for name in ("prior", "prior_predictive"):
        assert group(one, name).equals(group(same, name))
        assert not group(one, name).equals(group(other, name))


def test_errors(data):
    with pytest.raises(DataError, match="draws=0 must be at least 1"):
        bvb.DensityRegression("y ~ x", data).prior_predictive(0)
    with pytest.raises(DataError, match="the response `draw` has a name that ArviZ needs"):
        bvb.DensityRegression("draw ~ x", data.rename(columns={"y": "draw"})).prior_predictive(5)


def test_the_prior_of_one_sample_is_that_of_its_table(data):
    priors = bvb.NormalPriors(mean_precision=0.5, noise_shape=2.0, noise_rate=0.5)
    model = bvb.Normal("y ~ 1", data, priors=priors)
    table, groups = model.prior_table(), model.prior_predictive(DRAWS, seed=4)
    prior = group(groups, "prior")
    centre, scale = table.loc[("mu", ""), ["location", "scale"]]
    agree(prior["mu"], stats.t(4.0, centre, scale))
    typical = table.loc[("sigma", ""), "location"]
    agree(typical**2 / prior["sigma"] ** 2, stats.gamma(2.0, scale=0.5))
    drawn = group(groups, "prior_predictive")["y"].isel(obs_id=0)
    agree(drawn, stats.t(4.0, centre, scale * 1.5**0.5))


@pytest.mark.parametrize("scale", [False, True])
def test_the_prior_of_principal_components_is_that_of_its_table(data, scale):
    numbers = {"centre_precision": 0.5, "noise_shape": 2.0, "noise_rate": 0.5}
    priors = bvb.PcaPriors(relevance_shape=3.0, relevance_rate=1.5, **numbers)
    gaps = data.mask(data == data.iloc[3])
    model = bvb.BayesianPCA("~ x + y + z", gaps, scale=scale, priors=priors)
    table, groups = model.prior_table(), model.prior_predictive(DRAWS, seed=5)
    prior = group(groups, "prior")
    for name in "xyz":
        centre, spread = table.loc[("centre", name), ["location", "scale"]]
        agree(prior["centre"].sel(feature=name), stats.t(4.0, centre, spread))
    typical = table.loc[("sigma", "x" if scale else ""), "location"]
    sigma = prior["sigma"].sel(feature="x") if scale else prior["sigma"]
    agree(typical**2 / sigma**2, stats.gamma(2.0, scale=0.5))
    relevance = prior["relevance"].sel(component=2)
    agree(relevance, stats.gamma(3.0, scale=1.0 / 1.5))
    standard = prior["loadings"].sel(component=2, feature="x") / sigma * relevance**0.5
    agree(standard, stats.norm())
    missing = np.isnan(group(groups, "prior_predictive")["x"].values[0])
    assert (missing == gaps["x"].isna().to_numpy()[gaps.notna().any(axis=1)]).all()


@pytest.mark.parametrize("kind", ["normal", "pca"])
def test_priors_that_are_nearly_flat_have_finite_draws(data, kind):
    model = bvb.Normal("y ~ 1", data) if kind == "normal" else bvb.BayesianPCA("~ .", data)
    groups = model.prior_predictive(2000, seed=6)
    for name in ("prior", "prior_predictive"):
        for values in group(groups, name).data_vars.values():
            assert np.isfinite(values).all()
