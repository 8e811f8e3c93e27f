"""Spread that depends on covariates: bound, predictive, exact posteriors, words and refusals."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import kstest

import bayesvb as bvb
from bayesvb.engines.base import one_pass
from bayesvb.engines.cavi import cavi
from bayesvb.errors import DataError, FormulaError, PriorError
from bayesvb.evaluation.elpd import read_elpd
from bayesvb.numerics.special import log_total
from bayesvb.results.pit import within_groups

FAMILIES = ("gaussian", "student")


def table(n, seed, spread=(0.5, -0.3)):
    """A line whose log standard deviation is linear; two of them where ``both`` is the response."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    noise = np.exp(-0.4 + spread[0] * x + spread[1] * z) * rng.normal(size=n)
    both = np.where(rng.random(n) < 0.5, 3.0 + x, -3.0 - x) + noise
    return pd.DataFrame({"y": 1.0 + 2.0 * x + noise, "both": both, "x": x, "z": z})


def model_of(data, formula="y ~ x | sigma(x + z)", **options):
    return bvb.DensityRegression(formula, data, **{"n_components": 1, **options})


@pytest.fixture(scope="module")
def data():
    return table(60, 1)


@pytest.fixture(scope="module", params=FAMILIES)
def fit(request, data):
    return model_of(data, family=request.param).fit(seed=1, draws=4000, tol=1e-9)


def random_run(seed, n_rows, n_components, **options):
    """A run from a random partition, components without rows among them."""
    rng = np.random.default_rng(seed)
    data = table(n_rows, seed, spread=rng.normal(scale=0.7, size=2))
    formula = "both ~ x | sigma(x + z)" if seed % 2 else "both ~ x | gating(z) | sigma(s(x, k=5))"
    model = model_of(data, formula, n_components=n_components, **options)
    core, source = model.core, model.source
    share = rng.dirichlet(np.full(n_components, 0.2), n_rows).T.copy()
    start = core.first_stats(core.partition_stats(source.whole(), share))
    return core, source, cavi(core, source, start, max_iter=8)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_bound_never_falls_also_with_empty_components_and_a_vague_prior(family):
    for seed in range(4):
        priors = bvb.Priors(sigma_sd=(1.0, 5.0)[seed // 2])
        _, _, run = random_run(seed, 15 + 10 * seed, 1 + seed, family=family, priors=priors)
        assert np.isfinite(run.trace).all()
        assert (np.diff(run.trace) >= -1e-9 * np.abs(run.trace[1:])).all()


def test_no_change_of_the_statistics_gains_at_the_end(fit):
    core, source, stats = fit.core, fit.model.source, fit.stats
    rng, vector = np.random.default_rng(2), stats.to_vector()
    best = one_pass(core, source, stats).bound
    for size in (1e-6, 1e-4):
        for _ in range(5):
            moved = vector * (1.0 + size * rng.normal(size=len(vector)))
            assert one_pass(core, source, stats.with_vector(moved)).bound <= best + 1e-7


def test_the_bound_is_the_expectation_of_the_log_joint(data, rng):
    fit = model_of(data).fit(seed=1)
    core, block, n = fit.core, fit.model.source.whole(), 20_000
    draws = core.draws(fit.q, n, rng)
    value = core.log_lik(draws, block).sum(axis=1) + core.log_prior(draws)
    value -= core.log_posterior(fit.q, draws)
    bound = one_pass(core, fit.model.source, fit.stats).bound
    assert abs(value.mean() - bound) < 4.0 * value.std() / n**0.5


def test_sds_and_means_are_those_of_importance_sampling(rng):
    """Linear response; mean-field sds are down to 0.97 of the exact ones."""
    fit = model_of(table(150, 3)).fit(seed=1, draws=4000, tol=1e-9)
    core, block, n = fit.core, fit.model.source.whole(), 10_000
    known = vectors(fit.draws)
    root = 1.15 * np.linalg.cholesky(np.cov(known.T))
    z, scale = rng.normal(size=(n, 5)), np.sqrt(8.0 / rng.chisquare(8.0, n))
    values = known.mean(axis=0) + scale[:, None] * (z @ root.T)
    draws = {
        "coefficients": values[:, None, None, :2],
        "precision": np.exp(values[:, 2])[:, None, None],
        "spread": values[:, None, 3:],
        "gate": np.ones((n, 1)),
    }
    log_p = core.log_lik(draws, block).sum(axis=1) + core.log_prior(draws) + values[:, 2]
    log_p += 6.5 * np.log1p((z**2).sum(axis=1) * scale**2 / 8.0)
    weight = np.exp(log_p - log_p.max())
    weight /= weight.sum()
    mean = weight @ values
    sd = np.sqrt(weight @ (values - mean) ** 2)
    assert_allclose(known.std(axis=0) / sd, 1.0, atol=0.05)
    assert (np.abs(known.mean(axis=0) - mean) < 0.06 * sd).all()


def vectors(draws):
    """Coefficients, log precision and spread of one component."""
    columns = draws["coefficients"], np.log(draws["precision"]), draws["spread"]
    return np.concatenate([column.reshape(len(column), -1) for column in columns], axis=1)


def test_the_predictive_density_is_the_average_over_draws(fit, rng):
    """Exact for Gaussian noise, up to quadrature; a Student t of matched moments otherwise."""
    rows = fit.model.source.whole()
    core, draws = fit.core, fit.core.draws(fit.q, 20_000, rng)
    averaged = log_total(core.log_lik(draws, rows), axis=0) - np.log(20_000)
    found = core.log_predictive(fit.q, rows)
    assert_allclose(found, averaged, atol=0.03 if fit.model.family == "gaussian" else 0.1)


def test_new_rows_have_uniform_pits_and_a_spread_that_is_the_true_one():
    fit = model_of(table(800, 3), "y ~ x | sigma(s(x) + z)").fit(seed=1)
    new = table(2000, 4)
    pit = fit.predict(new, kind="cdf", at=[0.0])
    assert pit.shape == (2000, 1)
    sd = fit.predict(new, kind="sd").to_numpy()
    assert_allclose(np.log(sd).mean(), -0.4, atol=0.08)
    law = fit.model.predictive(fit, new, None)
    assert kstest(law.cdf(new["y"].to_numpy()), "uniform").pvalue > 0.01


def test_an_empty_part_is_no_part(data):
    plain = model_of(data, "y ~ x").fit(seed=1)
    empty = model_of(data, "y ~ x | sigma(1)").fit(seed=1)
    assert empty.elbo == plain.elbo
    assert_allclose(empty.predict(data), plain.predict(data), rtol=0.0, atol=0.0)


def test_coefficients_are_of_the_log_sd_in_the_units_of_the_data(data):
    """Other units and shifts of columns and response leave ratios of standard deviations."""
    moved = data.assign(x=10.0 + 4.0 * data["x"], y=100.0 * data["y"])
    fits = [model_of(d).fit(seed=1, covariance="mean-field") for d in (data, moved)]
    one, other = (fit.summary().loc["log sigma"]["mean"] for fit in fits)
    assert_allclose(other.loc[1, "x"], one.loc[1, "x"] / 4.0, rtol=1e-6)
    assert_allclose(other.loc[1, "z"], one.loc[1, "z"], rtol=1e-6)
    shift = one.loc[1, "Intercept"] - other.loc[1, "x"] * 10.0 + np.log(100.0)
    assert_allclose(other.loc[1, "Intercept"], shift, rtol=1e-6)
    assert_allclose(fits[1].predict(moved, kind="sd"), 100.0 * fits[0].predict(data, kind="sd"))


@pytest.mark.heavy
def test_files_and_saved_fits_are_the_same(fit, data, tmp_path):
    data.to_parquet(tmp_path / "rows.parquet")
    again = model_of(str(tmp_path / "rows.parquet"), family=fit.model.family)
    again = again.fit(seed=1, draws=50, tol=1e-9)
    assert_allclose(again.elbo, fit.elbo, rtol=1e-7)
    loaded = bvb.load(fit.save(tmp_path / "fit.nc"))
    assert loaded.elbo == fit.elbo
    assert_allclose(loaded.predict(data, kind="sd"), fit.predict(data, kind="sd"))


def test_two_components_have_a_spread_each():
    data = table(200, 5)
    fit = model_of(data, "both ~ x | sigma(x)", n_components=2).fit(seed=1, restarts=1)
    assert fit.model.formula.parts["gating"] == "1"
    assert fit.posterior["beta_sigma"].dims == ("chain", "draw", "component", "term_sigma")
    truth = fit.summary().loc["log sigma"].xs("x", level="term")
    assert (truth["lower"] < 0.6).all() and (truth["upper"] > 0.4).all()
    assert fit.predict(data, kind="component").shape == (200, 2)


def test_groups_of_single_rows_are_rows():
    """Nodes of the log standard deviation are averaged within components, not taken for some."""
    data = table(60, 5).assign(g=np.arange(60))
    fits = [
        model_of(data, "both ~ x | sigma(x)", n_components=2, **group).fit(
            seed=1, restarts=1, draws=50, tol=1e-8
        )
        for group in ({}, {"group": "g"})
    ]
    assert_allclose(fits[1].elbo, fits[0].elbo, rtol=1e-6)
    assert_allclose(*(fit.log_density(data).sum() for fit in fits), rtol=1e-4)
    row = fits[0].model.predictive(fits[0], data, None)
    below, density = within_groups(fits[1])
    assert_allclose(below[0], row.cdf(data["both"].to_numpy()), atol=1e-3)
    scale = fits[0].model.scales.response.scale[0]
    assert_allclose(np.log(density / scale), row.log_density(data["both"].to_numpy()), atol=1e-3)


@pytest.mark.heavy
@pytest.mark.parametrize("family", FAMILIES)
def test_many_groups_stay_out_of_columns_and_their_rows_are_left_out_with_the_spread_held(family):
    """Within 0.2 nats of refits for single rows of groups of four."""
    rng, group = np.random.default_rng(2), np.repeat(np.arange(110), 4)
    data = table(440, 6).assign(g=[f"g{i}" for i in group])
    data["y"] += rng.normal(size=110)[group]
    fit = model_of(data, "y ~ x + (1 | g) | sigma(x + z)", family=family).fit(seed=1, draws=50)
    assert fit.model.design.groups is not None
    at = np.arange(0, 440, 44)
    quick = read_elpd(fit.loo()).pointwise[at]
    exact = [
        model_of(data.drop(index=i), fit.model.formula.text, family=family)
        .fit(seed=1, draws=50, covariance="mean-field")
        .log_density(data.loc[[i]])
        .iloc[0]
        for i in at
    ]
    assert_allclose(np.mean(quick - exact), 0.0, atol=0.05)
    assert_allclose(quick, exact, atol=0.2)


def test_changes_of_the_sd_are_printed_in_percent_and_asked_for_as_effects(data):
    fit = model_of(data).fit(seed=1, draws=200, covariance="mean-field")
    change = 100.0 * np.expm1(fit.summary().loc[("log sigma", 1, "x"), "mean"])
    assert f"\n  x: sd {change:+.2g}% per unit (" in str(fit)
    ratio = bvb.effects.predictions(fit, {"x": [0.0, 1.0], "z": [0.0]}, target="sd").summary
    assert_allclose(
        ratio["estimate"].iloc[1] / ratio["estimate"].iloc[0], 1 + change / 100, rtol=0.02
    )


def test_coefficients_of_a_smooth_spread_are_counted_once(data):
    model = bvb.DensityRegression("y ~ x | sigma(s(x, k=4))", data, n_components=1)
    text = str(model.fit(seed=1, draws=25, covariance="mean-field"))
    assert text.count("s(x): 2 coefficients") == 1


def test_families_and_engines_without_it_say_so(data):
    counts = data.assign(y=np.arange(60.0))
    with pytest.raises(FormulaError, match=r"has no part sigma: the spread .* follows from"):
        model_of(counts, family="poisson")
    with pytest.raises(PriorError, match=r"sigma\(...\) is for one response, and there are 2"):
        model_of(data, "y + both ~ x | sigma(x)")
    with pytest.raises(FormulaError, match="without its intercept"):
        model_of(data, "y ~ x | sigma(0 + x)")
    with pytest.raises(DataError, match=r"sigma\(...\)"):
        model_of(data).fit(method="em")


def test_draws_of_the_prior_have_its_spread(data):
    model = model_of(data, priors=replace(bvb.Priors(), sigma_sd=0.5))
    draws = model.prior_draws(2000, seed=1)
    assert draws["spread"].shape == (2000, 1, 2)
    assert_allclose(draws["spread"].std(axis=0), 0.5, rtol=0.1)
    assert np.isfinite(model.log_joint(model.prior_draws(3, seed=1))).all()
