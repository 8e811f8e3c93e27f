"""Imputed covariates: the Gibbs kernel, the pool of fits, and what fits and files say of it."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.errors import DataError
from bayesvb.estimators.imputation import IMPUTATIONS
from bayesvb.evaluation.elpd import read_elpd
from bayesvb.models.ensemble import MEMBER
from bayesvb.results.stacking import INDEPENDENT_TABLES, draws_between_tables


def table(n: int = 120, seed: int = 0, share: float = 0.25) -> pd.DataFrame:
    """A line of two covariates and a factor, which lack values where the response is large."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(n)
    z = 0.5 * x + 0.87 * rng.standard_normal(n)
    g = rng.choice(["a", "b"], n)
    y = 0.5 * x + 0.3 * z + 0.5 * (g == "b") + rng.standard_normal(n)
    data = pd.DataFrame({"x": x, "z": z, "g": g, "y": y})
    likely = share * (1.0 + (y > 0.0))
    return data.assign(
        x=data["x"].mask(rng.random(n) < likely), g=data["g"].mask(rng.random(n) < 0.1)
    )


def model_of(
    data: pd.DataFrame, formula: str = "y ~ x + z + g", **options
) -> bvb.DensityRegression:
    options = {"n_components": 1, "missing": "impute", **options}
    return bvb.DensityRegression(formula, data, **options)


@cache
def fit() -> bvb.Fit:
    return model_of(table()).fit(seed=1)


def test_all_rows_with_a_response_are_used():
    data = table()
    data.loc[[3, 5], "y"] = np.nan
    model = model_of(data)
    assert model.design.n_rows == len(data) - 2
    assert model.design.given[["x", "g"]].isna().sum().sum() > 0
    assert model.design.complete_frame.notna().all(axis=None)


def test_the_fit_pools_completed_tables():
    members = fit().members
    assert len(members) == IMPUTATIONS
    assert {member.weight for member in members} == {1.0 / IMPUTATIONS}
    values = [member.fit.model.design.frame["x"].to_numpy() for member in members]
    lacking = fit().model.design.imputed["x"]
    assert np.ptp(np.stack(values)[:, lacking], axis=0).min() > 0.0
    assert np.ptp(np.stack(values)[:, ~lacking], axis=0).max() == 0.0


def test_the_variance_is_that_of_the_rules_of_rubin():
    """Total variance W + (1 + 1/m) B of the members' posteriors, with m independent tables."""
    each = [member.fit.summary().loc[("mean", 1, "x")] for member in fit().members]
    within = np.mean([one["sd"] ** 2 for one in each])
    between = np.var([one["mean"] for one in each]) / (1.0 - 1.0 / INDEPENDENT_TABLES)
    pooled = fit().summary().loc[("mean", 1, "x")]
    assert between > 0.05 * within
    total = within + (1.0 + 1.0 / INDEPENDENT_TABLES) * between
    assert pooled["sd"] ** 2 == pytest.approx(total, rel=0.15)
    assert pooled["mean"] == pytest.approx(np.mean([one["mean"] for one in each]), abs=0.02)


def test_tables_are_further_apart_than_a_few_tables_are():
    """Deviations of their coefficients grow by one factor, in the pooled draws too."""
    fits = [member.fit for member in fit().members]
    given, moved = (
        np.stack([draws["coefficients"].mean(axis=0).ravel() for draws in one])
        for one in ([one.draws for one in fits], draws_between_tables(fits))
    )
    before, after = given - given.mean(axis=0), moved - moved.mean(axis=0)
    m = INDEPENDENT_TABLES
    assert (after**2).sum() / (before**2).sum() == pytest.approx((m + 1) / (m - 1), rel=0.03)
    pooled, sixth = fit().draws, draws_between_tables(fits)[5]["coefficients"][:50]
    drawn = pooled["coefficients"][pooled[MEMBER] == 5.0]
    np.testing.assert_array_equal(np.sort(drawn, axis=0), np.sort(sixth, axis=0))


def test_values_are_drawn_given_the_response():
    """Exact in a linear model: x given y = 2 x + e, e of sd 0.5, has slope 2 / 4.25 in y."""
    rng = np.random.default_rng(2)
    x = rng.standard_normal(400)
    data = pd.DataFrame({"x": x, "y": 2.0 * x + 0.5 * rng.standard_normal(400)})
    data["x"] = data["x"].mask(rng.random(400) < 0.4)
    pooled = model_of(data, "y ~ x").fit(seed=1)
    lacking = pooled.model.design.imputed["x"]
    drawn = np.stack([one.fit.model.design.frame["x"][lacking] for one in pooled.members])
    slope = np.polyfit(data["y"][lacking], drawn.mean(axis=0), 1)[0]
    assert slope == pytest.approx(2.0 / 4.25, abs=0.04)
    assert drawn.std(axis=0).mean() == pytest.approx(np.sqrt(0.25 / 4.25), rel=0.15)
    assert pooled.coef()["mean", 1, "x"] == pytest.approx(2.0, abs=0.12)


def test_a_square_is_imputed_with_its_covariate():
    """Imputation that is linear in y halves the coefficient of a square."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal(300)
    data = pd.DataFrame({"x": x, "y": x**2 + 0.5 * rng.standard_normal(300)})
    data["x"] = data["x"].mask(rng.random(300) < 0.4)
    estimate = model_of(data, "y ~ x + I(x**2)").fit(seed=1).coef()["mean", 1, "I(x ** 2)"]
    assert estimate == pytest.approx(1.0, abs=0.1)


def test_covariates_of_incomplete_rows_may_differ():
    """Values of x are missing where y is large: complete rows have a lower mean of x."""
    rng = np.random.default_rng(6)
    x = rng.standard_normal(600)
    data = pd.DataFrame({"x": x, "y": x + 0.5 * rng.standard_normal(600)})
    data["x"] = data["x"].mask((data["y"] > 0.3) & (rng.random(600) < 0.8))
    pooled = model_of(data, "y ~ x").fit(seed=1)
    lacking = pooled.model.design.imputed["x"]
    drawn = np.mean([one.fit.model.design.frame["x"][lacking].mean() for one in pooled.members])
    assert drawn == pytest.approx(x[lacking].mean(), abs=0.1)
    assert pooled.coef()["mean", 1, "x"] == pytest.approx(1.0, abs=0.1)


@pytest.mark.heavy
def test_components_keep_their_labels():
    rng = np.random.default_rng(4)
    x, first = rng.standard_normal(300), rng.random(300) < 0.5
    data = pd.DataFrame(
        {"x": x, "y": np.where(first, 2.0, -2.0) + x + 0.3 * rng.standard_normal(300)}
    )
    data["x"] = data["x"].mask(rng.random(300) < 0.2)
    pooled = model_of(data, "y ~ x | gating(1)", n_components=2).fit(seed=1, restarts=2)
    table = pooled.summary().xs("Intercept", level="term").loc["mean"]
    assert sorted(table["mean"].round()) == [-2.0, 2.0]
    assert (table["sd"] < 0.2).all()


def test_without_missing_covariates_it_is_the_usual_fit():
    whole = table().dropna()
    given = model_of(whole).fit(seed=1)
    assert not given.members
    assert given.elbo == model_of(whole, missing="drop").fit(seed=1).elbo


def test_the_same_seed_gives_the_same_bits():
    pd.testing.assert_frame_equal(model_of(table()).fit(seed=1).summary(), fit().summary())


@pytest.mark.filterwarnings("ignore::bayesvb.errors.ConvergenceWarning")
@pytest.mark.parametrize("n", [1, 30])
def test_an_interrupted_fit_prints_the_call_that_was_made(n):
    calls = iter(range(n))
    cut = model_of(table()).fit(seed=1, draws=25, progress=lambda *_: next(calls, None) is None)
    assert cut.is_interrupted
    assert "model.fit(restarts=1, draws=25, seed=1)\n# the fit was interrupted" in cut.code()


def test_what_is_printed_says_how_many_imputations():
    text = str(fit())
    assert "20 imputations pooled" in text and "values imputed in" in text
    assert "20 times given the response" in fit().report_text()


def test_the_page_says_that_values_are_imputed(tmp_path):
    page = fit().report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "values imputed in" in page and "none with missing values" not in page


def test_a_file_keeps_the_completed_tables(tmp_path):
    again = bvb.load(fit().save(tmp_path / "fit.nc"))
    pd.testing.assert_frame_equal(again.summary(), fit().summary())
    pd.testing.assert_frame_equal(again.model.design.frame, fit().model.design.frame)
    totals = [read_elpd(one.loo()).elpd for one in (again, fit())]
    assert totals[0] == pytest.approx(totals[1], abs=1e-6)
    assert again.model.design.given["x"].isna().sum() == table()["x"].isna().sum()


def test_verbs_of_a_fit_work():
    new = {"x": [0.0, 1.0], "z": 0.0, "g": "a"}
    assert fit().predict(new, kind="interval").shape == (2, 2)
    assert len(bvb.effects.comparisons(fit()).summary) == 3
    assert fit().refit("~ . - z").model.design.imputed
    assert "missing='impute'" in fit().code()
    assert fit().with_covariance("robust").covariance == "robust"


@pytest.mark.parametrize(
    ("options", "fit_options", "message"),
    [
        ({"group": "z"}, {}, "not available with group="),
        ({}, {"method": "em"}, "method='em'"),
        ({"n_components": 2}, {"combine": "stack"}, "combine='stack'"),
        ({"missing": "guess"}, {}, "missing"),
    ],
)
def test_what_cannot_be_imputed_is_an_error(options, fit_options, message):
    with pytest.raises(DataError, match=message):
        model_of(table(), **options).fit(seed=1, restarts=2, **fit_options)


def test_what_needs_one_posterior_says_what_the_fit_is():
    for verb in (fit().invariance, lambda: fit().update(table().dropna())):
        with pytest.raises(DataError, match="pools the fits of 20 completed tables"):
            verb()
