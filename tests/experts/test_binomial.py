"""Binomial regressions: against single trials and maximum likelihood, and predictions of counts."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from scipy.stats import binom, kstest

import bayesvb as bvb
from bayesvb.errors import DataError, DesignWarning, FormulaError

SLOPES = np.array([-0.5, 1.2, -0.8])


def table(n, seed, most=9):
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    trials = rng.integers(1, most, n)
    p = expit(SLOPES @ np.stack([np.ones(n), x, z]))
    return pd.DataFrame({"k": rng.binomial(trials, p), "n": trials, "x": x, "z": z, "p": p})


def model_of(data, formula="k | trials(n) ~ x + z", **options):
    options = {"n_components": 1, "family": "binomial", **options}
    return bvb.DensityRegression(formula, data, **options)


@pytest.fixture(scope="module")
def data():
    return table(80, 1)


@pytest.fixture(scope="module")
def fit(data):
    return model_of(data).fit(seed=1, draws=500)


def test_trials_are_rows_of_zeros_and_ones(data, fit):
    """The same posterior, and a log likelihood that differs by the orders of the trials."""
    rows = data.loc[data.index.repeat(data["n"])]
    place = rows.groupby(level=0).cumcount()
    rows = rows.assign(y=(place < rows["k"]).astype(float)).reset_index(drop=True)
    priors = bvb.Priors(coefficient_sd=2.0, standardize=False)
    one = model_of(rows, "y ~ x + z", family="bernoulli", priors=priors)
    same = model_of(data, "cbind(k, n - k) ~ x + z", priors=priors)
    one, same = (model.fit(seed=1, draws=50, tol=1e-10) for model in (one, same))
    assert_allclose(same.coef(), one.coef(), rtol=1e-6)
    assert_allclose(same.vcov(), one.vcov(), rtol=1e-5, atol=1e-8)
    orders = binom.logpmf(data["k"], data["n"], 0.5) + data["n"] * np.log(2.0)
    assert same.elbo - one.elbo == pytest.approx(orders.sum(), abs=1e-5)


def test_estimates_are_those_of_maximum_likelihood():
    sm = pytest.importorskip("statsmodels.api")
    data = table(200, 4)
    found = model_of(data).fit(seed=1, draws=4000).summary().loc["mean"]
    both = np.stack([data["k"], data["n"] - data["k"]], axis=1)
    exact = sm.GLM(both, sm.add_constant(data[["x", "z"]]), sm.families.Binomial()).fit()
    assert (np.abs(found["mean"].to_numpy() - exact.params) < 0.1 * exact.bse).all()
    assert_allclose(found["sd"], exact.bse, rtol=0.05)


def test_predictions_are_of_the_trials_of_each_row(data, fit):
    assert_allclose(fit.predict(), fit.predict(data))
    unknown = data.drop(columns="k")
    assert_allclose(fit.predict(unknown), data["n"] * fit.predict(unknown, "probability"))
    assert (fit.predict(unknown, "quantile", q=1.0) == data["n"]).all()
    mass = fit.predict(unknown[:6], "probability", at=range(10))
    assert_allclose(mass.sum(axis=1), 1.0)
    assert_allclose(mass, binom.pmf(range(10), unknown["n"].to_numpy()[:6, None],
                                    data["p"].to_numpy()[:6, None]), atol=0.15)  # fmt: skip
    with pytest.warns(DesignWarning, match="no column 'n'(.|\n)*probabilities"):
        one = fit.predict(data[["x", "z"]])
    assert_allclose(one, fit.predict(unknown, "probability"))
    assert fit.predict(unknown.assign(n=np.nan)).isna().all()


def test_a_right_fit_passes_and_effects_are_of_one_trial(fit):
    assert kstest(fit.pit(), "uniform").pvalue > 0.01
    found = bvb.effects.comparisons(fit, "x", average_by=True)
    assert "probability of k in one trial" in str(found)
    assert 0.0 < float(found.summary["estimate"].iloc[0]) < 0.5


def test_a_report_with_groups_does_not_warn_of_trials(data):  # warnings are errors here
    grouped = data.assign(g=np.arange(len(data)) % 8)
    fit = model_of(grouped, "cbind(k, n - k) ~ x + (1 | g)").fit(seed=1)
    assert "of k in one trial" in fit.report_text()


def test_responses_that_lack_their_trials_are_named(data):
    with pytest.raises(DataError, match=r"without a number of trials(.|\n)*k . trials\(n\)"):
        model_of(data, "k ~ x")
    with pytest.raises(FormulaError, match=r"'poisson' does not support trials(.|\n)*'binomial'"):
        model_of(data, family="poisson")
    with pytest.raises(DataError, match=r"did you mean cbind\(k, n - k\)"):
        model_of(data.assign(y=data["p"]), "y ~ x", family="bernoulli")


@pytest.mark.heavy
def test_two_components_are_recovered(rng):
    n = 500
    x, kind = rng.normal(size=n), rng.random(n) < 0.4
    p = expit(np.where(kind, 0.5 - x, -1.5 + 1.2 * x))
    data = pd.DataFrame({"k": rng.binomial(10, p), "x": x})
    fit = model_of(data, "k | trials(10) ~ x | 1", n_components=2).fit(seed=1, draws=500)
    found = fit.summary().loc["mean"]
    truth = np.array([[-1.5, 1.2], [0.5, -1.0]]).ravel()
    assert (np.abs(found["mean"] - truth) < 3.5 * found["sd"]).all()
    assert kstest(fit.pit(), "uniform").pvalue > 0.01
