"""Robust covariance of fits: known cases, what it must not depend on, files, and errors."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose

import bayesvb as bvb
from bayesvb.cli.options import model_of
from bayesvb.errors import DataError
from bayesvb.reports.sections import posterior
from bayesvb.results.robust import default_covariance, has_jackknife, robust_covariance

FLAT = bvb.Priors(coefficient_sd=1e4, scales="fixed")


def rows(n=80, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2.0, 2.0, n)
    first = rng.uniform(size=n) < 1.0 / (1.0 + np.exp(-x))
    y = np.where(first, 1.5 + 1.5 * x, -1.5 - x) + 0.5 * rng.standard_normal(n)
    return pd.DataFrame({"x": x, "y": y, "g": np.arange(n) // 8})


def fit_of(data, n_components=2, *, draws=400, **options):
    model = bvb.DensityRegression("y ~ x", data, n_components=n_components, **options)
    return model.fit(seed=1, restarts=3, draws=draws, tol=1e-11, max_iter=5000)


@pytest.fixture(scope="module")
def fit():
    return fit_of(rows())


def deviations(fit, cluster=None):
    """Standard deviations of the coordinates that a robust covariance has."""
    numbers = None if cluster is None else np.asarray(cluster)
    return np.sqrt(np.diag(robust_covariance(fit, numbers).covariance))


def test_one_line_has_the_covariance_of_the_jackknife():
    data = rows()
    fit = fit_of(data, 1, priors=FLAT)
    block = fit.model.source.take(np.arange(80))
    own = sm.OLS(block.response[0], block.designs["mean"].T).fit(cov_type="HC3")
    draws = fit.core.coordinates(fit.q).parameters(np.eye(3)[:2] * 1e-6)["coefficients"][:, 0, 0]
    unit = (draws - fit.q.experts.mean[0, 0]) / 1e-6
    robust = robust_covariance(fit, None).covariance[:2, :2]
    found, expected = unit.T @ robust @ unit, own.cov_params() * 80 / 79
    assert_allclose(found, expected, rtol=0.06)
    assert (np.diag(found) > np.diag(expected)).all()  # without an outlier the noise is less too


def test_few_clusters_have_the_covariance_of_the_delete_one_jackknife():
    """Least squares without each of four clusters, times 4/3 (Efron and Stein 1981, eq. 1.1)."""
    cluster = np.arange(80) // 20
    fit = fit_of(rows(), 1, priors=FLAT)
    block = fit.model.source.take(np.arange(80))
    x, y = block.designs["mean"].T, block.response[0]
    without = [np.linalg.lstsq(x[cluster != c], y[cluster != c])[0] for c in range(4)]
    change = np.array(without) - np.linalg.lstsq(x, y)[0]
    draws = fit.core.coordinates(fit.q).parameters(np.eye(3)[:2] * 1e-6)["coefficients"][:, 0, 0]
    unit = (draws - fit.q.experts.mean[0, 0]) / 1e-6
    found = unit.T @ robust_covariance(fit, cluster).covariance[:2, :2] @ unit
    # To 6%: standard coordinates are in units of the noise, whose scale changes as well.
    assert_allclose(found, change.T @ change * 4.0 / 3.0, rtol=0.1)


def test_rows_that_are_there_three_times_tell_no_more_once_they_are_clusters():
    data = rows(60)
    once = fit_of(data, 1, priors=FLAT)
    thrice = fit_of(pd.concat([data] * 3, ignore_index=True), 1, priors=FLAT)
    ratio = deviations(thrice, np.tile(np.arange(60), 3))[:2] / deviations(once)[:2]
    assert_allclose(ratio, np.sqrt(3.0), rtol=0.02)  # in units of posteriors three times as sure
    plain = thrice.summary(covariance="robust").loc["mean", "sd"].to_numpy()
    clustered = thrice.summary(covariance="robust", cluster=np.tile(np.arange(60), 3))
    assert (clustered.loc["mean", "sd"].to_numpy() > 1.5 * plain).all()


@pytest.mark.heavy
def test_weights_count_rows_or_stand_for_a_population():
    data = rows(60)
    counts = 1 + np.arange(60) % 3
    weighted = fit_of(data, weights=counts)
    repeated = fit_of(data.loc[np.repeat(np.arange(60), counts)].reset_index(drop=True))
    assert_allclose(deviations(weighted), deviations(repeated), rtol=1e-4)
    assert robust_covariance(weighted, None).n_clusters == counts.sum()
    survey = fit_of(data, weights=counts, weight_type="sampling")
    other = fit_of(data, weights=50.0 * counts, weight_type="sampling")
    assert survey.covariance == other.covariance == default_covariance(survey) == "robust"
    assert survey.model.weights.sum() == pytest.approx(60.0)
    assert_allclose(survey.summary().to_numpy(), other.summary().to_numpy(), rtol=1e-6, atol=1e-9)
    assert survey.robust.n_clusters == 60.0
    assert "sampling weights" in str(survey)
    assert survey.with_covariance("linear-response").robust is None


def test_units_and_the_order_of_rows_do_not_matter(fit):
    data = rows()
    cluster = data["g"].to_numpy()
    units = data.assign(x=10.0 * data["x"], y=-3.0 * data["y"])
    expected = np.sort(deviations(fit, cluster))
    assert_allclose(np.sort(deviations(fit_of(units), cluster)), expected, rtol=1e-3)
    order = np.random.default_rng(3).permutation(80)
    shuffled = fit_of(data.iloc[order])
    assert_allclose(np.sort(deviations(shuffled, cluster[order])), expected, rtol=1e-3)


@pytest.mark.heavy
def test_where_the_model_is_right_it_is_nearly_the_usual_one():
    ratios = []
    for seed in range(4):
        fit = fit_of(rows(300, seed), draws=50)
        ratios.append(deviations(fit) / np.sqrt(np.diag(fit.response.covariance)))
    mean = np.mean(ratios, axis=0)
    assert (mean > 0.8).all()
    assert (mean < 1.25).all()


@pytest.mark.heavy
def test_what_only_the_prior_knows_stays_as_open_as_it_was():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(100)
    data = pd.DataFrame({"x": x, "y": x + 0.3 * rng.standard_normal(100)})
    fit = fit_of(data, 2, priors=bvb.Priors(gating_intercept_sd=50.0, scales="fixed"))
    assert fit.components()["rows"].min() == 0.0  # one component is empty
    usual, robust = (
        fit.summary().loc[("mean", 2)],
        fit.summary(covariance="robust").loc[("mean", 2)],
    )
    assert (usual["upper"] - usual["lower"] > 5.0).all()
    assert (robust["upper"] - robust["lower"] > 0.8 * (usual["upper"] - usual["lower"])).all()


@pytest.mark.heavy
def test_everything_that_is_made_of_draws_goes_by_it(fit, tmp_path):
    from bayesvb import effects

    cluster = rows()["g"]
    robust = fit.with_covariance("robust", cluster=cluster)
    assert robust.covariance == "robust"
    assert robust.summary().attrs == {"covariance": "robust", "clusters": "10 clusters"}
    assert robust.summary().equals(fit.summary(covariance="robust", cluster=cluster))
    assert "10 clusters, Student t with 9 degrees of freedom" in str(robust)
    assert robust.idata.attrs["covariance"] == "robust"
    assert effects.predictions(robust, {"x": [0.0]}).covariance == "robust"
    assert robust.khat == fit.khat
    back = bvb.load(robust.save(tmp_path / "fit.nc"))
    assert back.posterior.equals(robust.posterior)
    assert back.robust.words == "10 clusters"
    plain = [one.with_covariance("linear-response").posterior for one in (back, fit)]
    assert plain[0].equals(plain[1])
    assert back.with_covariance("auto").posterior.equals(fit.posterior)


def test_reports_and_the_command_line_know_of_it(fit):
    robust = fit.with_covariance("robust", cluster=rows()["g"])
    assert "of 10 clusters" in posterior.summary(robust)["corrected"]
    assert 'with_covariance("robust", cluster=cluster)' in robust.code()
    options = {"weight_type": "sampling", "n_components": 1}
    frame = rows().assign(w=1.0 + rows()["g"])
    survey = model_of("density", "y ~ x", frame, weights="w", options=options)
    assert survey.weight_type == "sampling"
    assert survey.options()["weight_type"] == "sampling"
    alone = model_of("normal", "y ~ 1", frame, weights="w", options={"weight_type": "sampling"})
    text = str(alone.fit(seed=1, draws=50))
    assert "do not account for sampling weights" in text


@pytest.mark.heavy
def test_combined_restarts_each_have_their_own():
    model = bvb.DensityRegression("y ~ x", rows(), n_components=2)
    fit = model.fit(seed=1, restarts=4, draws=100, combine="average").with_covariance("robust")
    assert fit.covariance == "robust"
    assert all(member.fit.robust is not None for member in fit.members)


def test_what_is_not_to_be_had_is_said(fit):
    with pytest.raises(DataError, match="is for covariance='robust'"):
        fit.with_covariance("linear-response", cluster=rows()["g"])
    with pytest.raises(DataError, match="'g' is not a column that the formula reads"):
        fit.with_covariance("robust", cluster="g")
    with pytest.raises(DataError, match="cluster has a single level"):
        fit.with_covariance("robust", cluster=np.zeros(80))
    mixture = bvb.GaussianMixture("~ x + y", rows(), n_components=2).fit(seed=1, restarts=1)
    assert not has_jackknife(mixture)
    with pytest.raises(DataError, match="has no robust covariance"):
        mixture.with_covariance("robust")
    with pytest.raises(DataError, match="needs weights"):
        bvb.DensityRegression("y ~ x", rows(), weight_type="sampling")
    with pytest.raises(DataError, match="weight_type='survey'"):
        bvb.DensityRegression("y ~ x", rows(), weights="g", weight_type="survey")
    weights = (rows()["g"] < 1).astype(float) + 1e-300
    model = bvb.DensityRegression("y ~ x", rows(), n_components=2, weights=weights)
    weighted = model.fit(seed=1, restarts=1, draws=50)
    weighted.with_covariance("robust", cluster=rows()["g"])
    alone = fit_of(rows(), 1, weights=(rows()["g"] < 1).astype(float), draws=50)
    with pytest.raises(DataError, match="a single cluster with positive weight"):
        alone.with_covariance("robust", cluster=rows()["g"])
