"""GaussianMixture from formula to file: components, units, predictions, missing rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.integrate import quad

import bayesvb as bvb
from bayesvb.errors import DataError, PriorError
from bayesvb.evaluation.elpd import read_elpd


@pytest.fixture(scope="module")
def faithful():
    return bvb.datasets.load("faithful")


@pytest.fixture(scope="module", params=["full", "diagonal"])
def fit(request, faithful):
    model = bvb.GaussianMixture("~ eruptions + waiting", faithful, covariance=request.param)
    return model.fit(seed=1, draws=400)


def test_superfluous_components_empty_themselves(fit):
    table = fit.components()
    assert (np.diff(table["share"]) < 0.005).all()  # means of draws, sorted by expectations
    if fit.model.covariance == "full":
        assert (table["share"] > 0.05).sum() == 2
        assert table["share"].iloc[0] == pytest.approx(0.64, abs=0.03)
    assert table["rows"].sum() == 272


def test_means_and_covariances_are_those_of_the_groups(fit, faithful):
    likely = fit.predict(kind="class")
    for component in (1, 2):
        rows = faithful[likely == component]
        if len(rows) < 50:
            continue
        mean = fit.posterior["mean"].sel(component=component).mean(("chain", "draw"))
        assert_allclose(mean, rows[["eruptions", "waiting"]].mean(), rtol=0.05)
    covariance = fit.posterior["covariance"].values
    sd = fit.posterior["sd"].values
    assert_allclose(np.sqrt(covariance[..., 0, 0]), sd[..., 0])
    assert ("correlation" in fit.posterior) == (fit.model.covariance == "full")


def test_the_density_integrates_to_one(fit):
    joint = fit.predictive()
    marginal = joint.marginal(0)
    total, _ = quad(lambda x: marginal.density_at(np.array([x]))[0, 0], -50.0, 60.0, limit=400)
    assert total == pytest.approx(1.0, abs=1e-4)
    given = fit.predictive({"eruptions": [2.0], "waiting": [0.0]}, response="waiting")
    total, _ = quad(lambda y: given.density_at(np.array([y]))[0, 0], -400.0, 600.0, limit=400)
    assert total == pytest.approx(1.0, abs=1e-4)


def test_a_joint_density_is_a_marginal_times_a_conditional_one(fit, faithful):
    rows = faithful.head(9)
    joint = fit.log_density(rows)
    first = fit.predictive().marginal(0).density_at(rows["eruptions"].to_numpy())[:, 0]
    second = fit.predict(rows, "density", at=rows["waiting"], response="waiting")
    assert_allclose(joint, np.log(first) + np.log(second), rtol=1e-9)


def test_probabilities_of_components_decide_the_class(fit, faithful):
    probability = fit.predict(faithful, "component")
    assert_allclose(probability.sum(axis=1), 1.0)
    assert (fit.predict(faithful, "class") == probability.idxmax(axis=1)).all()
    assert fit.responsibilities().shape == (272, 5)


def test_conditional_quantiles_cover(fit, faithful):
    interval = fit.predict(faithful, "interval", response="waiting", prob=0.8)
    inside = (faithful["waiting"] > interval["lower"]) & (faithful["waiting"] < interval["upper"])
    assert 0.74 < inside.mean() < 0.86


def test_the_probability_integral_transform_is_uniform(fit, faithful):
    pit = fit.predict(faithful, "cdf", at=faithful["eruptions"], response="eruptions")
    assert stats.kstest(pit, "uniform").pvalue > 0.01


def test_rows_that_lack_a_value(fit, faithful):
    new = faithful.head(3).assign(waiting=[79.0, np.nan, 74.0])
    assert fit.log_density(new).isna().tolist() == [False, True, False]
    assert fit.predict(new, "class", missing="keep").isna().tolist() == [False, True, False]
    model = bvb.GaussianMixture("~ eruptions + waiting", new, n_components=1)
    assert model.design.n_missing == 1


def test_the_arviz_object(fit):
    idata = fit.idata
    assert idata.posterior["mean"].dims == ("chain", "draw", "component", "feature")
    assert set(idata.posterior_predictive.data_vars) == {"eruptions", "waiting"}
    assert read_elpd(fit.loo()).elpd == pytest.approx(fit.log_density().sum(), rel=0.05)


def test_priors_are_printed_in_the_units_of_the_data(faithful):
    model = bvb.GaussianMixture("~ eruptions + waiting", faithful)
    table = model.prior_table()
    assert_allclose(table.loc["mean", "location"], faithful.mean())
    assert_allclose(table.loc["sd", "location"], 0.3 * faithful.std(ddof=0))
    assert "Mixture of 5 Gaussians" in str(model)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"covariance": "ful"}, "did you mean 'full'"),
        ({"n_components": 300}, "more than the 272"),
    ],
)
def test_what_cannot_be_is_refused(faithful, options, message):
    with pytest.raises(DataError, match=message):
        bvb.GaussianMixture("~ .", faithful, **options)


def test_priors_of_another_model_are_refused(faithful, unchecked):
    with pytest.raises(PriorError, match="GaussianPriors"):
        bvb.GaussianMixture("~ .", faithful, priors=bvb.Priors())


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("mean", {}, "one variable given the others"),
        ("clas", {}, "did you mean 'class'"),
        ("mean", {"response": "wait"}, "did you mean 'waiting'"),
    ],
)
def test_a_prediction_that_cannot_be_made_says_why(fit, kind, options, message):
    with pytest.raises(DataError) as caught:
        fit.predict(kind=kind, **options)
    assert message in str(caught.value)
