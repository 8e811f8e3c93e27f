"""The regressor for skpro: its own checks, and the predictions of the fit."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

pytest.importorskip("skpro")

from skpro.utils import check_estimator

from bayesvb.sklearn.skpro import DensityProbaRegressor, PredictiveDistribution

pytestmark = pytest.mark.heavy


@pytest.mark.parametrize("kind", [DensityProbaRegressor, PredictiveDistribution])
def test_it_passes_the_checks_of_skpro(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_estimator(kind, raise_exceptions=False)
    failed = {name: result for name, result in found.items() if result != "PASSED"}
    assert found and failed == {}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    x = rng.normal(size=80)
    return pd.DataFrame({"x": x, "y": 2.0 * x + np.exp(0.3 * x) * rng.normal(size=80)})


def test_the_distribution_is_that_of_the_fit(rows):
    regressor = DensityProbaRegressor(n_components=2, restarts=2, random_state=1)
    law = regressor.fit(rows[["x"]], rows[["y"]]).predict_proba(rows[["x"]])
    fit = regressor.regressor_.fit_
    assert_allclose(law.log_pdf(rows[["y"]])["y"], fit.log_density(rows))
    assert_allclose(law.mean()["y"], fit.predict(rows[["x"]]))
    found = regressor.predict_quantiles(rows[["x"]], alpha=[0.1, 0.9])
    assert_allclose(found, fit.predict(rows[["x"]], kind="quantile", q=[0.1, 0.9]))
    assert_allclose(law.cdf(law.ppf(0.3)), 0.3)
    uniform = pd.DataFrame({"y": np.linspace(0.01, 0.99, 80)})
    assert_allclose(law.cdf(law.ppf(uniform)), uniform)


def test_some_rows_are_those_rows(rows):
    regressor = DensityProbaRegressor(n_components=1, restarts=1, random_state=1)
    law = regressor.fit(rows[["x"]], rows[["y"]]).predict_proba(rows[["x"]])
    assert_allclose(law.iloc[[3, 1]].mean(), law.mean().iloc[[3, 1]])
    assert law.iat[4, 0].mean() == pytest.approx(law.mean().iat[4, 0])
    assert law.sample(5).shape == (400, 1)
