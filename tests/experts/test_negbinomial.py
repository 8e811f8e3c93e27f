"""Negative binomial regressions: maximum likelihood, exact posteriors, refits and the limit."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import kstest

import bayesvb as bvb
from bayesvb.errors import PriorError

SLOPES = np.array([0.5, 0.6, -0.4])


def table(n, seed, dispersion=2.0):
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    mean = np.exp(SLOPES @ np.stack([np.ones(n), x, z]))
    y = rng.poisson(mean * rng.gamma(dispersion, 1.0 / dispersion, n)).astype(float)
    return pd.DataFrame({"y": y, "x": x, "z": z, "o": 0.5 * x})


def model_of(data, formula="y ~ x + z", **options):
    options = {"n_components": 1, "family": "negbinomial", **options}
    return bvb.DensityRegression(formula, data, **options)


@pytest.fixture(scope="module")
def fit():
    return model_of(table(200, 1)).fit(seed=1, draws=1000)


def test_estimates_are_those_of_maximum_likelihood():
    """With an offset: within a tenth of a standard error, standard errors within 5%."""
    sm = pytest.importorskip("statsmodels.api")
    data = table(400, 2)
    fit = model_of(data, "y ~ x + z + offset(o)").fit(seed=1, draws=4000)
    columns = sm.add_constant(data[["x", "z"]])
    exact = sm.NegativeBinomial(data["y"], columns, offset=data["o"]).fit(disp=0)
    found = fit.summary().loc["mean"]
    coefficients, errors = exact.params[:3], exact.bse[:3]
    assert (np.abs(found["mean"].to_numpy() - coefficients.to_numpy()) < 0.1 * errors).all()
    information = sm.GLM(  # expected, not observed: errors of the latter differ by chance
        data["y"], columns, sm.families.NegativeBinomial(alpha=exact.params["alpha"]),
        offset=data["o"],
    ).fit()  # fmt: skip
    assert_allclose(found["sd"], information.bse, rtol=0.07)
    log_sd = exact.bse["alpha"] / exact.params["alpha"]
    shift = np.log(fit.draws["dispersion"]).mean() + np.log(exact.params["alpha"])
    assert abs(shift) < 0.3 * log_sd


@pytest.mark.parametrize("dispersion", [1.0, 30.0])
def test_moments_are_those_of_importance_sampling(dispersion, exact_moments):
    """Also of the log of the dispersion, where counts hardly differ from Poisson ones."""
    priors = bvb.Priors(coefficient_sd=2.5)
    fit = model_of(table(60, 3, dispersion), priors=priors).fit(seed=1, draws=4000, tol=1e-9)
    mean, sd = exact_moments(fit)
    drawn = np.column_stack([fit.draws["coefficients"][:, 0, 0], np.log(fit.draws["dispersion"])])
    assert (np.abs(drawn.mean(axis=0) - mean) < 0.1 * sd).all()
    ratio = drawn.std(axis=0) / sd
    assert (ratio > 0.93).all() and (ratio < 1.07).all()


def test_rows_left_out_are_those_of_refits(assert_as_refits):
    fit = model_of(table(50, 5, 1.0)).fit(seed=1, draws=50, tol=1e-9)
    assert_as_refits(fit, 0.01, 0.05)


def test_counts_without_overdispersion_are_poisson():
    data = table(150, 6, 1e6)
    both = [
        model_of(data, family=name).fit(seed=1, draws=500) for name in ("poisson", "negbinomial")
    ]
    means, sds = (
        np.stack([fit.summary().loc["mean", column] for fit in both]) for column in ("mean", "sd")
    )
    assert (np.abs(np.diff(means, axis=0)) < 0.3 * sds[0]).all()
    assert_allclose(sds[1], sds[0], rtol=0.25)


@pytest.mark.heavy
def test_predictions_have_the_spread_of_the_counts(fit):
    new = table(2000, 2)
    found = fit.predict(new, "interval", prob=0.9)
    assert 0.01 < (new["y"] > found["upper"]).mean() < 0.06  # below the lower end is no count
    assert (found == found.round()).all(axis=None)
    assert (fit.predict(new[:9], "sd") ** 2 > fit.predict(new[:9])).all()
    assert fit.check().attrs["verdict"] == "ok"
    assert kstest(fit.pit(), "uniform").pvalue > 0.01


def test_a_dispersion_may_be_fixed(fit):
    data = table(200, 1)
    fixed = model_of(data, priors=bvb.Priors(dispersion=50.0)).fit(seed=1, draws=200)
    assert_allclose(fixed.draws["dispersion"], 50.0, rtol=1e-3)
    assert fit.components()["dispersion"].between(1.0, 4.0).all() and "dispersion" in str(fit)
    assert fixed.elbo < fit.elbo
    assert fixed.model.prior_table().loc[("dispersion", ""), "prior"] == "fixed"
    with pytest.raises(PriorError, match="'poisson' has no dispersion"):
        model_of(data, family="poisson", priors=bvb.Priors(dispersion=2.0))


@pytest.mark.heavy
def test_two_kinds_of_rows_are_recovered(rng):
    n = 600
    x, kind = rng.normal(size=n), rng.random(n) < 0.4
    mean = np.exp(np.where(kind, 0.2 + 0.8 * x, 2.8 - 0.3 * x))
    y = rng.poisson(mean * rng.gamma(8.0, 1.0 / 8.0, n)).astype(float)
    model = model_of(pd.DataFrame({"y": y, "x": x}), "y ~ x | 1", n_components=2)
    fit = model.fit(seed=1, restarts=4, draws=1000)
    found = fit.summary().loc["mean"]
    truth = np.array([[2.8, -0.3], [0.2, 0.8]]).ravel()
    assert (np.abs(found["mean"] - truth) < 3.5 * found["sd"]).all()
    assert fit.covariance == "linear-response"
    assert kstest(fit.pit(), "uniform").pvalue > 0.01


@pytest.mark.heavy
def test_curves_and_group_effects_are_recovered(rng):
    n = 1000
    x, group = rng.uniform(-2.0, 2.0, n), rng.integers(0, 15, n)
    truth = np.exp(1.0 + 0.7 * np.sin(2.0 * x) + 0.5 * rng.normal(size=15)[group])
    y = rng.poisson(truth * rng.gamma(4.0, 0.25, n)).astype(float)
    data = pd.DataFrame({"y": y, "x": x, "g": [f"g{i}" for i in group]})
    fit = model_of(data, "y ~ s(x) + (1 | g)").fit(seed=1, draws=500)
    assert np.sqrt(np.mean(np.log(fit.predict(data) / truth) ** 2)) < 0.12  # 0.09 by 24 terms
    assert fit.check().attrs["verdict"] == "ok"


def test_the_first_predictor_is_the_log_of_a_positive_count():
    core = model_of(table(20, 3)).core
    block = model_of(table(20, 3)).source.take(np.arange(20))
    expected = np.log(block.response[0] + 0.5)
    assert_allclose(core.experts.first_predictor(block), expected, rtol=1e-12)
