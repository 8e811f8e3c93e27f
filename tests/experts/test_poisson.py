"""Poisson regressions: against maximum likelihood, exact posteriors, refits and the words."""

import html
import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import kstest, poisson

import bayesvb as bvb
from bayesvb.errors import DataError, DesignWarning
from bayesvb.factors.normal import Normal

SLOPES = np.array([0.5, 0.6, -0.4])


def table(n, seed, dispersion=np.inf):
    """Counts whose log mean is linear; with a finite dispersion negative binomial."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    rate = np.exp(SLOPES @ np.stack([np.ones(n), x, z]))
    shown = rate if np.isinf(dispersion) else rate * rng.gamma(dispersion, 1.0 / dispersion, n)
    y = rng.poisson(shown).astype(float)
    weight = rng.integers(1, 3, n)
    return pd.DataFrame({"y": y, "x": x, "z": z, "o": 0.5 * x, "w": weight, "rate": rate})


def model_of(data, formula="y ~ x + z", **options):
    options = {"n_components": 1, "family": "poisson", **options}
    return bvb.DensityRegression(formula, data, **options)


@pytest.fixture(scope="module")
def data():
    return table(400, 1)


@pytest.fixture(scope="module")
def fit(data):
    return model_of(data).fit(seed=1, draws=2000)


@pytest.mark.parametrize("weighted", [False, True])
def test_estimates_are_those_of_maximum_likelihood(data, weighted):
    """With an exposure: within a tenth of a standard error, standard errors within 5%."""
    sm = pytest.importorskip("statsmodels.api")
    options = {"weights": "w"} if weighted else {}
    fit = model_of(data, "y ~ x + z + offset(o)", **options).fit(seed=1, draws=4000)
    columns = sm.add_constant(data[["x", "z"]])
    weight = data["w"] if weighted else None
    glm = sm.GLM(data["y"], columns, sm.families.Poisson(), offset=data["o"], freq_weights=weight)
    exact = glm.fit()
    found = fit.summary().loc["mean"]
    assert (np.abs(found["mean"].to_numpy() - exact.params.to_numpy()) < 0.1 * exact.bse).all()
    assert_allclose(found["sd"], exact.bse, rtol=0.05)


@pytest.mark.parametrize("dispersion", [np.inf, 2.0], ids=["poisson", "overdispersed"])
def test_standard_deviations_are_those_of_importance_sampling(dispersion, exact_moments):
    model = model_of(table(60, 3, dispersion), priors=bvb.Priors(coefficient_sd=2.5))
    fit = model.fit(seed=1, draws=4000, tol=1e-9)
    mean, sd = exact_moments(fit)
    ratio = fit.draws["coefficients"][:, 0, 0].std(axis=0) / sd
    assert (ratio > 0.95).all() and (ratio < 1.05).all()
    assert (np.abs(fit.q.experts.mean[0] - mean) < 0.03 * sd).all()


def test_rows_left_out_are_those_of_refits(assert_as_refits):
    """Also of overdispersed counts, of which some rows move the fit far."""
    fit = model_of(table(80, 5, 2.0)).fit(seed=1, draws=50, tol=1e-9)
    assert_as_refits(fit, 0.005, 0.03)


def test_influence_is_near_that_of_a_refit():
    """Of the most influential row: linear changes, as curvatures follow the response too."""
    data = table(80, 5, 1.0)
    fit = model_of(data).fit(seed=1, draws=200, tol=1e-9)
    row = fit.influence()["cooks_distance"].idxmax()
    found = fit.influence().loc[row, ["mean 1, Intercept", "mean 1, x", "mean 1, z"]]
    without = model_of(data.drop(index=row)).fit(seed=1, draws=200, tol=1e-9)
    change = (without.summary()["mean"] - fit.summary()["mean"]) / fit.summary()["sd"]
    expected = change.loc["mean"].to_numpy()
    far = np.abs(expected) > 0.5
    assert far.any()
    ratio = found.to_numpy(dtype=float)[far] / expected[far]
    assert (ratio > 0.4).all() and (ratio < 2.0).all()


def test_predictions_are_those_of_counts(fit):
    new = table(2000, 2)
    assert (np.abs(np.log(fit.predict(new) / new["rate"])) < 0.35).all()  # 4 se of the farthest
    mass = fit.predict(new[:5], "probability", at=[0, 1, 2])
    assert_allclose(mass, poisson.pmf([0, 1, 2], new["rate"].to_numpy()[:5, None]), atol=0.05)
    found = fit.predict(new, "interval", prob=0.9)
    inside = new["y"].between(found["lower"], found["upper"]).mean()
    assert 0.88 < inside < 0.98  # intervals of whole numbers cover more
    assert (found == found.round()).all(axis=None)


def test_an_offset_multiplies_the_mean(data):
    fit = model_of(data, "y ~ x + offset(o)").fit(seed=1, draws=50)
    new = data[:5]
    assert_allclose(fit.predict(new.assign(o=new["o"] + 2.0)), np.exp(2.0) * fit.predict(new))


def test_a_right_fit_passes_and_its_transforms_are_uniform(fit):
    assert fit.check().attrs["verdict"] == "ok"
    assert kstest(fit.pit(), "uniform").pvalue > 0.01


@pytest.mark.heavy
def test_overdispersion_is_found():
    check = model_of(table(400, 7, 1.0)).fit(seed=1, draws=200).check()
    assert check.loc["Predictive spread", "grade"] == "problem"


def test_effects_are_of_means_or_of_their_logarithm(fit):
    of_link = bvb.effects.comparisons(fit, "x", average_by=True, target="link")
    assert "log mean of y" in str(of_link)
    found = fit.summary().loc[("mean", 1, "x")]
    assert float(of_link.summary["estimate"].iloc[0]) == pytest.approx(found["mean"], abs=1e-9)
    assert found["rate_ratio"] == pytest.approx(np.exp(found["mean"]))
    assert "Rate ratio" in str(fit)
    ratio = bvb.effects.comparisons(fit, "x", average_by=True, comparison="ratio")
    assert_allclose(np.log(ratio.draws), of_link.draws)
    with pytest.raises(DataError, match="mean of this family is not a probability"):
        bvb.effects.comparisons(fit, "x", target="odds")


@pytest.mark.parametrize("value", [-1.0, 2.5])
def test_values_that_are_no_counts_are_named(data, value):
    with pytest.raises(DataError, match=f"`y` holds {value:g}, and must be a whole number from 0"):
        model_of(data.assign(y=data["y"].where(data.index > 3, value)))
    with pytest.warns(DesignWarning, match="family='poisson'"):
        bvb.DensityRegression("y ~ x", data, n_components=1)


def test_a_component_without_rows_has_a_mean_like_that_of_counts(data):
    """Its predictor is that of the prior: with a standard deviation of 10 the mean is exp(50)."""
    model = model_of(data, "y ~ x | gating(z)", n_components=2)
    experts, block = model.core.experts, model.source.whole()
    prior = Normal.from_precision(np.zeros((1, 2)), experts.prior.precision[None])
    law = experts.predictive(prior, np.ones((1, block.n_rows)), block, 0)
    assert np.median(law.mean()) < 600.0
    assert (model.priors.coefficient_sd, model_of(data).priors.coefficient_sd) == (2.5, 10.0)


@pytest.mark.heavy
def test_two_kinds_of_rows_are_recovered(rng):
    n = 600
    x, kind = rng.normal(size=n), rng.random(n) < 0.4
    rate = np.exp(np.where(kind, 0.2 + 0.8 * x, 2.5 - 0.3 * x))
    data = pd.DataFrame({"y": rng.poisson(rate).astype(float), "x": x})
    fit = model_of(data, "y ~ x | 1", n_components=2).fit(seed=1, restarts=4, draws=1000)
    found = fit.summary().loc["mean"]
    truth = np.array([[2.5, -0.3], [0.2, 0.8]]).ravel()
    assert (np.abs(found["mean"] - truth) < 3.5 * found["sd"]).all()
    assert fit.covariance == "linear-response"
    assert kstest(fit.pit(), "uniform").pvalue > 0.01


@pytest.mark.heavy
@pytest.mark.parametrize("n_components", [1, 2])
def test_the_report_says_nothing_of_a_density(data, n_components, tmp_path):
    fit = model_of(data, "y ~ s(x) + z | 1", n_components=n_components)
    fit = fit.fit(seed=1, restarts=2, draws=200)
    page = fit.report(tmp_path / "fit.html").read_text("utf-8")
    page = re.sub("<(style|svg|script).*?</(style|svg|script)>", "", page, flags=re.S)
    said = " ".join(html.unescape(re.sub("<[^>]+>", " ", page)).split())
    said += str(fit) + fit.report_text()
    assert "generalised linear regression" in said and "rate ratio" in said
    for words in ("noise", "σ", "east squares", "density of y", "Predictive density", "recalibrate",
                  "Smoothed", "C(y)"):  # fmt: skip
        assert words not in said, words
