"""Fits made again: what is not changed stays, and the new fit is that of a new model."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.errors import DataError, FormulaError


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"x": rng.normal(size=40), "z": rng.normal(size=40), "w": 1.0})
    frame["y"] = frame["x"] + rng.normal(size=40)
    return frame


@pytest.fixture(scope="module")
def fit(table):
    model = bvb.DensityRegression(
        "y ~ x", table, n_components=1, weights="w", priors=bvb.Priors(coefficient_sd=5.0)
    )
    return model.fit(seed=1, draws=50, tol=0.01)


def test_a_refit_is_the_fit_of_the_changed_model(fit, table):
    again = fit.refit("~ . + z", table, weights="w", seed=2)
    model = bvb.DensityRegression(
        "y ~ x + z", table, n_components=1, weights="w", priors=bvb.Priors(coefficient_sd=5.0)
    )
    expected = model.fit(seed=2, draws=50, tol=0.01)
    assert again.elbo == expected.elbo
    pd.testing.assert_series_equal(again.coef(), expected.coef())


def test_without_changes_it_is_the_same_fit(fit):
    again = fit.refit()
    assert again.elbo == fit.elbo
    assert (again.seed, again.tol) == (fit.seed, fit.tol)
    np.testing.assert_array_equal(again.vcov(), fit.vcov())


@pytest.mark.filterwarnings("ignore::bayesvb.errors.ConvergenceWarning")
def test_default_priors_are_those_of_the_new_model(table):
    fit = bvb.DensityRegression("y ~ x", table, n_components=1).fit(seed=1, draws=50)
    again = fit.refit(n_components=2, restarts=1, max_iter=3)
    assert vars(again.model.priors) == vars(again.model.default_priors(2))
    assert again.nobs == 40


@pytest.mark.filterwarnings("ignore::bayesvb.errors.ConvergenceWarning")
def test_options_of_an_engine_go_with_it(table):
    model = bvb.DensityRegression("y ~ x", table, n_components=1)
    fit = model.fit("svi", seed=1, draws=50, max_iter=5, batch=20)
    assert fit.refit("~ .", method="cavi").method == "cavi"


def test_what_is_missing_is_named(fit, table):
    with pytest.raises(FormulaError, match="`z` is neither a column") as caught:
        fit.refit("~ . + z")
    assert "give data=" in caught.value.__notes__[0]
    with pytest.raises(DataError, match="case weights, so the new data need them"):
        fit.refit(data=table)
    with pytest.raises(DataError, match="n_component"):
        fit.refit(n_component=2)


def test_rows_that_were_dropped_need_the_data(table):
    lacking = table.assign(x=table["x"].mask(table.index < 3))
    fit = bvb.DensityRegression("y ~ x", lacking, n_components=1).fit(seed=1, draws=50)
    with pytest.raises(DataError, match=r"needs the 3 rows .*\nhint: give the data"):
        fit.refit(missing="impute")
    again = fit.refit("exp(.) ~ .")
    assert (again.model.formula.text, again.nobs) == ("exp(y) ~ x", 37)
