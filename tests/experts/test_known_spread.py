"""Offsets of the log standard deviation: known standard errors, as of a meta-analysis."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose

import bayesvb as bvb
from bayesvb.engines.base import one_pass
from bayesvb.errors import DataError, FormulaError, PriorError
from bayesvb.evaluation.elpd import read_elpd

WEAK = bvb.Priors(coefficient_sd=1e3, noise_shape=1e-3, noise_rate=1e-3)


def table(n=80, seed=1):
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    se = rng.uniform(0.2, 2.0, n)
    y = 1.0 + 2.0 * x + se * np.exp(0.3 * z) * rng.normal(size=n)
    both = np.where(rng.random(n) < 0.5, 6.0, -6.0) + y
    return pd.DataFrame({"y": y, "both": both, "x": x, "z": z, "se": se, "zero": 0.0, "one": 1.5})


def fit_of(data, formula="y ~ x | sigma(z + offset(log(se)))", draws=200, **options):
    model = bvb.DensityRegression(formula, data, **{"n_components": 1, **options})
    return model.fit(seed=1, draws=draws, tol=1e-9, restarts=1)


@pytest.fixture(scope="module")
def data():
    return table()


@pytest.fixture(scope="module")
def fit(data):
    return fit_of(data)


def of_sigma(fit):
    return fit.summary().loc["log sigma"].droplevel("component")["mean"]


@pytest.mark.parametrize("family", ["gaussian", "student"])
def test_an_offset_of_zero_changes_nothing(data, family):
    fits = [
        fit_of(data, f"y ~ x | sigma(z{term})", family=family) for term in ("", " + offset(zero)")
    ]
    assert_allclose(fits[1].elbo, fits[0].elbo, rtol=1e-10)
    assert_allclose(fits[1].summary()["mean"], fits[0].summary()["mean"], rtol=1e-8)
    assert_allclose(*(fit.log_density(data) for fit in fits), rtol=1e-8)


def test_a_constant_offset_moves_the_intercept_alone(data):
    fits = [fit_of(data, f"y ~ x | sigma(z{term})") for term in ("", " + offset(one)")]
    assert_allclose(fits[1].elbo, fits[0].elbo, rtol=1e-10)
    moved = of_sigma(fits[1]) - of_sigma(fits[0])
    assert_allclose(moved[["Intercept", "z"]], [-1.5, 0.0], atol=1e-8)
    assert_allclose(*(fit.predict(data, kind="sd") for fit in fits), rtol=1e-8)


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_units_of_the_known_errors_do_not_matter(fit, data, factor):
    other = fit_of(data.assign(se=factor * data["se"]))
    assert_allclose(other.elbo, fit.elbo, rtol=1e-9)
    moved = of_sigma(other) - of_sigma(fit)
    assert_allclose(moved[["Intercept", "z"]], [-np.log(factor), 0.0], atol=1e-7)


def test_it_alone_is_weighted_least_squares(data):
    fit = fit_of(data, "y ~ x | sigma(offset(log(se)))", priors=WEAK, draws=4000)
    known = sm.WLS(data["y"], sm.add_constant(data["x"]), 1.0 / data["se"] ** 2).fit()
    mean = fit.summary().loc["mean"]
    assert_allclose(mean["mean"], known.params, atol=0.05 * known.bse.min())
    t_sd = known.bse * np.sqrt(known.df_resid / (known.df_resid - 2.0))
    assert_allclose(mean["sd"], t_sd, rtol=0.05)  # linear response
    assert_allclose(np.exp(of_sigma(fit)["Intercept"]), known.scale**0.5, rtol=0.02)
    sd = fit.predict(data, kind="sd")
    assert_allclose(sd / data["se"], known.scale**0.5, rtol=0.12)  # the line's error is added


def test_the_bound_is_the_expectation_of_the_log_joint(fit, rng):
    core, block, n = fit.core, fit.model.source.whole(), 20_000
    draws = core.draws(fit.q, n, rng)
    value = core.log_lik(draws, block).sum(axis=1) + core.log_prior(draws)
    value -= core.log_posterior(fit.q, draws)
    bound = one_pass(core, fit.model.source, fit.stats).bound
    assert abs(value.mean() - bound) < 4.0 * value.std() / n**0.5


@pytest.mark.parametrize("formula", [
    "both ~ x | sigma(z + offset(log(se)))", "both ~ x | gating(z) | sigma(offset(log(se)))",
    "y ~ x | sigma(s(z, k=5) + offset(log(se)))",
])  # fmt: skip
def test_no_change_of_the_statistics_gains_at_the_end(data, formula):
    model = bvb.DensityRegression(formula, data, n_components=1 + formula.startswith("both"))
    fit = model.fit(seed=1, draws=25, tol=1e-10, max_iter=5000, restarts=1)
    rng, vector = np.random.default_rng(2), fit.stats.to_vector()
    best = one_pass(fit.core, model.source, fit.stats).bound
    for size in (1e-5, 1e-4):
        moved = fit.stats.with_vector(vector * (1.0 + size * rng.normal(size=len(vector))))
        assert one_pass(fit.core, model.source, moved).bound <= best + 1e-6


def test_files_and_saved_fits_are_the_same(fit, data, tmp_path):
    data.to_parquet(tmp_path / "rows.parquet")
    assert_allclose(fit_of(str(tmp_path / "rows.parquet")).elbo, fit.elbo, rtol=1e-9)
    loaded = bvb.load(fit.save(tmp_path / "fit.nc"))
    assert loaded.elbo == fit.elbo
    assert_allclose(loaded.predict(data, kind="sd"), fit.predict(data, kind="sd"))


def test_new_rows_need_the_column_and_use_it(fit, data):
    with pytest.raises(DataError, match="`se`"):
        fit.predict(data.drop(columns="se"))
    variance = [fit.predict(data.assign(se=k * data["se"]), kind="sd") ** 2 for k in (1, 2, 3)]
    assert_allclose(variance[2] - variance[1], 5.0 / 3.0 * (variance[1] - variance[0]), rtol=1e-6)
    with pytest.raises(DataError, match="not finite"):
        fit.predict(data.assign(se=0.0))


def test_rows_left_out_agree_with_refits(fit, data):
    at = [0, 7, 21, 40]
    exact = [fit_of(data.drop(index=i), draws=500).log_density(data.loc[[i]]).iloc[0] for i in at]
    assert_allclose(read_elpd(fit.loo()).pointwise[at], exact, atol=0.05)


def test_its_covariate_has_no_effect_of_its_own(fit):
    assert fit.model.design.exposures == {"se"}


def test_groups_with_known_errors_are_a_meta_analysis():
    """40 studies with five estimates each."""
    rng = np.random.default_rng(3)
    study = np.repeat(np.arange(40), 5)
    se = rng.uniform(0.2, 1.0, 200)
    y = 1.0 + 0.8 * rng.normal(size=40)[study] + se * rng.normal(size=200)
    data = pd.DataFrame({"y": y, "study": [f"s{i}" for i in study], "se": se})
    fit = fit_of(data, "y ~ 1 + (1 | study) | sigma(offset(log(se)))", draws=1000)
    assert abs(of_sigma(fit)["Intercept"]) < 0.15
    sds = fit.variance_components().loc["sd"].droplevel("at")
    between = sds.loc["(1 | study)"]
    assert between["lower"] < 0.8 < between["upper"]
    assert_allclose(sds.loc["residual", "estimate"], np.sqrt((se**2).mean()), rtol=0.03)


def test_a_meta_analysis_of_one_row_per_study_agrees_with_metafor():
    """BCG vaccine (Colditz et al. 1994): log risk ratios, ``rma(yi, vi)`` of R's metafor."""
    y = [-0.8893, -1.5854, -1.3481, -1.4416, -0.2175, -0.7861, -1.6209, 0.0120, -0.4694,
         -1.3713, -0.3394, 0.4459, -0.0173]  # fmt: skip
    variance = [0.3256, 0.1946, 0.4154, 0.0200, 0.0512, 0.0069, 0.2230, 0.0040, 0.0564,
                0.0730, 0.0124, 0.5325, 0.0714]  # fmt: skip
    data = pd.DataFrame({"y": y, "se": np.sqrt(variance), "study": list("abcdefghijklm")})
    fit = fit_of(
        data,
        "y ~ 1 + (1 | study) | sigma(offset(log(se)))",
        draws=4000,
        priors=bvb.Priors(noise_shape=1e6, noise_rate=1e6, standardize=False),
    )
    mean = fit.summary().loc["mean"].iloc[0]
    assert_allclose(mean[["mean", "sd"]], [-0.7145, 0.1798], atol=0.02)
    assert_allclose(of_sigma(fit)["Intercept"], 0.0, atol=1e-3)
    between = fit.variance_components().loc["sd"].droplevel("at").loc["(1 | study)"]
    assert abs(between["estimate"] - 0.3132**0.5) < 0.05


def test_other_parts_and_forms_are_refused(data):
    for text in ("y ~ x | sigma(z:offset(se))", "y ~ x | sigma(z - offset(se))"):
        with pytest.raises(FormulaError):
            fit_of(data, text)
    with pytest.raises((FormulaError, DataError), match="one number per row"):
        fit_of(data, "y ~ x | sigma(offset(poly(z, 2)))")
    with pytest.raises(FormulaError, match="an offset is a term of its own"):
        fit_of(data, "y ~ x | sigma(z + log(offset(se)))")
    with pytest.raises(FormulaError, match="reads no column"):
        fit_of(data, "y ~ x | sigma(offset(2))")
    with pytest.raises(FormulaError, match="part zero has no offset"):
        fit_of(data.assign(y=np.arange(80) // 2), "y ~ x | zero(offset(z))", family="poisson")
    with pytest.raises(PriorError, match="censored or rounded"):
        fit_of(data, "rounded(y, 0.5) ~ x | sigma(offset(log(se)))")
