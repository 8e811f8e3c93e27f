"""Ordinal regressions: against maximum likelihood, exact posteriors, refits and the words."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

import bayesvb as bvb
from bayesvb.errors import DataError
from bayesvb.evaluation.elpd import read_elpd

CUTS = np.array([-1.0, 0.3, 1.5])

SLOPES = np.array([0.8, -0.5])


def table(n, seed):
    """Four levels, the log odds of a higher one linear."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    latent = SLOPES @ np.stack([x, z]) + rng.logistic(size=n)
    return pd.DataFrame({"y": 1.0 + np.digitize(latent, CUTS), "x": x, "z": z, "o": 0.5 * x})


def model_of(data, formula="y ~ x + z", **options):
    options = {"n_components": 1, "family": "ordinal", **options}
    return bvb.DensityRegression(formula, data, **options)


@pytest.fixture(scope="module")
def data():
    return table(400, 1)


@pytest.fixture(scope="module")
def fit(data):
    return model_of(data).fit(seed=1, draws=4000)


def test_estimates_are_those_of_maximum_likelihood(data, fit):
    """Slopes, and thresholds with their standard errors by the observed information."""
    ordinal = pytest.importorskip("statsmodels.miscmodels.ordinal_model")
    model = ordinal.OrderedModel(data["y"], data[["x", "z"]], distr="logit")
    exact = model.fit(method="newton", disp=0)
    cuts = model.transform_threshold_params(exact.params.to_numpy())[1:-1]
    steps = np.zeros((5, 5))
    steps[:2, :2], steps[2:, 2] = np.eye(2), 1.0  # thresholds in the log increments
    for j in (1, 2):
        steps[2 + j :, 2 + j] = np.exp(exact.params.iloc[2 + j])
    se = np.sqrt(np.diag(steps @ exact.cov_params().to_numpy() @ steps.T))
    found = fit.summary()
    slopes = found.loc["mean"].iloc[1:]
    at = found.loc["threshold"]
    assert (np.abs(slopes["mean"].to_numpy() - exact.params[:2]) < 0.1 * se[:2]).all()
    assert (np.abs(at["mean"].to_numpy() - cuts) < 0.12 * se[2:]).all()
    assert_allclose([*slopes["sd"], *at["sd"]], se, rtol=0.05)


def test_standard_deviations_are_those_of_importance_sampling(rng):
    """Thresholds as well, whose increments are at a point where the ELBO is computed."""
    model = model_of(table(60, 3), priors=bvb.Priors(coefficient_sd=2.5))
    fit = model.fit(seed=1, draws=4000, tol=1e-9)
    block, experts = model.source.whole(), model.core.experts
    names = ("coefficients", "increments")
    every = np.column_stack([fit.draws[name].reshape(4000, -1) for name in names])
    centre, root = every.mean(axis=0), 1.2 * np.linalg.cholesky(np.cov(every.T))
    scale = np.sqrt(8.0 / rng.chisquare(8.0, 20_000))
    t = scale[:, None] * rng.normal(size=(20_000, 5))
    values = centre + t @ root.T
    draws = {"coefficients": values[:, None, None, :3], "increments": values[:, None, 3:]}
    log_q = -6.5 * np.log1p((t**2).sum(axis=1) / 8.0)
    log_p = experts.log_lik(draws, block).sum(axis=(1, 2)) + experts.log_density(None, draws)
    weight = np.exp(log_p - log_q - (log_p - log_q).max())
    weight /= weight.sum()
    mean = weight @ values
    sd = np.sqrt(weight @ (values - mean) ** 2)
    assert_allclose(every.std(axis=0) / sd, 1.0, atol=0.08)
    assert (np.abs(centre - mean) < 0.2 * sd).all()  # the point of the increments is a mode


@pytest.mark.heavy
def test_rows_left_out_are_those_of_refits():
    fit = model_of(table(60, 5)).fit(seed=1, draws=50, tol=1e-9)
    quick, exact = (read_elpd(fit.loo(**how)).pointwise for how in ({}, {"method": "exact"}))
    assert np.sqrt(np.mean((quick - exact) ** 2)) < 0.005
    assert np.abs(quick - exact).max() < 0.03


def test_predictions_are_probabilities_of_the_levels(fit):
    new = table(200, 2)
    mass = fit.predict(new, "probability", at=[1, 2, 3, 4])
    assert_allclose(mass.sum(axis=1), 1.0)
    beyond = expit((SLOPES @ new[["x", "z"]].to_numpy().T)[:, None] - CUTS)
    ends = np.column_stack([np.ones(200), beyond, np.zeros(200)])
    assert_allclose(mass, -np.diff(ends, axis=1), atol=0.12)
    assert_allclose(fit.predict(new), mass @ np.arange(1.0, 5.0))
    found = fit.predict(new, "quantile", q=0.5)
    assert set(found.unique()) <= {1.0, 2.0, 3.0, 4.0}
    assert (fit.predict(new, "cdf", at=found) >= 0.5).all()


def test_draws_of_thresholds_are_ordered(fit):
    at = fit.posterior["threshold"].to_numpy()
    assert (np.diff(at, axis=-1) > 0.0).all()


def test_words(fit):
    assert str(fit).startswith("Ordinal regression")
    found = bvb.effects.comparisons(fit, "x", average_by=True, target="density", at=4)
    assert found.words == "P(y = 4)"
    assert 0.0 < found.summary["estimate"].item() < 0.3


def test_an_offset_shifts_the_log_odds(data):
    shifted = model_of(data, "y ~ x + z + offset(o)").fit(seed=1, draws=50, tol=1e-9)
    plain = model_of(data).fit(seed=1, draws=50, tol=1e-9)
    change = plain.q.experts.coefficients.mean - shifted.q.experts.coefficients.mean
    scale = data["x"].std(ddof=0)
    assert change[0, 1] == pytest.approx(0.5 * scale, abs=0.01)


def test_errors_say_what_to_do(data):
    with pytest.raises(DataError, match=r"holds 2\.5, and must be a whole number"):
        model_of(data.assign(y=data["y"].where(data.index != 3, 2.5)))
    with pytest.raises(DataError, match="the largest level of `y` is 2"):
        model_of(data.assign(y=data["y"].clip(upper=2.0)))
    with pytest.raises(DataError, match="not identified"):
        model_of(data, n_components=2)
    with pytest.raises(DataError, match="needs the intercept"):
        model_of(data, "y ~ 0 + x")
    words = pd.Categorical.from_codes(data["y"].astype(int) - 1, list("abcd"), ordered=True)
    with pytest.raises(DataError, match=r"cat\.codes") as raised:
        model_of(data.assign(y=words))
    assert "family='ordinal'" in str(raised.value)


def test_rows_of_a_file_are_those_of_a_table(tmp_path):
    data = table(60, 6)
    data.to_parquet(tmp_path / "rows.parquet", row_group_size=20)
    streamed = model_of(tmp_path / "rows.parquet").fit(seed=1, draws=50)
    assert_allclose(streamed.elbo, model_of(data).fit(seed=1, draws=50).elbo, rtol=1e-9)
