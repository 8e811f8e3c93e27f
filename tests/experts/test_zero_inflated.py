"""Structural zeros: bound, maximum likelihood, exact posteriors, densities, files and words."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from scipy.stats import kstest, nbinom, norm, poisson

import bayesvb as bvb
from bayesvb.engines.base import one_pass
from bayesvb.engines.cavi import cavi
from bayesvb.errors import DataError, FormulaError
from bayesvb.evaluation.elpd import read_elpd
from bayesvb.results.named_draws import ModelDraws
from bayesvb.sensitivity.solvers import _by_differences, choose_solver

FAMILIES = ("poisson", "negbinomial")


def table(n, seed, dispersion=4.0):
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    mean = np.exp(1.0 + 0.5 * x)
    if np.isfinite(dispersion):
        mean = mean * rng.gamma(dispersion, 1.0 / dispersion, n)
    structural = rng.random(n) < expit(-0.5 + 0.8 * z)
    y = np.where(structural, 0.0, rng.poisson(mean))
    g = rng.permutation(np.arange(n) % 5)
    return pd.DataFrame({"y": y, "x": x, "z": z, "o": 0.5 * x, "g": [f"g{i}" for i in g]})


def model_of(data, formula="y ~ x | zero(z)", **options):
    options = {"n_components": 1, "family": "poisson", **options}
    return bvb.DensityRegression(formula, data, **options)


@pytest.fixture(
    scope="module", params=["poisson", pytest.param("negbinomial", marks=pytest.mark.heavy)]
)
def fit(request):
    return model_of(table(80, 1), family=request.param).fit(seed=1, draws=200, tol=1e-9)


def test_the_bound_never_falls_also_with_empty_components():
    formulas = "y ~ x | zero(x + z)", "y ~ x | gating(z) | zero(1)", "y ~ x | zero(s(z, k=4))"
    for seed in range(3):
        data, n_components = table(20 + 10 * seed, seed), 1 + seed
        options = {"n_components": n_components, "family": FAMILIES[seed % 2]}
        model = model_of(data, formulas[seed % 3], **options)
        rng = np.random.default_rng(seed)
        share = rng.dirichlet(np.full(n_components, 0.2), len(data)).T.copy()
        start = model.core.first_stats(model.core.partition_stats(model.source.whole(), share))
        trace = cavi(model.core, model.source, start, max_iter=5).trace
        assert np.isfinite(trace).all()
        assert (np.diff(trace) >= -1e-9 * np.abs(trace[1:])).all()


def test_a_run_starts_from_even_odds_of_structural_zeros():
    data = table(60, 1)
    model = model_of(data, "y ~ x | zero(1)")
    stats = model.core.partition_stats(model.source.whole(), np.ones((1, len(data))))
    # A zero is structural with probability 1/2, other counts never: log odds rise by p - 1/2.
    found = stats.experts.further.linear.ravel()
    assert_allclose(found, -0.5 * (data.y > 0.0).sum(), rtol=1e-12)


def test_no_change_of_the_statistics_gains_at_the_end(fit):
    core, source, stats = fit.core, fit.model.source, fit.stats
    rng, vector = np.random.default_rng(2), stats.to_vector()
    best = one_pass(core, source, stats).bound
    for size in (1e-6, 1e-4):
        moved = vector * (1.0 + size * rng.normal(size=(5, len(vector))))
        bounds = [one_pass(core, source, stats.with_vector(one)).bound for one in moved]
        assert max(bounds) <= best + 1e-7


@pytest.mark.heavy
def test_the_derivative_of_a_pass_is_that_of_differences():
    """Components share a factor of the posterior, that of the zeros."""
    model = model_of(table(40, 3), "y ~ x | zero(z)", n_components=2)
    fit = model.fit(seed=1, restarts=1, draws=25, covariance="mean-field")
    found = choose_solver(fit.core, model.source, fit.stats).whole()
    expected = _by_differences(fit.core, model.source, fit.stats)
    assert_allclose(found, expected, rtol=1e-3, atol=1e-6 * np.abs(expected).max())


@pytest.mark.heavy
@pytest.mark.parametrize("family", FAMILIES)
def test_estimates_are_those_of_maximum_likelihood(family):
    """Wide priors: within a tenth of a standard error, standard errors within 5%.

    Second derivatives are differences: the Hessian of statsmodels 0.15 is off by 0.4% to 3.5%.
    """
    sm = pytest.importorskip("statsmodels.api")
    kinds = {"poisson": sm.ZeroInflatedPoisson, "negbinomial": sm.ZeroInflatedNegativeBinomialP}
    data = table(2000, 2, 4.0 if family == "negbinomial" else np.inf)
    priors = bvb.Priors(zero_sd=20.0)
    fit = model_of(data, "y ~ x + offset(o) | zero(z)", family=family, priors=priors)
    fit = fit.fit(seed=1, draws=4000)
    columns = [sm.add_constant(data[[name]]) for name in ("x", "z")]
    referee = kinds[family](data["y"], columns[0], exog_infl=columns[1], offset=data["o"])
    exact = referee.fit(disp=0, maxiter=500, method="bfgs").params
    numdiff = pytest.importorskip("statsmodels.tools.numdiff")
    hessian = numdiff.approx_hess(exact.to_numpy(), referee.loglike)
    errors = np.sqrt(np.diag(np.linalg.inv(-hessian)))[[2, 3, 0, 1]]
    found = fit.summary().loc[["mean", "zero"]]
    order = ["const", "x", "inflate_const", "inflate_z"]
    assert (np.abs(found["mean"].to_numpy() - exact[order]) < 0.1 * errors).all()
    assert_allclose(found["sd"], errors, rtol=0.05)


def test_probabilities_and_the_log_joint_are_those_of_scipy(fit):
    data, draws = table(80, 1), {name: values[:3] for name, values in fit.draws.items()}
    x, z = (fit.model.source.whole().designs[part] for part in ("mean", "zero"))
    mean = np.exp(draws["coefficients"][:, 0, 0] @ x)
    structural = expit(draws["zero"][:, 0] @ z)
    law, own = poisson(mean), 0.0
    if fit.model.family == "negbinomial":
        rho = draws["dispersion"]
        law = nbinom(rho, rho / (rho + mean))
        own = norm(1.6, 2.0).logpdf(np.log(rho[:, 0])) - np.log(rho[:, 0])
    each = structural * (data["y"].to_numpy() == 0.0) + (1.0 - structural) * law.pmf(data["y"])
    own += norm(0.0, 10.0).logpdf(draws["coefficients"]).sum(axis=(1, 2, 3))
    own += norm(0.0, 2.5).logpdf(draws["zero"]).sum(axis=(1, 2))
    assert_allclose(fit.model.log_joint(draws), np.log(each).sum(axis=1) + own, rtol=1e-8)
    assert fit.model.prior_draws(500, seed=1)["zero"].std() == pytest.approx(2.5, rel=0.1)


def test_the_predictive_distribution_is_the_average_over_draws(fit, rng):
    block, counts, some = fit.model.source.whole(), np.arange(60.0), table(80, 1)[:4]
    each = fit.predict(some, "probability", at=counts.tolist()).to_numpy()
    assert_allclose(each.sum(axis=1), 1.0, atol=1e-3)
    assert_allclose(each @ counts, fit.predict(some), rtol=0.01)
    draws = fit.core.draws(fit.q, 2000, rng)
    density = np.exp(fit.core.log_lik(draws, block))
    error = density.std(axis=0) / len(density) ** 0.5
    found = np.exp(fit.core.log_predictive(fit.q, block))
    assert (np.abs(density.mean(axis=0) - found) < 5.0 * error).all()
    mixture = fit.model.drawn_mixture(ModelDraws(fit.core, draws), block, 0)
    for drawn, kind in ((mixture.mean(), "mean"), (mixture.density(0.0), "probability")):
        expected = np.ravel(fit.predict(kind=kind, **({"at": [0]} if kind != "mean" else {})))
        assert_allclose(drawn.mean(axis=0), expected, rtol=0.03)
    assert_allclose(mixture.below(1.0), mixture.density(0.0))


@pytest.mark.heavy
def test_rows_left_out_are_those_of_refits(assert_as_refits):
    fit = model_of(table(40, 5, np.inf)).fit(seed=1, draws=25, tol=1e-9)
    assert_as_refits(fit, 0.02)


@pytest.mark.heavy
def test_components_have_the_zeros_in_common(tmp_path):
    """Whatever the order of the components; files and saved fits are the same."""
    data = table(60, 4, np.inf)
    formula = "y ~ x | zero(s(z, k=4) + (1 | g))"
    data.to_parquet(tmp_path / "rows.parquet")
    options = {"seed": 1, "restarts": 1, "draws": 25, "max_iter": 60, "covariance": "mean-field"}
    fit = model_of(data, formula, n_components=2).fit(**options)
    assert fit.model.formula.parts["gating"] == "1"
    assert fit.posterior["beta_zero"].dims == ("chain", "draw", "term_zero")
    again = model_of(str(tmp_path / "rows.parquet"), formula, n_components=2).fit(**options)
    assert_allclose(again.elbo, fit.elbo, rtol=1e-6)
    loaded = bvb.load(fit.save(tmp_path / "fit.nc"))
    assert loaded.elbo == fit.elbo
    assert_allclose(loaded.predict(data), fit.predict(data))


def test_it_is_printed_as_log_odds(fit):
    text = str(fit)  # its accuracy leaves rows out
    assert "zero (log odds of a structural zero)" in text and "Odds ratio" in text
    assert text.startswith("Zero-inflated")
    change = bvb.effects.comparisons(fit, {"z": [-1.0, 1.0]}, target="density", at=0.0)
    assert (change.summary["lower"] > 0.0).all()
    assert fit.model.prior_table().loc[("zero", "z"), "prior"] == "Normal"


@pytest.mark.heavy
def test_new_rows_have_uniform_pits():
    fit = model_of(table(800, 3), family="negbinomial").fit(seed=1)
    assert kstest(fit.pit(), "uniform").pvalue > 0.01
    assert fit.check().attrs["verdict"] == "ok"
    plain = model_of(table(800, 3), "y ~ x").fit(seed=1)
    gain = read_elpd(fit.loo()).elpd - read_elpd(plain.loo()).elpd
    assert gain > 20.0
    first = plain.check().iloc[0]
    assert (first.name, first["grade"]) == ("Zeros", "problem")
    assert "add the part `zero(1)`" in first["remedy"]


def test_families_without_zeros_say_so():
    with pytest.raises(FormulaError, match=r"no part zero: it is for counts (.|\n)*family='gamma'"):
        model_of(table(20, 1).assign(y=[0.0, 1.0] * 10), family="bernoulli")
    with pytest.raises(DataError, match=r"zero\(...\) describes zeros, and .* is never 0"):
        model_of(table(20, 1).assign(y=np.arange(1.0, 21.0)))
    with pytest.raises(FormulaError, match=r"did you mean zero\(...\)"):
        model_of(table(20, 1), "y ~ x | zi(z)")


@pytest.mark.heavy
def test_weights_of_components_may_be_replaced():
    """As where rows of a group share a component, and where restarts are combined."""
    data = table(60, 4, np.inf)
    options = {"seed": 1, "draws": 25, "max_iter": 60, "covariance": "mean-field"}
    fit = model_of(data, n_components=2, group="g").fit(**options, restarts=1)
    assert fit.pit().between(0.0, 1.0).all()
    assert np.isfinite(fit.predict(data[20:], observed=data[:20])).all()
    law = model_of(data, n_components=2).fit(**options, restarts=1).predictive(data)
    both = law.stacked([law], np.array([0.4, 0.6]))
    counts, expected = np.arange(3.0), law.density_at(np.arange(3.0))
    assert_allclose(both.density_at(counts), expected)
    assert_allclose(both.by_label(2).density_at(counts), expected)
    assert_allclose(law.joined([law]).mean(), np.tile(law.mean(), 2))
