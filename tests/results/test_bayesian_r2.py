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


def fitted(formula, table, **options):
    return bvb.DensityRegression(formula, table, n_components=1, **options).fit(seed=1, draws=100)


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


@pytest.mark.filterwarnings("ignore::bayesvb.errors.ConvergenceWarning")
def test_what_has_no_variance_is_refused(table):
    network = bvb.ConditionalMixtureNetwork("c ~ x", table, n_experts=2)
    with pytest.raises(DataError, match="a response of classes"):
        network.fit(seed=1, restarts=1, max_iter=2, draws=25).r2()
    with pytest.raises(DataError, match="this fit has no response"):
        bvb.GaussianMixture("~ x", table, n_components=1).fit(seed=1, draws=25).r2()
