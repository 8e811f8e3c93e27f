"""Bayesian R2: variances of the draws themselves, and those of least squares as the limit."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.errors import DataError


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(5)
    x = rng.normal(size=80)
    table = pd.DataFrame({"x": x, "y": 3.0 * x + rng.normal(size=80), "n": rng.poisson(np.exp(x))})
    return table.assign(w=np.repeat([1.0, 2.0], 40), c=np.where(x > 0, "a", "b"))


def fitted(formula, table, draws=100, **options):
    return bvb.DensityRegression(formula, table, n_components=1, **options).fit(seed=1, draws=draws)


def test_of_a_regression_it_is_the_share_of_the_variance_in_each_draw(table):
    fit = fitted("y ~ x", table, weights="w")
    values = fit.named_draws.values
    means = values["beta"][:, 0] @ np.stack([np.ones(80), table["x"]])
    centred = means - np.average(means, axis=1, weights=table["w"])[:, None]
    explained = np.average(centred**2, axis=1, weights=table["w"])
    expected = explained / (explained + values["sigma"][:, 0] ** 2)
    shown = fit.r2().loc["y"]
    np.testing.assert_allclose(shown["estimate"], expected.mean(), rtol=1e-10)
    np.testing.assert_allclose(shown["sd"], expected.std(ddof=1), rtol=1e-8)


def test_of_counts_the_noise_is_that_of_each_mean(table):
    fit = fitted("n ~ x", table, family="poisson")
    means = np.exp(fit.named_draws.values["beta"][:, 0] @ np.stack([np.ones(80), table["x"]]))
    expected = means.var(axis=1) / (means.var(axis=1) + means.mean(axis=1))
    np.testing.assert_allclose(fit.r2()["estimate"], expected.mean(), rtol=1e-10)


def test_leave_one_out_means_of_a_line_are_those_of_least_squares_without_the_row(table):
    """Residuals without a row are e / (1 - h), with the leverages h of least squares."""
    x, y = np.stack([np.ones(80), table["x"]], axis=1), table["y"].to_numpy()
    hat = x @ np.linalg.solve(x.T @ x, x.T)
    held_out = (y - hat @ y) / (1.0 - np.diag(hat))
    rng = np.random.default_rng(1)
    share = rng.dirichlet(np.ones(80), size=4000).T
    variances = [v**2 @ share - (v @ share) ** 2 for v in (held_out, y)]
    expected = 1.0 - variances[0] / variances[1]
    shown = fitted("y ~ x", table, 4000).r2(loo=True, prob=0.9).loc["y"]
    np.testing.assert_allclose(shown["estimate"], expected.mean(), atol=0.004)
    np.testing.assert_allclose(shown["sd"], expected.std(), rtol=0.25)
    assert shown["lower"] < shown["estimate"] < shown["upper"]


def test_leave_one_out_of_noise_is_no_better_than_the_mean(table):
    rng = np.random.default_rng(3)
    many = pd.DataFrame({f"x{n}": rng.normal(size=60) for n in range(8)})
    many["y"] = rng.normal(size=60)
    fit = fitted("y ~ " + " + ".join(f"x{n}" for n in range(8)), many, 4000)
    assert fit.r2()["estimate"].item() > 0.1
    assert fit.r2(loo=True)["estimate"].item() < 0.05


def test_leave_one_out_of_censored_times_is_refused(table):
    times = table.assign(y=np.exp(table["y"] / 9.0), seen=1 - (table["n"] == 0))
    fit = fitted("Surv(y, seen) ~ x", times, family="weibull")
    with pytest.raises(DataError, match="responses without censoring"):
        fit.r2(loo=True)


@pytest.mark.filterwarnings("ignore::bayesvb.errors.ConvergenceWarning")
def test_what_has_no_variance_is_refused(table):
    network = bvb.ConditionalMixtureNetwork("c ~ x", table, n_experts=2)
    with pytest.raises(DataError, match="a response of classes"):
        network.fit(seed=1, restarts=1, max_iter=2, draws=25).r2()
    with pytest.raises(DataError, match="this fit has no response"):
        bvb.GaussianMixture("~ x", table, n_components=1).fit(seed=1, draws=25).r2()
