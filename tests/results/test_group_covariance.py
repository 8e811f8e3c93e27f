"""Covariances of effects of groups, wherever covariates have their zero."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesvb as bvb
from bayesvb.errors import FormulaError
from bayesvb.formula.group_columns import GroupColumns
from bayesvb.results.group_covariance import GroupCovariance

SLEEP = bvb.datasets.load("sleepstudy")


def fitted(formula="Reaction ~ Days + (Days | Subject)", data=SLEEP, draws=100, **options):
    model = bvb.DensityRegression(formula, data, n_components=1, **options)
    covariance = "mean-field" if options else "auto"
    return model.fit(seed=1, draws=draws, covariance=covariance)


@pytest.fixture(scope="module")
def sleep():
    return fitted(draws=2000)


def test_a_line_has_the_same_variance_wherever_its_levels_are():
    rng = np.random.default_rng(0)
    term = GroupColumns(
        "g", ("1", "x"), np.array([3.0]), np.arange(4), tuple("abcd"), (None,), True
    )
    root = rng.normal(size=(5, 2, 2))
    one = GroupCovariance(term, root @ np.swapaxes(root, 1, 2), True)
    at_zero, x = one.at(np.zeros(1)), 7.0
    line = np.array([1.0, x])
    expected = np.einsum("a,dab,b->d", line, at_zero, line)
    assert_allclose(one.variance(np.array([x])), expected)
    assert_allclose(one.at(np.array([x]))[:, 0, 0], expected)


def test_sleepstudy_has_its_published_numbers(sleep):
    """Of an integration on a grid, and of lme4, whose intervals are narrower: groups are 18.

    lme4: 251.4 and 10.47, standard deviations 24.7 and 5.92, correlation 0.07.
    """
    mean, sd = (sleep.summary().loc["mean"][column].loc[1] for column in ("mean", "sd"))
    assert_allclose(mean[["Intercept", "Days"]], [251.4, 10.47], atol=0.25)
    assert_allclose(sd[["Intercept", "Days"]], [8.0, 1.65], rtol=0.06)
    sds = sleep.named_draws.values["group_sd"]
    assert_allclose(np.median(sds, axis=0), [28.7, 6.25], rtol=0.03)
    assert_allclose(np.quantile(sds, [0.05, 0.95], axis=0), [[19.5, 4.36], [43.1, 9.08]], rtol=0.05)
    found = np.quantile(sleep.named_draws.values["group_correlation"], [0.05, 0.5, 0.95])
    assert_allclose(found, [-0.51, -0.03, 0.51], atol=0.06)


def test_coefficients_and_effects_of_a_group_add_up_to_its_predictions(sleep):
    beta, terms = (
        sleep.named_draws.values["beta"][:, 0].mean(axis=0),
        sleep.model.design.terms["mean"],
    )
    coefficient = dict(zip(terms, beta, strict=True))
    level = coefficient["Intercept"] + coefficient["(1 | Subject)[308]"]
    slope = coefficient["Days"] + coefficient["(Days | Subject)[308]"]
    days = np.array([0.0, 9.0])
    found = sleep.predict({"Days": days, "Subject": ["308"] * 2})
    assert_allclose(found, level + slope * days, atol=1.5)  # draws: a tenth of their sd


def test_a_shifted_covariate_changes_nothing(sleep):
    shift = 1000.0
    moved = fitted(data=SLEEP.assign(Days=SLEEP["Days"] + shift), draws=2000)
    assert moved.core.integrated.log_evidence == pytest.approx(
        sleep.core.integrated.log_evidence, abs=1e-6
    )
    rows = {"Days": [2.0, 11.0], "Subject": ["308", "new"]}
    for kind in ("mean", "sd"):
        expected = sleep.predict(rows, kind=kind, new_groups="marginal")
        there = {**rows, "Days": np.add(rows["Days"], shift)}
        assert_allclose(moved.predict(there, kind=kind, new_groups="marginal"), expected, rtol=1e-6)
    slopes = sleep.named_draws.values["group_sd"][:, 1]
    assert_allclose(moved.named_draws.values["group_sd"][:, 1], slopes, rtol=1e-6)


def test_the_exact_joint_density_belongs_to_the_draws(sleep):
    from bayesvb.results.named_draws import log_joint

    joint = log_joint(sleep.core, sleep.model.source, sleep.draws, 0.0)
    assert_allclose(joint - sleep.log_q, sleep.core.integrated.log_evidence, atol=0.01)


def test_a_file_of_rows_gives_the_same_posterior(sleep, tmp_path):
    SLEEP.assign(Subject=SLEEP["Subject"].astype(str)).to_parquet(tmp_path / "rows.parquet")
    streamed = fitted(data=str(tmp_path / "rows.parquet"), draws=2000)
    for name in ("beta", "group_sd", "group_correlation"):
        assert_allclose(
            streamed.named_draws.values[name], sleep.named_draws.values[name], rtol=1e-8
        )


def test_a_saved_fit_has_the_same_draws(sleep, tmp_path):
    again = bvb.load(sleep.save(tmp_path / "fit.nc"))
    assert_allclose(
        again.named_draws.values["group_correlation"], sleep.named_draws.values["group_correlation"]
    )
    assert "group_correlation" in sleep.posterior


def test_prior_draws_have_a_uniform_correlation(sleep):
    draws = sleep.model.core.prior_draws(2000, np.random.default_rng(0))
    n = 19
    effects = draws["coefficients"][:, 0, 0, 2:].reshape(-1, 2, n)
    unit = effects * np.sqrt(draws["term_precision"] * draws["precision"][:, :, 0])[..., None]
    own = draws["effect_correlation"][:, 0]
    assert_allclose(np.quantile(own, [0.25, 0.75]), [-0.5, 0.5], atol=0.06)
    products = (unit[:, 0] * unit[:, 1]).mean(axis=1)
    assert np.polyfit(own, products, 1)[0] == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize(
    ("formula", "options", "said"),
    [
        ("Reaction ~ Days + (Days || Subject)", {}, "(1 + Days || Subject)"),
        ("Reaction ~ Days + (Days | Subject)", {"family": "student"}, "one Gaussian component"),
    ],
)
def test_independent_effects_say_where_they_are(formula, options, said):
    fit = fitted(formula, **options)
    (note,) = fit.model.notes(fit)
    assert "independent of each other at Days = 4.5" in note and said in note
    assert "group_correlation" not in fit.named_draws.values


def test_few_groups_are_noted(sleep):
    few = SLEEP[SLEEP["Subject"].isin(["308", "309", "310", "330"])]
    text = str(fitted(data=few))
    assert "has 4 groups, fewer than 6" in text and "independent" not in text
    assert "Shares of variance: fixed effects" in text
    assert not sleep.model.notes(sleep)


def test_too_many_numbers_are_refused():
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.normal(size=(60, 5)), columns=list("yabcd")).assign(
        g=np.arange(60) % 6, h=np.arange(60) // 10, i=np.arange(60) % 4
    )
    for formula, hint in (
        ("y ~ a + (a + b + c + d | g)", "(a + b + c + d || g)"),
        ("y ~ a + (a + b | g) + (a + b | h) + (1 | i)", "(1 + a + b || g)"),
    ):
        with pytest.raises(FormulaError, match=r"at most 4|more than the 12") as caught:
            bvb.DensityRegression(formula, data, n_components=1)
        assert hint in str(caught.value)


@pytest.mark.heavy
def test_nine_standard_deviations_and_correlations_are_integrated():
    rng = np.random.default_rng(6)
    g, i = np.repeat(np.arange(12), 8), np.tile(np.arange(8), 12)
    x, z, noise = rng.normal(size=(3, len(g)))
    y = rng.normal(size=12)[g] + 0.6 * rng.normal(size=8)[i] * (1.0 + x) + noise
    data = pd.DataFrame({"y": y, "x": x, "z": z, "g": g, "i": i})
    mean = "y ~ x + z + (x + z | g)"
    fit = bvb.DensityRegression(f"{mean} + (x | i)", data, n_components=1).fit(seed=1)
    assert fit.covariance == "exact"
    assert fit.named_draws.values["group_sd"].shape[1] == 5
    assert fit.named_draws.values["group_correlation"].shape[1] == 4
