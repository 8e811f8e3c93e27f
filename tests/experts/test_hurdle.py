"""Amounts some of which are 0: two regressions in one, bound, files, draws and words."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from scipy.stats import gamma, kstest, norm, weibull_min

import bayesvb as bvb
from bayesvb.engines.cavi import cavi
from bayesvb.errors import DataError, FormulaError, PriorError
from bayesvb.results.named_draws import ModelDraws
from bayesvb.sensitivity.solvers import _by_differences, choose_solver

FAMILIES = ("gamma", "weibull")


def table(n, seed, slope=0.5):
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    amounts = np.exp(1.0 + slope * x) * rng.gamma(3.0, 1.0 / 3.0, n)
    y = np.where(rng.random(n) < expit(-0.5 + 0.8 * z), 0.0, amounts)
    g = rng.permutation(np.arange(n) % 5)
    return pd.DataFrame({"y": y, "x": x, "z": z, "o": 0.5 * x, "g": [f"g{i}" for i in g]})


def model_of(data, formula="y ~ x | zero(z)", **options):
    options = {"n_components": 1, "family": "gamma", **options}
    return bvb.DensityRegression(formula, data, **options)


@pytest.fixture(scope="module", params=["gamma", pytest.param("weibull", marks=pytest.mark.heavy)])
def fit(request):
    return model_of(table(120, 1), family=request.param).fit(seed=1, draws=200, tol=1e-9)


def test_the_bound_never_falls_also_with_empty_components():
    formulas = "y ~ x | zero(x + z)", "y ~ x | gating(z) | zero(1)", "y ~ x | zero(s(z, k=4))"
    for seed in range(3):
        data, n_components = table(20 + 10 * seed, seed), 1 + seed
        options = {"n_components": n_components, "family": FAMILIES[seed % 2]}
        model = model_of(data, formulas[seed], **options)
        rng = np.random.default_rng(seed)
        share = rng.dirichlet(np.full(n_components, 0.2), len(data)).T.copy()
        start = model.core.first_stats(model.core.partition_stats(model.source.whole(), share))
        trace = cavi(model.core, model.source, start, max_iter=5).trace
        assert np.isfinite(trace).all()
        assert (np.diff(trace) >= -1e-9 * np.abs(trace[1:])).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_it_is_a_regression_of_zeros_and_one_of_the_amounts(family):
    """Posterior, ELBO and densities are the products, where columns stay in their units."""
    data, new = table(120, 1), table(5, 2)
    priors = bvb.Priors(standardize=False, zero_sd=10.0)
    some, seen = data[data.y > 0.0], data.assign(y=(data.y == 0.0).astype(float))
    both, amounts, zeros = (
        model_of(rows, formula, family=name, priors=priors).fit(seed=1, draws=25, tol=1e-10)
        for rows, formula, name in (
            (data, "y ~ x | zero(z)", family),
            (some, "y ~ x", family),
            (seen, "y ~ z", "bernoulli"),
        )
    )
    assert_allclose(both.q.experts.further.mean, zeros.q.experts.mean, rtol=1e-5)
    assert_allclose(both.q.experts.further.covariance, zeros.q.experts.covariance, rtol=1e-5)
    assert_allclose(
        both.q.experts.experts.coefficients.mean, amounts.q.experts.coefficients.mean, rtol=1e-5
    )
    assert_allclose(
        both.q.experts.experts.dispersion.mean_log, amounts.q.experts.dispersion.mean_log, rtol=1e-5
    )
    assert_allclose(both.elbo, amounts.elbo + zeros.elbo, rtol=1e-8)
    expected = zeros.log_density(new.assign(y=(new.y == 0.0) * 1.0)).to_numpy().copy()
    positive = (new.y > 0.0).to_numpy()
    expected[positive] += amounts.log_density(new[positive])
    assert_allclose(both.log_density(new), expected, rtol=1e-5)


@pytest.mark.heavy
def test_estimates_are_those_of_two_generalised_linear_models():
    """Wide priors: within a tenth of a standard error, standard errors within 5%."""
    sm = pytest.importorskip("statsmodels.api")
    data = table(2000, 2)
    fit = model_of(data, "y ~ x + offset(o) | zero(z)", priors=bvb.Priors(zero_sd=20.0))
    fit = fit.fit(seed=1, draws=4000)
    some = data[data.y > 0.0]
    log = sm.families.Gamma(sm.families.links.Log())
    amounts = sm.GLM(some["y"], sm.add_constant(some[["x"]]), log, offset=some["o"]).fit()
    zeros = sm.GLM(data["y"] == 0.0, sm.add_constant(data[["z"]]), sm.families.Binomial()).fit()
    for part, referee in (("mean", amounts), ("zero", zeros)):
        found = fit.summary().loc[part]
        moved = (found["mean"].to_numpy() - referee.params) / referee.bse
        assert (np.abs(moved) < 0.1).all()
        assert_allclose(found["sd"], referee.bse, rtol=0.05)


@pytest.mark.heavy
@pytest.mark.parametrize("family", FAMILIES)
def test_the_derivative_of_a_pass_is_that_of_differences(family):
    """But for sums at nodes without influence, which are those of the nearest one."""
    model = model_of(table(40, 3), "y ~ x | zero(z)", family=family)
    fit = model.fit(seed=1, draws=25, covariance="mean-field")
    found = choose_solver(fit.core, model.source, fit.stats).whole()
    expected = _by_differences(fit.core, model.source, fit.stats)
    n_nodes, own = model.core.experts.experts.dispersion.n_nodes, 5
    found, expected = (np.delete(one, np.s_[own : own + n_nodes], 0) for one in (found, expected))
    assert_allclose(found, expected, rtol=1e-3, atol=1e-6 * np.abs(expected).max())


def test_densities_and_the_log_joint_are_those_of_scipy(fit):
    data, draws = table(120, 1), {name: values[:3] for name, values in fit.draws.items()}
    x, z = (fit.model.source.whole().designs[part] for part in ("mean", "zero"))
    scale = np.exp(draws["coefficients"][:, 0, 0] @ x)
    zero, shape = expit(draws["zero"][:, 0] @ z), draws["shape"]
    centre, sd = (1.0, 2.0) if fit.model.family == "gamma" else (0.0, 1.0)
    law = gamma(shape, scale=scale / shape) if sd == 2.0 else weibull_min(shape, scale=scale)
    y = data["y"].to_numpy()
    each = np.where(y == 0.0, zero, (1.0 - zero) * law.pdf(np.where(y == 0.0, 1.0, y)))
    own = norm(centre, sd).logpdf(np.log(shape[:, 0])) - np.log(shape[:, 0])
    own += norm(0.0, 10.0).logpdf(draws["coefficients"]).sum(axis=(1, 2, 3))
    own += norm(0.0, 2.5).logpdf(draws["zero"]).sum(axis=(1, 2))
    assert_allclose(fit.model.log_joint(draws), np.log(each).sum(axis=1) + own, rtol=1e-8)


def test_the_predictive_distribution_is_the_average_over_draws(fit, rng):
    block = fit.model.source.whole()
    draws = fit.core.draws(fit.q, 2000, rng)
    density = np.exp(fit.core.log_lik(draws, block))
    error = density.std(axis=0) / len(density) ** 0.5
    found = np.exp(fit.core.log_predictive(fit.q, block))
    assert (np.abs(density.mean(axis=0) - found) < 5.0 * error).all()
    mixture = fit.model.drawn_mixture(ModelDraws(fit.core, draws), block, 0)
    for drawn, kind in ((mixture.mean(), "mean"), (mixture.density(0.0), "probability")):
        expected = np.ravel(fit.predict(kind=kind, **({"at": 0.0} if kind != "mean" else {})))
        assert_allclose(drawn.mean(axis=0), expected, rtol=0.03)
    with pytest.raises(DataError, match=r"above 0 of a continuous response (.|\n)*at=0"):
        fit.predict(kind="probability")


@pytest.mark.heavy
@pytest.mark.parametrize("family", FAMILIES)
def test_rows_left_out_are_those_of_refits(family, assert_as_refits):
    fit = model_of(table(40, 5), family=family).fit(seed=1, draws=25, tol=1e-9)
    assert_as_refits(fit, 0.02)


@pytest.mark.heavy
def test_components_have_the_zeros_in_common(tmp_path):
    """Whatever the order of the components; files and saved fits are the same."""
    data = table(60, 4)
    formula = "y ~ x | zero(s(z, k=4) + (1 | g))"
    data.to_parquet(tmp_path / "rows.parquet")
    options = {"seed": 1, "restarts": 1, "draws": 25, "max_iter": 60, "covariance": "mean-field"}
    fit = model_of(data, formula, n_components=2).fit(**options)
    assert fit.model.formula.parts["gating"] == "1"
    again = model_of(str(tmp_path / "rows.parquet"), formula, n_components=2).fit(**options)
    assert_allclose(again.elbo, fit.elbo, rtol=1e-6)
    loaded = bvb.load(fit.save(tmp_path / "fit.nc"))
    assert loaded.elbo == fit.elbo
    assert_allclose(loaded.predict(data), fit.predict(data))


@pytest.mark.heavy
def test_weights_of_components_may_be_replaced():
    """As where rows of a group share a component, and where restarts are combined."""
    data = table(60, 4)
    options = {"seed": 1, "draws": 25, "max_iter": 60, "covariance": "mean-field"}
    fit = model_of(data, n_components=2, group="g").fit(**options, restarts=1)
    assert fit.pit().between(0.0, 1.0).all()
    assert np.isfinite(fit.predict(data[20:], observed=data[:20])).all()
    law = model_of(data, n_components=2).fit(**options, restarts=1).predictive(data)
    both = law.stacked([law], np.array([0.4, 0.6]))
    at, expected = np.arange(3.0), law.density_at(np.arange(3.0))
    assert_allclose(both.density_at(at), expected)
    assert_allclose(both.by_label(2).density_at(at), expected)
    assert_allclose(law.joined([law]).mean(), np.tile(law.mean(), 2))


def test_it_is_printed_as_log_odds_of_zero(fit):
    text = str(fit)
    assert "zero (log odds of 0)" in text and "Odds ratio" in text and text.startswith("Hurdle")
    change = bvb.effects.comparisons(fit, {"z": [-1.0, 1.0]}, target="density", at=0.0)
    assert (change.summary["lower"] > 0.0).all() and "P(y = 0)" in str(change)
    assert fit.model.prior_table().loc[("zero", "z"), "prior"] == "Normal"


@pytest.mark.heavy
@pytest.mark.parametrize("engine", ["em", "nuts"])
def test_other_engines_agree(fit, engine):
    if engine == "nuts":
        pytest.importorskip("numpyro")
    other = fit.model.fit(engine, seed=1).summary()
    own = fit.summary()
    for part in ("mean", "zero"):
        moved = (other.loc[part, "mean"] - own.loc[part, "mean"]) / own.loc[part, "sd"]
        assert (moved.abs() < 0.3).all()
        assert_allclose(other.loc[part, "sd"], own.loc[part, "sd"], rtol=0.15)


@pytest.mark.heavy
def test_new_rows_have_uniform_pits():
    fit = model_of(table(800, 3)).fit(seed=1)
    assert kstest(fit.pit(), "uniform").pvalue > 0.01
    assert fit.check().attrs["verdict"] == "ok"


def test_what_has_no_hurdle_says_so():
    data = table(30, 1)
    with pytest.raises(DataError, match=r"holds 0, and must be a number above 0(.|\n)*zero\(1\)"):
        model_of(data, "y ~ x")
    with pytest.raises(DataError, match=r"holds -1, and must be a number from 0"):
        model_of(data.assign(y=np.r_[-1.0, data.y[1:]]))
    with pytest.raises(DataError, match=r"zero\(...\) describes zeros, and .* is never 0"):
        model_of(data.assign(y=data.y + 1.0))
    with pytest.raises(FormulaError, match=r"no part zero(.|\n)*family='gamma'"):
        model_of(data, family="gaussian")
    seen = data.assign(seen=(data.y < 2.0).astype(int))
    with pytest.raises(PriorError, match=r"zero\(...\) is not available where .* censored"):
        model_of(seen, "Surv(y, seen) ~ x | zero(z)", family="weibull")


def test_hurdles_do_not_compare_with_plain_densities(fit):
    with pytest.warns(bvb.errors.DesignWarning, match=r"zero\(1\)"):
        plain = model_of(table(120, 1), "y ~ x", family="gaussian").fit(seed=1, draws=25)
    with pytest.raises(DataError, match="a probability of 0 and a density elsewhere"):
        bvb.compare({"hurdle": fit, "plain": plain})
