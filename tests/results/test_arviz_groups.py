"""The ArviZ object of a fit, and what ArviZ makes of it in either line."""

import json
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax, logsumexp
from scipy.stats import norm

import bayesvb as bvb
from bayesvb.errors import DataError
from bayesvb.evaluation.elpd import read_elpd
from bayesvb.gates import GATES
from bayesvb.results.importance import log_ratio
from bayesvb.results.limits import LIMITS
from bayesvb.storage.arviz_objects import RESERVED, arviz_line, group, group_names, import_arviz

GROUPS = [
    "posterior",
    "posterior_predictive",
    "log_likelihood",
    "log_prior",
    "sample_stats",
    "prior",
    "prior_predictive",
    "observed_data",
    "constant_data",
]


@pytest.fixture(scope="module")
def az():
    return import_arviz()


@pytest.fixture(scope="module")
def obj(regimes_fit):
    return regimes_fit.idata


@pytest.fixture
def leniently():
    """ArviZ and matplotlib may warn of what is theirs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    plt.close("all")


def small(data, formula="y ~ x + z | gating(x)", **options):
    model = bvb.DensityRegression(formula, data, **{"n_components": 2, **options})
    return model.fit(seed=1, restarts=1, draws=30)


# -- groups, dims and names ----------------------------------------------------------------------


def test_groups_dims_and_coordinates(obj, regimes):
    assert group_names(obj) == GROUPS
    posterior = group(obj, "posterior")
    assert {name: posterior[name].dims for name in posterior.data_vars} == {
        "beta": ("chain", "draw", "component", "term_mean"),
        "gamma": ("chain", "draw", "component_gating", "term_gating"),
        "sigma": ("chain", "draw", "component"),
        "beta_common": ("chain", "draw", "term_common"),
        "scale_between": ("chain", "draw", "block_between"),
        "scale_gating": ("chain", "draw", "block_gating"),
        "share": ("chain", "draw", "component"),
    }
    assert posterior.sizes["chain"] == 1
    assert posterior.sizes["draw"] == 200
    assert posterior["term_mean"].to_numpy().tolist() == ["Intercept", "x", "z"]
    assert posterior["term_gating"].to_numpy().tolist() == ["Intercept", "x"]
    assert posterior["component"].to_numpy().tolist() == [1, 2]
    assert posterior["component_gating"].to_numpy().tolist() == [2]
    assert posterior["block_between"].to_numpy().tolist() == ["x", "z"]
    assert posterior["block_gating"].to_numpy().tolist() == ["x"]
    for name in ("posterior_predictive", "log_likelihood"):
        assert group(obj, name)["y"].dims == ("chain", "draw", "obs_id")
    assert_array_equal(group(obj, "observed_data")["y"], regimes["y"])
    for name in ("posterior_predictive", "log_likelihood", "observed_data", "constant_data"):
        assert_array_equal(group(obj, name)["obs_id"], regimes.index)
    constant = group(obj, "constant_data")
    assert set(constant.data_vars) == {"x", "z", "elbo"}
    assert constant["elbo"].dims == ("iteration",)


@pytest.fixture(scope="module")
def plain(regimes_fit):
    """With draws of q itself, over which predictions average."""
    return regimes_fit.with_covariance("mean-field").idata


@pytest.fixture(scope="module")
def corrected(regimes_fit):
    return regimes_fit.with_covariance("linear-response")


def test_the_mean_likelihood_of_q_is_the_predictive_density(plain, regimes_fit):
    log_lik = group(plain, "log_likelihood")["y"].to_numpy()[0]
    found = logsumexp(log_lik, axis=0) - np.log(len(log_lik))
    assert_allclose(found, regimes_fit.log_density(), atol=0.1)
    assert found.mean() == pytest.approx(regimes_fit.log_density().mean(), abs=0.003)


@pytest.mark.parametrize("covariance", ["mean-field", "linear-response", "importance"])
def test_the_log_joint_is_likelihood_and_prior_of_each_draw(regimes_fit, covariance):
    obj = regimes_fit.with_covariance(covariance).idata
    log_lik, log_prior = group(obj, "log_likelihood")["y"], group(obj, "log_prior")["parameters"]
    expected = log_lik.sum("obs_id") + log_prior
    assert_allclose(group(obj, "sample_stats")["lp"], expected, rtol=1e-10)


def test_statistics_are_those_of_the_draws(obj, corrected):
    exact = group(obj, "sample_stats")
    assert set(exact.data_vars) == {"lp", "log_q"}
    assert_array_equal(exact["lp"], exact["log_q"])
    statistics = group(corrected.idata, "sample_stats")
    ratio = (statistics["lp"] - statistics["log_q"]).to_numpy()[0]
    # mean of log p(y, theta) - log q(theta) over q: a bound on the log evidence, above ours
    assert corrected.elbo < ratio.mean() + 3.0 * ratio.std() / np.sqrt(200)
    assert ratio.mean() < corrected.elbo + 20.0
    assert_allclose(ratio, log_ratio(corrected))


@pytest.mark.parametrize("covariance", ["mean-field", "linear-response", "exact"])
def test_the_log_likelihood_is_that_of_the_named_draws(regimes_fit, regimes, covariance):
    """Computed again from beta, gamma and sigma in the data's units."""
    obj = regimes_fit.with_covariance(covariance).idata
    posterior = group(obj, "posterior").isel(chain=0, draw=slice(0, 7))
    x = np.column_stack([np.ones(150), regimes[["x", "z"]]])
    location = posterior["beta"].to_numpy() @ x.T
    logits = np.zeros((7, 2, 150))
    logits[:, 1:] = posterior["gamma"].to_numpy() @ x[:, :2].T
    each = norm.logpdf(regimes["y"].to_numpy(), location, posterior["sigma"].to_numpy()[..., None])
    expected = logsumexp(log_softmax(logits, axis=1) + each, axis=1)
    found = group(obj, "log_likelihood")["y"].to_numpy()[0, :7]
    assert_allclose(found, expected, rtol=0, atol=1e-10)


def test_replicated_data_are_those_of_the_draw_of_their_number():
    """Their mean differs from that of the draw by noise only, not by the spread of draws."""
    data = {"y": 5.0 + np.sin(np.arange(400.0))}
    obj = bvb.Normal("y ~ 1", data).fit(seed=1, draws=200).idata
    posterior, drawn = group(obj, "posterior"), group(obj, "posterior_predictive")["y"]
    z = (drawn.mean("obs_id") - posterior["mu"]) / posterior["sigma"] * 20.0
    assert float(z.std()) == pytest.approx(1.0, abs=4.0 / np.sqrt(2 * 200))


def test_replicated_data_look_like_the_data(obj, regimes, regimes_fit):
    drawn = group(obj, "posterior_predictive")["y"].to_numpy()[0]
    assert_array_equal(drawn, group(regimes_fit.idata, "posterior_predictive")["y"].to_numpy()[0])
    cumulative = (drawn <= regimes["y"].to_numpy()).mean(axis=0)
    assert abs(cumulative.mean() - 0.5) < 0.08
    assert drawn.std() == pytest.approx(regimes["y"].std(), rel=0.15)


def test_attributes_say_how_the_fit_was_made(obj, regimes_fit):
    attrs = obj.attrs
    assert attrs["formula"] == "y ~ x + z | gating(x)"
    assert (attrs["seed"], attrs["n_components"], attrs["n_missing"]) == (1, 2, 0)
    assert attrs["elbo"] == regimes_fit.elbo
    assert attrs["inference_method"] == "cavi"
    assert json.loads(attrs["options"]) == regimes_fit.model.options()
    assert all(isinstance(value, str | int | float) for value in attrs.values())


def test_several_responses_have_a_joint_likelihood(regimes):
    data = regimes.assign(u=regimes["x"] + np.cos(np.arange(150)))
    fit = small(data, "y + u ~ x | gating(x)")
    obj = fit.idata
    assert set(group(obj, "posterior_predictive").data_vars) == {"y", "u"}
    assert list(group(obj, "log_likelihood").data_vars) == ["y, u"]
    assert group(obj, "posterior")["beta"].dims[-2:] == ("response", "term_mean")


@pytest.mark.parametrize("gate", GATES)
def test_every_gate_makes_an_object(regimes, gate):
    fit = small(regimes, gate=gate)
    own = bool(fit.core.gate_coefficients(fit.draws))
    assert ("gamma" in group(fit.idata, "posterior")) == own


@pytest.mark.parametrize("n_components", [1, 2])
@pytest.mark.quick(n_components=(2,))
def test_columns_may_be_named_like_parameters(regimes, n_components, tmp_path):
    names = {"y": "beta", "x": "sigma", "z": "component"}
    fit = small(regimes.rename(columns=names), "beta ~ sigma + component | gating(sigma)",
                n_components=n_components)  # fmt: skip
    obj = fit.idata
    assert group(obj, "posterior")["beta"].dims[-1] == "term_mean"
    assert_array_equal(group(obj, "observed_data")["beta"], regimes["y"])
    assert_array_equal(group(obj, "constant_data")["sigma"], regimes["x"])
    assert bvb.load(fit.save(tmp_path / "fit.nc")).elbo == fit.elbo


@pytest.mark.parametrize("name", RESERVED)
@pytest.mark.quick(name=("chain", "obs_id"))
def test_columns_named_like_dims(regimes, name):
    as_covariate = small(regimes.rename(columns={"x": name}), f"y ~ {name}")
    assert_array_equal(group(as_covariate.idata, "observed_data")["y"], regimes["y"])
    as_response = small(regimes.rename(columns={"y": name}), f"{name} ~ x")
    with pytest.raises(DataError, match=f"`{name}` has a name that ArviZ needs.*\nhint: rename"):
        _ = as_response.idata


@pytest.mark.parametrize(
    "index",
    [pd.Index([5, 5, 6] * 50), pd.MultiIndex.from_product([range(50), ["a", "b", "b"]])],
    ids=["not unique", "levels"],
)
def test_any_index_labels_the_rows(regimes, index):
    fit = small(regimes.set_index(index))
    assert group(fit.idata, "observed_data").sizes["obs_id"] == 150


# -- beyond the memory budget --------------------------------------------------------------------


def test_beyond_the_budget_groups_are_left_out_with_a_warning(regimes_fit, monkeypatch):
    whole = read_elpd(_quiet(regimes_fit.loo))
    monkeypatch.setitem(vars(LIMITS), "bytes_stored", 2 * 8 * 200 * 150 - 1)
    with pytest.warns(UserWarning, match=r"omitted: 3.0e\+04 values each.*fit.loo\(\)"):
        obj = regimes_fit.idata
    of_rows = {"posterior_predictive", "log_likelihood"}
    assert group_names(obj) == [name for name in GROUPS if name not in of_rows]
    assert read_elpd(_quiet(regimes_fit.loo)).elpd == whole.elpd
    monkeypatch.setitem(vars(LIMITS), "bytes_stored", 2 * 8 * 200 * 150)
    assert group_names(regimes_fit.idata) == GROUPS


def _quiet(function, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments, **options)


# -- ArviZ at work -------------------------------------------------------------------------------


def test_loo_of_draws_of_q_is_that_of_arviz(az, plain, regimes_fit):
    mine = read_elpd(_quiet(regimes_fit.loo, "psis"))
    theirs = read_elpd(_quiet(az.loo, plain))
    assert mine.elpd == pytest.approx(theirs.elpd, abs=1e-8)
    assert mine.p == pytest.approx(theirs.p, abs=1e-8)
    pointwise = _quiet(az.loo, plain, pointwise=True)
    assert_allclose(mine.pointwise, read_elpd(pointwise).pointwise, atol=1e-8)
    assert_allclose(mine.pareto_k, read_elpd(pointwise).pareto_k, atol=1e-6)


def test_waic_is_near_loo(az, plain, regimes_fit):
    waic, loo = read_elpd(_quiet(regimes_fit.waic)), read_elpd(_quiet(regimes_fit.loo))
    assert waic.kind == "waic"
    assert waic.elpd == pytest.approx(loo.elpd, abs=2.0)
    if arviz_line() == 0:
        assert waic.elpd == pytest.approx(read_elpd(_quiet(az.waic, plain)).elpd, abs=1e-8)


def test_summary(az, obj, leniently):
    table = az.summary(obj, kind="stats")
    assert len(table) == 2 * 3 + 1 * 2 + 2 + 2 + 2 + 2 + 1
    assert "beta[1, Intercept]" in table.index
    assert "gamma[2, x]" in table.index


def test_compare(az, obj, regimes, leniently):
    one = small(regimes, n_components=1)
    table = az.compare({"one": one.idata, "two": obj})
    assert table.index.tolist() == ["two", "one"]
    mixed = az.compare({"one": one.loo(), "two": az.loo(obj)})
    assert mixed.index.tolist() == ["two", "one"]


def test_plots(az, obj, leniently):
    az.plot_forest(obj, var_names=["beta"])
    if arviz_line() == 0:
        az.plot_ppc(obj, num_pp_samples=20)
        az.plot_loo_pit(obj, y="y")
        az.plot_khat(az.loo(obj, pointwise=True))
        az.plot_posterior(obj, var_names=["sigma"])
    else:
        az.plot_ppc_dist(obj, num_samples=20)
        az.plot_loo_pit(obj)
        az.plot_khat(az.loo(obj, pointwise=True))
        az.plot_dist(obj, var_names=["sigma"])
