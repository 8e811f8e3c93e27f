"""Least squares left out row by row: against refits, statsmodels, and a fit of one component."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import t
from statsmodels.regression.linear_model import OLS

import bayesvb as bvb
from bayesvb.errors import DataError
from bayesvb.evaluation import linear_baseline as module
from bayesvb.evaluation.linear_baseline import leave_one_out
from bayesvb.results.baselines import linear_baseline
from bayesvb.results.subsampling import criteria_at


def test_the_baseline_is_what_refitting_without_each_row_gives(rng):
    x = np.column_stack([np.ones(12), rng.normal(size=(12, 2))])
    y = x @ [1.0, 2.0, -1.0] + rng.normal(size=12)
    weights = rng.integers(1, 4, 12).astype(float)
    found = leave_one_out(x, y, weights)
    for i in range(12):
        rows = np.repeat(np.arange(12), (weights - (np.arange(12) == i)).astype(int))
        inverse = np.linalg.inv(x[rows].T @ x[rows])
        b = inverse @ x[rows].T @ y[rows]
        free = len(rows) - 3
        s2 = ((y[rows] - x[rows] @ b) ** 2).sum() / free
        scale = np.sqrt(s2 * (1.0 + x[i] @ inverse @ x[i]))
        assert found[i] == pytest.approx(t.logpdf(y[i], free, loc=x[i] @ b, scale=scale), rel=1e-9)


def test_the_baseline_says_when_there_is_none():
    assert leave_one_out(np.ones((2, 1)), np.array([1.0, 2.0])) is None
    x = np.column_stack([np.ones(5), np.arange(5.0)])
    assert leave_one_out(x, 2.0 + 3.0 * x[:, 1]) is None
    alone = np.column_stack([np.ones(6), np.eye(6)[0]])
    found = leave_one_out(alone, np.array([9.0, 1.0, 3.0, 2.0, 5.0, 4.0]))
    assert np.isnan(found[0]) and np.isfinite(found[1:]).all()


def test_the_baseline_changes_with_the_units_by_their_logarithm(rng):
    x = np.column_stack([np.ones(20), rng.normal(size=20)])
    y = rng.normal(size=20)
    shifted = leave_one_out(x, y * 1e120)
    assert shifted == pytest.approx(leave_one_out(x, y) - np.log(1e120), rel=1e-9)


def test_one_component_predicts_like_least_squares(rng):
    x = rng.normal(size=200)
    data = pd.DataFrame({"x": x, "y": 2.0 * x + rng.normal(size=200)})
    model = bvb.DensityRegression("y ~ x", data, n_components=1)
    fit = model.fit(seed=1, restarts=1, draws=400)
    gap = criteria_at(fit, np.arange(200))[0].pointwise - linear_baseline(fit)
    # three parameters, a prior worth one row, 400 draws: less than a hundredth of a nat per row
    assert abs(gap.mean()) < 0.01 and np.abs(gap).max() < 0.1


def test_densities_are_those_of_the_deleted_residuals_of_statsmodels(rng):
    x = np.column_stack([np.ones(30), rng.normal(size=(30, 3))])
    y = rng.normal(size=30)
    theirs = OLS(y, x).fit().get_influence()
    scale = np.sqrt(theirs.sigma2_not_obsi / (1.0 - theirs.hat_matrix_diag))
    expected = t.logpdf(theirs.resid_studentized_external, 30 - 4 - 1) - np.log(scale)
    assert_allclose(leave_one_out(x, y), expected, rtol=1e-10)


def test_terms_that_depend_on_each_other_change_nothing(rng):
    x = np.column_stack([np.ones(20), rng.normal(size=20)])
    y = rng.normal(size=20)
    twice = np.column_stack([x, x @ [1.0, 2.0]])
    assert_allclose(leave_one_out(twice, y), leave_one_out(x, y), rtol=1e-8)


def test_the_baseline_of_a_fit_is_that_of_its_terms_weights_and_responses(rng):
    x, z = rng.normal(size=(2, 40))
    data = pd.DataFrame(
        {"x": x, "y": x + rng.normal(size=40), "v": z, "w": 1.0 + np.arange(40) % 3}
    )
    model = bvb.DensityRegression("y + v ~ x", data, n_components=1, weights="w")
    fit = model.fit(seed=1, restarts=1, draws=30)
    terms = np.column_stack([np.ones(40), x])
    expected = sum(leave_one_out(terms, data[name].to_numpy(), fit.model.weights) for name in "yv")
    assert_allclose(linear_baseline(fit), expected, rtol=1e-10)


def test_a_fit_that_is_no_regression_has_none(class_fit):
    joint = bvb.GaussianMixture("~ x", pd.DataFrame({"x": np.arange(20.0)}), n_components=1)
    for fit in (class_fit, joint.fit(seed=1, restarts=1, draws=30)):
        with pytest.raises(DataError, match="has no linear model to compare with"):
            linear_baseline(fit)


def test_the_baseline_of_a_fit_is_found_once(rng, monkeypatch):
    data = pd.DataFrame({"x": np.arange(20.0), "y": rng.normal(size=20)})
    fit = bvb.DensityRegression("y ~ x", data, n_components=1).fit(seed=1, restarts=1)
    found = linear_baseline(fit)
    monkeypatch.setattr(module, "leave_one_out", None)
    assert linear_baseline(fit) is found
    assert not found.flags.writeable
