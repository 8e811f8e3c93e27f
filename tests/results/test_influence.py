"""Influence of rows: against least squares, against refits, and what it must not depend on."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose

import bayesvb as bvb
from bayesvb.errors import DataError
from bayesvb.results import influence as module
from bayesvb.results.influence import MEASURES
from bayesvb.results.robust import jackknife
from bayesvb.sensitivity import deletion as deletion_module
from bayesvb.sensitivity import jackknife as jackknife_module

FLAT = bvb.Priors(coefficient_sd=1e4, scales="fixed")
COVARIANCE = "linear-response"  # exact means are of draws: refits would differ by their noise


def rows(n=80, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2.0, 2.0, n)
    first = rng.uniform(size=n) < 1.0 / (1.0 + np.exp(-x))
    y = np.where(first, 1.5 + 1.5 * x, -1.5 - x) + 0.5 * rng.standard_normal(n)
    return pd.DataFrame({"x": x, "y": y}, index=[f"row {i}" for i in range(n)])


def fit_of(data, n_components=2, formula="y ~ x", **options):
    model = bvb.DensityRegression(formula, data, n_components=n_components, **options)
    return model.fit(seed=1, restarts=3, draws=50, tol=1e-11, max_iter=5000, covariance=COVARIANCE)


@pytest.fixture(scope="module")
def table():
    return fit_of(rows()).influence()


def test_one_line_has_the_measures_of_least_squares():
    data = rows(60)
    found = fit_of(data, 1, priors=FLAT).influence()
    known = sm.OLS(data["y"], sm.add_constant(data["x"])).fit().get_influence()
    assert_allclose(found["leverage"], known.hat_matrix_diag, atol=1e-6)
    ratio = found["cooks_distance"] / known.cooks_distance[0]
    assert_allclose(ratio, 1.0, rtol=0.001)
    slopes = found[["mean 1, Intercept", "mean 1, x"]].to_numpy()
    scaled = slopes * np.sqrt(np.diag(known.results.cov_params()))
    assert_allclose(scaled, -known.dfbeta, rtol=0.01)
    assert_allclose(found["leverage"].sum(), 2.0, rtol=1e-4)


def test_rows_keep_their_names_and_parameters_theirs(table):
    assert list(table.index) == list(rows().index)
    assert list(table.columns[:3]) == list(MEASURES)
    assert {"mean 2, x", "gating 2, x", "sigma 1", "share 2"} <= set(table.columns)
    assert np.isfinite(table.to_numpy()).all()
    assert 1.5 < table["leverage"].sum() < 8.0  # four coefficients and a gate


@pytest.mark.heavy
def test_two_lines_change_as_refits_without_the_row_do(table):
    data, whole = rows(), fit_of(rows())
    before = whole.summary()["mean"].to_numpy()
    for row in table["cooks_distance"].nlargest(3).index:
        without = fit_of(data.drop(index=row)).summary()["mean"].to_numpy()
        found = table.loc[row].to_numpy()[3:] * whole.summary()["sd"].to_numpy()
        coefficients = slice(0, 4)
        off, moved = (found - (without - before))[coefficients], (without - before)[coefficients]
        sd = whole.summary()["sd"].to_numpy()[coefficients]
        assert np.abs(off / sd).max() < 0.05 + 0.2 * np.abs(moved / sd).max()


def test_units_and_the_order_of_rows_do_not_matter(table):
    data = rows()
    order = np.random.default_rng(3).permutation(len(data))
    other = data.iloc[order].assign(x=lambda d: 10.0 * d["x"], y=lambda d: 5.0 - 3.0 * d["y"])
    found = fit_of(other).influence().loc[data.index]
    assert_allclose(found[list(MEASURES)], table[list(MEASURES)], rtol=5e-3, atol=1e-4)


def test_a_gross_error_stands_out_and_a_row_without_weight_does_not():
    data = rows()
    data.iloc[5] = [1.9, -12.0]
    weight = np.ones(80)
    weight[7] = 0.0
    found = fit_of(data, weights=weight).influence()
    assert found["cooks_distance"].idxmax() == "row 5"
    assert_allclose(found.iloc[7].to_numpy(), 0.0, atol=1e-9)


def test_several_responses_share_a_leverage():
    data = rows().assign(u=lambda d: d["x"] + np.cos(np.arange(80)))
    found = fit_of(data, 1, "y + u ~ x", priors=FLAT).influence()
    hat = sm.OLS(data["y"], sm.add_constant(data["x"])).fit().get_influence().hat_matrix_diag
    assert_allclose(found["leverage"], hat, atol=1e-6)


def test_models_without_linear_response_say_so():
    fit = bvb.GaussianMixture("~ x + y", rows(), n_components=2).fit(seed=1, restarts=1)
    with pytest.raises(DataError, match="has no influence of rows"):
        fit.influence()


def test_leverages_are_central_differences_of_moved_means(table):
    own = jackknife(fit_of(rows()), "test")
    deletion, step = own.deletion, 1e-3
    block = deletion.source.take(np.arange(80))
    ends = []
    for side in (1e-4, -1e-4):
        ends.append(deletion.of_rows(replace(block, response=block.response + side)))
    answer = step * deletion.solve((ends[0] - ends[1]) / 2e-4)
    ahead, behind = (
        deletion.under(
            side * answer, side * answer, block, lambda q, b: deletion.model.predictive(q, b).mean()
        )
        for side in (1.0, -1.0)
    )
    assert_allclose(table["leverage"], (ahead - behind) / (2.0 * step), atol=2e-6)


def test_of_many_rows_those_that_move_the_fit_little_are_linear(table, monkeypatch):
    own = jackknife(fit_of(rows()), "test")
    whole = module.changes_without_rows(own)
    for each in (module, jackknife_module):
        monkeypatch.setattr(each, "CURVED", 5)
    monkeypatch.setattr(deletion_module, "ROWS_AT_ONCE", 7)
    some = module.changes_without_rows(own)
    full = np.isclose(some, whole, rtol=1e-9, atol=1e-12).all(axis=1)
    assert full.sum() == 5
    assert (some**2).sum(axis=1)[full].min() > 0.9 * (some**2).sum(axis=1)[~full].max()
    assert np.linalg.norm(some - whole) < 0.2 * np.linalg.norm(whole)  # measured: a tenth
