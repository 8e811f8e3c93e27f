"""Gamma regressions: against maximum likelihood, exact posteriors, refits and the words."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from scipy.stats import gamma, kstest

import bayesvb as bvb
from bayesvb.errors import DataError, PriorError
from bayesvb.evaluation.elpd import read_elpd

SLOPES = np.array([0.5, 0.6, -0.4])

SHAPE = 3.0


def table(n, seed):
    """Positive numbers whose log mean is linear."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    mean = np.exp(SLOPES @ np.stack([np.ones(n), x, z]))
    y = mean * rng.gamma(SHAPE, 1.0 / SHAPE, n)
    return pd.DataFrame({"y": y, "x": x, "z": z, "o": 0.5 * x, "mean": mean})


def model_of(data, formula="y ~ x + z", **options):
    options = {"n_components": 1, "family": "gamma", **options}
    return bvb.DensityRegression(formula, data, **options)


def test_estimates_are_those_of_maximum_likelihood(data):
    """With an offset: coefficients and the log of the shape, which statsmodels does not fit."""
    sm = pytest.importorskip("statsmodels.api")
    fit = model_of(data, "y ~ x + z + offset(o)").fit(seed=1, draws=4000)
    columns = sm.add_constant(data[["x", "z"]])
    law = sm.families.Gamma(sm.families.links.Log())
    glm = sm.GLM(data["y"], columns, law, offset=data["o"]).fit()
    ratio = data["y"] / glm.fittedvalues

    def loss(log_shape):
        shape = np.exp(log_shape)
        return -gamma.logpdf(ratio, shape, scale=1.0 / shape).sum()

    at = minimize_scalar(loss, bracket=(0.0, 2.0)).x
    error = 1.0 / np.sqrt((loss(at + 1e-3) - 2.0 * loss(at) + loss(at - 1e-3)) / 1e-6)
    se = glm.bse.to_numpy() / np.sqrt(glm.scale * np.exp(at))  # by the shape, not by Pearson
    found = fit.summary().loc["mean"]
    assert (np.abs(found["mean"].to_numpy() - glm.params.to_numpy()) < 0.1 * se).all()
    assert_allclose(found["sd"], se, rtol=0.05)
    logs = np.log(fit.draws["shape"][:, 0])
    assert abs(logs.mean() - at) < 0.2 * error  # coefficients integrated out: 0.12 less
    assert logs.std() == pytest.approx(error, rel=0.05)


def test_standard_deviations_are_those_of_importance_sampling(rng):
    model = model_of(table(40, 3), priors=bvb.Priors(coefficient_sd=2.5))
    fit = model.fit(seed=1, draws=4000, tol=1e-9)
    block, experts, q = model.source.whole(), model.core.experts, fit.q.experts
    law, shape = q.coefficients, q.dispersion
    root = 1.2 * np.linalg.cholesky(law.covariance[0])
    z, scale = rng.normal(size=(20_000, 4)), np.sqrt(8.0 / rng.chisquare(8.0, 20_000))
    t = scale[:, None] * z
    logs = shape.mean_log + 1.2 * shape.sd_log * t[:, 3:]
    values = law.mean[0] + t[:, :3] @ root.T
    draws = {"coefficients": values[:, None, None], "shape": np.exp(logs)}
    log_q = -6.0 * np.log1p((t**2).sum(axis=1) / 8.0) - logs[:, 0]
    log_p = experts.log_lik(draws, block).sum(axis=(1, 2)) + experts.log_density(None, draws)
    weight = np.exp(log_p - log_q - (log_p - log_q).max())
    weight /= weight.sum()
    every = np.column_stack([values, logs])
    mean = weight @ every
    sd = np.sqrt(weight @ (every - mean) ** 2)
    found = np.column_stack([fit.draws["coefficients"][:, 0, 0], np.log(fit.draws["shape"])])
    assert_allclose(found.std(axis=0) / sd, 1.0, atol=0.05)
    assert (np.abs(found.mean(axis=0) - mean) < 0.06 * sd).all()  # 4000 draws: 0.016 se


@pytest.mark.heavy
def test_rows_left_out_are_those_of_refits(assert_as_refits):
    fit = model_of(table(60, 5)).fit(seed=1, draws=50, tol=1e-9)
    assert_as_refits(fit, 0.005, 0.03)


def test_predictions_are_those_of_the_law(fit):
    new = table(1000, 2)
    mean = new["mean"].to_numpy()
    assert_allclose(fit.predict(new), mean, rtol=0.3)  # 4 se of the farthest
    found = fit.predict(new, "interval", prob=0.9)
    inside = (new["y"] >= found["lower"]) & (new["y"] <= found["upper"])
    assert abs(inside.mean() - 0.9) < 0.04
    assert kstest(fit.predict(new, "cdf", at=new["y"]), "uniform").pvalue > 0.01
    draws = fit.predict(new[:5], "draws", n=200, seed=1)
    assert (draws > 0.0).all(axis=None)


def test_intervals_carry_the_uncertainty_of_the_shape():
    """With few rows tails are wider than those of the most likely shape."""
    data = table(12, 4)
    fit = model_of(data, "y ~ 1").fit(seed=1, draws=200)
    shape = float(np.exp(fit.q.experts.dispersion.mean_log[0]))
    upper = fit.predict(data[:1], "quantile", q=0.99).iloc[0]
    known = gamma.ppf(0.99, shape, scale=fit.predict(data[:1]).iloc[0] / shape)
    assert upper > 1.05 * known


def test_words(fit):
    shown = str(fit)
    assert shown.startswith("Gamma regression")
    assert "Mean ratio" in shown
    table = fit.model.prior_table()
    assert table.loc["shape", "prior"].item() == "log-normal, sd of the log 2"
    found = bvb.effects.comparisons(fit, "x", average_by=True, comparison="ratio")
    assert_allclose(found.summary["estimate"], np.exp(0.6), rtol=0.1)


@pytest.mark.parametrize("value", [0.0, -1.0])
def test_a_response_must_be_positive(value):
    data = table(30, 1)
    data.loc[3, "y"] = value
    with pytest.raises(DataError, match=r"`y` holds .*, and must be a number above 0") as raised:
        model_of(data)
    assert "the part zero(1)" in str(raised.value)


def test_degrees_of_freedom_are_refused(data):
    with pytest.raises(PriorError, match="only family='student'"):
        model_of(data, priors=bvb.Priors(dof=4.0))


def test_rows_of_a_file_are_those_of_a_table(tmp_path):
    data = table(60, 6)
    data.to_parquet(tmp_path / "rows.parquet", row_group_size=20)
    streamed = model_of(tmp_path / "rows.parquet").fit(seed=1, draws=50)
    assert_allclose(streamed.elbo, model_of(data).fit(seed=1, draws=50).elbo, rtol=1e-9)


@pytest.mark.heavy
def test_rows_are_left_out_beside_a_component_without_rows():
    """Whose shape has no data: sums of its far nodes may not move the shape of the other one."""
    data = table(120, 3)
    fits = [model_of(data, "y ~ x | 1", n_components=k).fit(seed=1, draws=25) for k in (1, 2)]
    one, two = (read_elpd(fit.loo()).elpd for fit in fits)
    assert fits[1].components()["rows"].min() == 0
    assert abs(two - one) < 2.0
