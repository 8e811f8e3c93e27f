"""The family of zeros and ones of docs/adding.md, in its one file and its one line of the table:
right in memory and from a file, in predictions, PIT values, checks, effects, words and the page."""

import html
import re
import sys
import types

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from scipy.stats import kstest

import bayesvb as bvb
from bayesvb.data.blocks import Block
from bayesvb.errors import DataError, DesignWarning
from bayesvb.experts import EXPERTS
from bayesvb.experts.regression import RegressionPrior

FAMILY = "bernoulli-quadratic"
SLOPES = np.array([0.5, 1.2, -0.8])
IDENTIFIED = {1: "y ~ x + z", 2: "y ~ x | gating(z)"}
"""Formulas by the number of components that zeros and ones identify."""

OF_DENSITIES = {"Discreteness", "Outliers", "Gross errors", "Repeated value", "Smallest response",
                "Largest response", "Skewness", "Tails", "Shape", "Predictive spread",
                "Compared with least squares"}  # fmt: skip


def table(n, seed, bend=0.0):
    """Rows whose log odds are linear, but for a bend."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    p = expit(SLOPES @ np.stack([np.ones(n), x, z]) + bend * (x**2 - 1.0))
    return pd.DataFrame({"y": (rng.random(n) < p).astype(float), "x": x, "z": z, "p": p})


def text(page):
    page = re.sub("<(style|svg|script).*?</(style|svg|script)>", "", page, flags=re.S)
    return " ".join(html.unescape(re.sub("<[^>]+>", " ", page)).split())


@pytest.fixture(scope="module", autouse=True)
def family(root):
    """The file of the page as a module, and its line in the table."""
    source = (root / "tests/extensions/quadratic_bernoulli.py").read_text(encoding="utf-8")
    module = types.ModuleType("bayesvb.experts.quadratic_bernoulli")
    sys.modules[module.__name__] = module
    exec(compile(source, "quadratic_bernoulli.py", "exec"), vars(module))
    EXPERTS[FAMILY] = module.QuadraticBernoulliExperts.from_prior
    yield module
    del EXPERTS[FAMILY], sys.modules[module.__name__]


def model_of(data, formula="y ~ x + z", n_components=1, **options):
    return bvb.DensityRegression(formula, data, n_components=n_components, family=FAMILY, **options)


@pytest.fixture(scope="module")
def data():
    return table(600, 1)


@pytest.fixture(scope="module")
def fit(family, data):
    return model_of(data).fit(seed=1, draws=400)


# -- the mathematics -----------------------------------------------------------------------------


def test_the_bound_is_below_the_evidence(family):
    """By quadrature over two coefficients; the bound of few rows is within a nat of it."""
    rng = np.random.default_rng(3)
    block = Block({"mean": np.stack([np.ones(30), rng.normal(size=30)])}, np.zeros((1, 30)))
    p = expit(np.array([0.3, 1.0]) @ block.designs["mean"])
    block = Block(block.designs, (rng.random((1, 30)) < p).astype(float))
    experts = EXPERTS[FAMILY](RegressionPrior(1, 2, 2.0, False, 1.0, 1.0))
    stats = experts.partition_stats(np.ones((1, 30)), block)
    bounds = []
    for _ in range(60):
        posterior = experts.update(stats)
        local = experts.local(posterior, block)
        bounds.append(local.expected_log_density.sum() - experts.kl(posterior))
        stats = local.sufficient_stats(np.ones((1, 30)))
    assert (np.diff(bounds) >= -1e-10).all()
    axis = np.linspace(-9.0, 9.0, 361)
    draws = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 1, 1, 2)
    log = experts.log_lik({"coefficients": draws}, block).sum(axis=(1, 2))
    log += experts.log_density(None, {"coefficients": draws})
    evidence = np.log(np.exp(log).sum() * (axis[1] - axis[0]) ** 2)
    assert bounds[-1] < evidence < bounds[-1] + 1.0


def test_distributions_are_those_of_zeros_and_ones(family, fit, data):
    law, y = fit.predictive(data[:40]), np.array([0.0, 1.0])
    mass = law.density_at(y)
    assert_allclose(mass.sum(axis=0), 1.0)
    assert_allclose(law.cdf_at(np.array([-0.5, 0.0, 0.7, 1.0, 2.0])), np.stack(
        [0.0 * mass[0], mass[0], mass[0], np.ones(40), np.ones(40)]))  # fmt: skip
    assert_allclose(law.mean(), mass[1])
    assert (law.density_at(np.array([0.5, 2.0])) == 0.0).all()
    for q in (0.05, 0.5, 0.95):
        assert_allclose(law.quantile(np.array([q]))[0], (q > mass[0]).astype(float))
    draws = fit.model.drawn_mixture(fit, fit.model.block(fit.model.rows(data[:40])), 0)
    spread = draws.mean().std(axis=0) / np.sqrt(400)
    assert (np.abs(draws.mean().mean(axis=0) - law.mean()) < 5.0 * spread).all()
    assert_allclose(draws.below(1.0) + draws.density(1.0), 1.0)
    assert_allclose(draws.above(0.0), draws.density(1.0))


def test_predictions_are_the_probabilities(fit):
    new = table(2000, 2)
    p = fit.predict(new)
    assert np.abs(p - new["p"]).max() < 0.1  # four standard errors of the largest
    drawn = fit.predict(new[:200], "draws", n=500, seed=1).to_numpy()
    assert np.isin(drawn, (0.0, 1.0)).all()
    assert np.abs(drawn.mean(axis=1) - p[:200]).max() < 4.5 * 0.5 / np.sqrt(500)
    assert_allclose(fit.log_density(new), np.log(np.where(new["y"] == 1.0, p, 1.0 - p)))


@pytest.mark.parametrize("n_components", [1, 2])
def test_rows_in_a_file_give_the_same_fit(data, n_components, tmp_path):
    """Three blocks of rows, of which a sample may be in memory: bound, coefficients and draws."""
    data.to_parquet(tmp_path / "rows.parquet", row_group_size=250)
    options = {"seed": 1, "restarts": 2, "draws": 50, "tol": 0.05}
    formula = IDENTIFIED[n_components]
    here = model_of(data, formula, n_components).fit(**options)
    there = model_of(str(tmp_path / "rows.parquet"), formula, n_components).fit(**options)
    assert_allclose(there.elbo, here.elbo, rtol=1e-10)
    assert_allclose(there.coef(), here.coef(), rtol=1e-8, atol=1e-8)
    assert_allclose(there.predict(data), here.predict(data), rtol=1e-8)


# -- what is asked of the description of the response --------------------------------------------


def test_values_that_are_not_zero_or_one_are_refused(data, tmp_path):
    wrong = data.assign(y=data["y"] + 1.0)
    with pytest.raises(DataError, match="`y` holds 2, and must be 0 or 1"):
        model_of(wrong)
    wrong.to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(DataError, match="`y` holds 2, and must be 0 or 1"):
        model_of(str(tmp_path / "rows.parquet"))
    with pytest.raises(DataError, match="must be the only one"):
        model_of(data.assign(w=data["y"]), "y + w ~ x")
    with pytest.raises(DataError, match="is subtracted from the response"):
        model_of(data, "y ~ x + offset(z)")


@pytest.mark.parametrize("calibrated", [True, "jackknife+"])
def test_quantiles_of_zeros_and_ones_are_not_recalibrated(fit, data, calibrated):
    with pytest.raises(DataError, match="continuous responses"):
        fit.predict(data[:3], "interval", recalibrate=calibrated)


def test_densities_and_probabilities_are_not_compared(fit, data):
    with pytest.warns(DesignWarning, match="two values"):
        smooth = bvb.DensityRegression("y ~ x + z", data, n_components=1)
    smooth = smooth.fit(seed=1, draws=50)
    with pytest.raises(DataError, match="logarithms are not comparable"):
        bvb.compare({"zeros and ones": fit, "line": smooth})
    with pytest.raises(DataError, match="continuous response"):
        fit.predict(data[:3], "mean", transform="exp")


def test_pit_values_are_uniform_and_one_for_each_row(fit):
    pit = fit.pit()
    assert kstest(pit, "uniform").pvalue > 0.01
    assert len(np.unique(pit)) == len(pit)
    assert_allclose(fit.pit(), pit)
    side = np.where(fit.model.observed()["y"] == 1.0, 1.0, -1.0)
    assert (side * (pit - (1.0 - fit.predict())) > -0.03).all()  # P(y = 0) moves without its row


def test_without_random_numbers_pit_values_would_not_be_uniform(fit, data):
    law = fit.predictive(data)
    assert kstest(law.cdf(data["y"].to_numpy()), "uniform").pvalue < 1e-20


def test_a_right_fit_passes_its_checks_and_none_of_them_is_of_a_density(fit):
    check = fit.check()
    assert check.attrs["verdict"] == "ok"
    assert not OF_DENSITIES & set(check.index)
    assert {"Mean by x", "Mean by z", "Mean by prediction"} < set(check.index)
    assert not [name for name in check.index if name.startswith("Spread by x")]


def test_a_bend_is_found():
    bent = model_of(table(600, 4, bend=-0.9)).fit(seed=1, draws=100)
    check = bent.check()
    assert check.loc["Mean by x", "grade"] == "problem"
    assert "s(x)" in check.loc["Mean by x", "remedy"]


def test_calibration_is_of_the_probability_of_one(fit):
    found = fit.calibration()
    assert list(found.index.get_level_values("class").unique()) == ["1"]
    assert found["rows"].sum() == 600
    assert found["observed"].between(found["lower"], found["upper"]).mean() > 0.7


def test_effects_are_of_the_probability_of_one(fit):
    found = bvb.effects.comparisons(fit, "x", average_by=True)
    assert "probability of y = 1" in str(found)
    assert "P(y = 1)" in str(bvb.effects.predictions(fit, target="density", at=1.0))


def test_a_saved_fit_is_the_same(fit, data, tmp_path):
    again = bvb.load(fit.save(tmp_path / "fit.nc"))
    assert again.elbo == fit.elbo
    assert_allclose(again.predict(data), fit.predict(data), rtol=0)


def test_pictures_are_of_probabilities(fit):
    axes = fit.plot().axes
    labels = [(one.get_xlabel(), one.get_ylabel()) for one in axes]
    assert labels[0] == ("x", "probability of y = 1")
    assert ("predicted probability", "observed share") in labels


@pytest.mark.heavy
@pytest.mark.parametrize("n_components", [1, 2])
def test_the_page_and_the_print_say_nothing_of_a_density(data, n_components, tmp_path):
    fit = model_of(data, IDENTIFIED[n_components], n_components)
    fit = fit.fit(seed=1, restarts=2, draws=200)
    said = text(fit.report(tmp_path / "fit.html").read_text("utf-8"))
    said += str(fit) + fit.report_text()
    assert "the probability of y = 1 rises by" in said
    assert "generalised linear regression" in said and "log odds of 1" in said
    assert "regression coefficients N(0, 10²)" in said
    for words in ("noise", "σ", "east squares", "PIT value", "CRPS", "standard deviation of y",
                  "median of y", "density of y", "Smoothed", "C(y)"):  # fmt: skip
        assert words not in said, words


@pytest.mark.heavy
def test_components_of_subjects_are_told_apart():
    """With several rows for each subject two logistic regressions can be told apart."""
    rng = np.random.default_rng(5)
    subject, x = np.repeat(np.arange(120), 12), rng.normal(size=1440)
    kind = np.arange(120) % 2
    logit = np.where(kind[subject] == 0, 1.5 * x - 0.5, 0.5 - 1.5 * x)
    y = (rng.random(1440) < expit(logit)).astype(float)
    rows = pd.DataFrame({"y": y, "x": x, "subject": subject})
    fit = model_of(rows, "y ~ x | 1", n_components=2, group="subject").fit(seed=1, draws=200)
    own = fit.responsibilities().to_numpy().argmax(axis=1)
    assert max((own == kind).mean(), (own != kind).mean()) > 0.95
    assert kstest(fit.pit(), "uniform").pvalue > 0.01
