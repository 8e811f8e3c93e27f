"""Entries that a fit without them predicts from the rest of their row."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.reports.rows.held_out_entries import _given, held_out_entries


def table(noise, seed=1, rows=200):
    """Four variables of one component and noise."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=(rows, 1))
    values = score @ [[1.0, -1.0, 2.0, 1.0]] + noise * rng.normal(size=(rows, 4))
    return pd.DataFrame(values, columns=list("abcd"))


def fitted(data, formula="~ a + b + c + d"):
    return bvb.BayesianPCA(formula, data).fit(seed=1, restarts=1, draws=25)


def test_missing_entries_have_their_conditional_mean_and_variance():
    mean, root = np.array([1.0, 2.0, 3.0]), np.array([[1.0, 0, 0], [0.5, 2.0, 0], [1.0, 1.0, 1.5]])
    covariance, values = root @ root.T, np.array([[np.nan, 1.0, 5.0], [0.3, np.nan, np.nan]])
    means, variances = _given(values, mean, covariance)
    for row, seen, out in ((0, [1, 2], [0]), (1, [0], [1, 2])):
        weights = covariance[np.ix_(out, seen)] @ np.linalg.inv(covariance[np.ix_(seen, seen)])
        np.testing.assert_allclose(
            means[row, out], mean[out] + weights @ (values[row, seen] - mean[seen])
        )
        rest = covariance[np.ix_(out, out)] - weights @ covariance[np.ix_(seen, out)]
        np.testing.assert_allclose(variances[row, out], np.diag(rest))
        assert np.isnan(means[row, seen]).all()


def test_intervals_hold_nine_tenths_of_the_entries_and_noise_decides_what_is_explained():
    clear, noisy = (held_out_entries(fitted(table(noise))) for noise in (0.1, 3.0))
    for found in (clear, noisy):
        assert found.n == 800
        assert abs(found.inside - 0.9) < 3.0 * found.standard_error
    assert clear.explained > 0.97 > 0.3 > noisy.explained


def test_gaps_are_not_counted_and_transformed_variables_have_no_number():
    data = table(0.5)
    data.loc[::10, "a"] = np.nan
    assert held_out_entries(fitted(data)).n == 780
    assert held_out_entries(fitted(np.exp(data[["b", "c"]]), "~ log(b) + log(c)")) is None
    assert held_out_entries(fitted(table(0.5, rows=12))) is None


@pytest.mark.parametrize("apart", [8.0, 0.0])
def test_the_second_cell_of_clusters_is_how_clearly_rows_belong_to_them(apart):
    from bayesvb.reports.answer import answer

    rng = np.random.default_rng(1)
    data = pd.DataFrame(rng.normal(size=(120, 2)), columns=["x", "z"])
    data.loc[:59, "x"] += apart
    fit = bvb.GaussianMixture("~ x + z", data, n_components=2).fit(seed=1, restarts=1, draws=25)
    cell = next(one for one in answer(fit, {}, [])["strip"] if one["title"] == "Assignment of rows")
    sure = (fit.responsibilities().max(axis=1) > 0.9).mean()
    assert cell["grade"] == ("ok" if sure >= 0.5 else "note")
    assert cell["says"].startswith(f"{100 * sure:.0f}%") or sure > 0.99
