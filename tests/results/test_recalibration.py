"""Predictions of fits after recalibration."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesvb as bvb
from bayesvb.errors import DataError

PLACES = [0.05, 0.3, 0.5, 0.9]


def skewed(n, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return pd.DataFrame({"x": x, "y": x + rng.gamma(1.0, 1.0, n)})


def fit_of(data, formula="y ~ x", **options):
    model = bvb.DensityRegression(formula, data, **{"n_components": 1, **options})
    return model.fit(seed=1, restarts=1, draws=50)


@pytest.fixture(scope="module")
def fit():
    return fit_of(skewed(200))


def test_quantiles_are_right_on_average_over_new_rows():
    new = skewed(20_000, seed=2)
    fit = fit_of(skewed(1000))
    plain, own = (
        (new["y"].to_numpy()[:, None] <= fit.predict(new, "quantile", q=PLACES, **given)).mean()
        for given in ({}, {"recalibrate": True})
    )
    assert np.abs(plain - PLACES).max() > 0.04
    assert np.abs(own - PLACES).max() < 0.04 and np.abs(own - PLACES).mean() < 0.02


def test_kinds_agree_with_one_another(fit):
    new = skewed(5, seed=3)
    quantiles = fit.predict(new, "quantile", q=PLACES, recalibrate=True)
    for q in PLACES:
        found = fit.predict(new, "cdf", at=quantiles[q], recalibrate=True)
        assert_allclose(found, q, atol=1e-7)
    ends = fit.predict(new, "interval", prob=0.8, recalibrate=True)
    both = fit.predict(new, "quantile", q=[0.1, 0.9], recalibrate=True)
    assert_allclose(ends.to_numpy(), both.to_numpy())
    at = np.linspace(-15.0, 25.0, 1601)
    density = fit.predict(new, "density", at=at, recalibrate=True).to_numpy()
    assert_allclose(density.sum(axis=1) * (at[1] - at[0]), 1.0, atol=5e-3)


def test_units_change_nothing(fit):
    data = skewed(200)
    other = fit_of(data.assign(y=100.0 - 7.0 * data["y"]))
    ends = fit.predict(data[:6], "interval", recalibrate=True).to_numpy()
    turned = other.predict(data[:6], "interval", recalibrate=True).to_numpy()
    assert_allclose(100.0 - 7.0 * ends, turned[:, ::-1], rtol=1e-6)


def test_each_response_has_its_own_map(regimes):
    data = regimes.assign(y2=np.exp(regimes["y"]))
    fit = fit_of(data, "y + y2 ~ x")
    assert len(fit.recalibrations) == 2
    both = [fit.predict(kind="cdf", at=1.0, response=r, recalibrate=True) for r in ("y", "y2")]
    assert not np.allclose(*both)
    with pytest.raises(DataError, match="response=None, but the model has several"):
        fit.predict(kind="cdf", at=1.0, recalibrate=True)


def test_a_missing_value_stays_missing(fit):
    new = pd.DataFrame({"x": [0.0, np.nan]})
    found = fit.predict(new, "interval", recalibrate=True, missing="keep")
    assert found.isna().all(axis=1).tolist() == [False, True]


@pytest.mark.parametrize("kind", ["mean", "sd", "draws", "component", "nonsense"])
def test_other_kinds_are_refused(fit, kind):
    with pytest.raises(DataError, match=f"not available for kind='{kind}', only for 'quantile'"):
        fit.predict(kind=kind, recalibrate=True)


def test_an_unknown_way_to_calibrate_is_refused(fit, unchecked):
    with pytest.raises(DataError, match="recalibrate=2 must be True, False, or a string"):
        fit.predict(kind="interval", recalibrate=2)


def test_what_cannot_be_recalibrated_is_said(fit, class_fit):
    with pytest.raises(DataError, match="PIT values need a numeric response"):
        class_fit.predict(recalibrate=True)
    mixture = bvb.GaussianMixture("~ x + y", skewed(40), n_components=1).fit(seed=1, restarts=1)
    with pytest.raises(DataError, match="has no response"):
        mixture.predict(kind="interval", response="y", recalibrate=True)
