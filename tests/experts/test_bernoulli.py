"""Logistic regressions: against maximum likelihood, exact posteriors, refits and the words."""

import html
import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from scipy.stats import kstest

import bayesvb as bvb
from bayesvb.errors import DataError, DesignWarning, PriorError

SLOPES = np.array([-0.5, 1.2, -0.8])


def table(n, seed, slopes=SLOPES):
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    p = expit(slopes @ np.stack([np.ones(n), x, z]))
    y = (rng.random(n) < p).astype(float)
    return pd.DataFrame({"y": y, "x": x, "z": z, "o": 0.5 * x, "w": rng.integers(1, 3, n), "p": p})


def model_of(data, formula="y ~ x + z", **options):
    options = {"n_components": 1, "family": "bernoulli", **options}
    return bvb.DensityRegression(formula, data, **options)


@pytest.fixture(scope="module")
def data():
    return table(500, 1)


@pytest.fixture(scope="module")
def fit(data):
    return model_of(data).fit(seed=1, draws=2000)


# -- other software and exact posteriors ---------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_estimates_are_those_of_maximum_likelihood(data, weighted):
    """With an offset: within a tenth of a standard error, standard errors within 5%."""
    sm = pytest.importorskip("statsmodels.api")
    options = {"weights": "w"} if weighted else {}
    fit = model_of(data, "y ~ x + z + offset(o)", **options).fit(seed=1, draws=4000)
    columns = sm.add_constant(data[["x", "z"]])
    weight = data["w"] if weighted else None
    glm = sm.GLM(data["y"], columns, sm.families.Binomial(), offset=data["o"], freq_weights=weight)
    exact = glm.fit()
    found = fit.summary().loc["mean"]
    assert (np.abs(found["mean"].to_numpy() - exact.params.to_numpy()) < 0.1 * exact.bse).all()
    assert_allclose(found["sd"], exact.bse, rtol=0.05)


@pytest.mark.parametrize(
    ("n", "slopes"), [(60, SLOPES), (200, [-3.5, 1.0, 0.0]), (60, [0.0, 3.0, -3.0])],
    ids=["few rows", "rare events", "steep"],
)  # fmt: skip
def test_standard_deviations_are_those_of_importance_sampling(n, slopes, exact_moments):
    data = table(n, 3, np.array(slopes))
    model = model_of(data, priors=bvb.Priors(coefficient_sd=2.5))
    fit = model.fit(seed=1, draws=4000, tol=1e-9)
    mean, sd = exact_moments(fit)
    ratio = fit.draws["coefficients"][:, 0, 0].std(axis=0) / sd
    assert (ratio > 0.94).all() and (ratio < 1.05).all()
    assert (np.abs(fit.q.experts.mean[0] - mean) < 0.05 * sd).all()


def test_rows_left_out_are_those_of_refits(assert_as_refits):
    fit = model_of(table(80, 5)).fit(seed=1, draws=50, tol=1e-9)
    assert_as_refits(fit, 0.008, 0.03)


# -- predictions, checks and effects -------------------------------------------------------------


def test_predictions_are_probabilities(fit):
    new = table(2000, 2)
    p = fit.predict(new)
    assert np.abs(p - new["p"]).max() < 0.12  # four standard errors of the largest
    assert_allclose(fit.predict(new, "probability"), p)
    assert_allclose(fit.predict(new, "probability", at=[0, 1]).sum(axis=1), 1.0)
    assert_allclose(fit.log_density(new), np.log(np.where(new["y"] == 1.0, p, 1.0 - p)))
    with pytest.warns(DesignWarning, match="family='bernoulli'"):
        smooth = bvb.DensityRegression("y ~ x", new, n_components=1)
    with pytest.raises(DataError, match="kind='density'"):
        smooth.fit(seed=1, draws=50).predict(new[:3], "probability")


def test_an_offset_moves_predictions_along_the_log_odds(data):
    fit = model_of(data, "y ~ x + offset(o)").fit(seed=1, draws=50)
    new = data[:5]
    moved = fit.predict(new.assign(o=new["o"] + 30.0))
    assert (moved > 1.0 - 1e-6).all() and (fit.predict(new) < 1.0).all()
    assert np.isfinite(fit.log_density(new.assign(o=60.0, y=0.0))).all()


def test_a_right_fit_passes_and_its_transforms_are_uniform(fit):
    check = fit.check()
    assert check.attrs["verdict"] == "ok"
    assert {"Mean by x", "Mean by z"} < set(check.index)
    assert kstest(fit.pit(), "uniform").pvalue > 0.01
    found = fit.calibration()
    assert found["observed"].between(found["lower"], found["upper"]).mean() > 0.7


def test_effects_are_of_probabilities_or_of_log_odds(fit):
    of_mean = bvb.effects.comparisons(fit, "x", average_by=True)
    assert "probability of y = 1" in str(of_mean)
    of_link = bvb.effects.comparisons(fit, "x", average_by=True, target="link")
    assert "log odds of y = 1" in str(of_link)
    found = fit.summary().loc[("mean", 1, "x")]
    assert float(of_link.summary["estimate"].iloc[0]) == pytest.approx(found["mean"], abs=1e-9)
    assert found["odds_ratio"] == pytest.approx(np.exp(found["mean"]))
    assert "Odds ratio" in str(fit)
    given = {"contrast": "x", "average_by": True, "ratio": True}
    targets = ("odds", "mean", "link")
    odds, risks, links = (bvb.effects.comparisons(fit, **given, target=t) for t in targets)
    assert "ratio of odds of y = 1 (odds ratio)" in str(odds)
    assert "(risk ratio)" in str(risks) and str(links) == str(odds)
    assert_allclose(np.log(odds.draws), of_link.draws)
    with pytest.raises(DataError, match=r"ratio=True returns b / a, and comparison='lift'"):
        bvb.effects.comparisons(fit, **given, comparison="lift")
    assert float(risks.summary["estimate"].iloc[0]) < float(odds.summary["estimate"].iloc[0])


def test_what_the_family_has_not_is_named(data):
    with pytest.raises(PriorError, match="omit dof"):
        model_of(data, priors=bvb.Priors(dof=4.0))
    with pytest.raises(DataError, match="`y` holds 2, and must be 0 or 1"):
        model_of(data.assign(y=data["y"] + 1.0))


DOGS = (
    "1a80000 1fdf800 1f26500 130a800 1fe0000 1f86800 1f7e000 1fcc000 1f52e09 1eca000 1ff8100 "
    "1f06000 1cb0000 1e90000 1d20000 1fc0000 15d0800 1ea0000 17b8000 1e52800 1c10000 1a80180 "
    "1fc0000 1fe2e40 1fa1400 1a24000 1e80000 1d45000 1e62a80 1e05000"
)
"""Shocks of 30 dogs in 25 trials, as binary digits (Gelman and Hill 2006, section 24.2)."""

VOTES = {1: (30, 128), 2: (69, 207), 3: (144, 366), 4: (196, 404), 5: (38, 74)}
"""Level of income: votes for Bush, and voters, in 1992 (Gelman and Hill 2006, section 5.1)."""


def dogs():
    """Each trial of a dog, with its numbers of avoided and suffered shocks so far."""
    shocks = np.array([[int(digit) for digit in f"{int(dog, 16):025b}"] for dog in DOGS.split()])
    before = np.cumsum(shocks, axis=1) - shocks
    columns = {"y": shocks * 1.0, "shocked": before, "avoided": np.arange(25) - before}
    return "y ~ avoided + shocked", pd.DataFrame({k: v.ravel() for k, v in columns.items()})


def votes():
    """Each voter."""
    every = {k: np.repeat([1.0, 0.0], [bush, n - bush]) for k, (bush, n) in VOTES.items()}
    income = np.repeat(list(every), [len(each) for each in every.values()])
    return "y ~ income", pd.DataFrame({"income": income, "y": np.concatenate([*every.values()])})


@pytest.mark.parametrize(
    ("rows", "mean", "square", "error"),
    [
        (
            dogs,
            [1.8031252, -0.3582653, -0.2106210],
            [3.3045545, 0.1297553, 0.0462471],
            [0.0023837, 0.0003843, 0.0004530],
        ),
        (votes, [-1.4078558, 0.3277645], [2.0181231, 0.1106595], [0.0019191, 0.0005736]),
    ],
)
def test_moments_are_those_of_posteriordb(rows, mean, square, error):
    """Means, mean squares and Monte Carlo errors of ``stan-dev/posteriordb``: dogs-dogs, nes_logit.

    Priors are as good as flat there and here.
    """
    formula, data = rows()
    fit = model_of(data, formula, priors=bvb.Priors(coefficient_sd=100.0)).fit(seed=1, draws=4000)
    found, mean = fit.summary().loc["mean"], np.array(mean)
    sd = np.sqrt(np.array(square) - mean**2)
    assert (np.abs(found["mean"] - mean) < 4.0 * np.array(error) + 0.03 * sd).all()
    assert_allclose(found["sd"], sd, rtol=0.05)


# -- smooth curves, groups of rows, and the report -----------------------------------------------


@pytest.mark.heavy
def test_curves_and_group_effects_are_recovered(rng):
    n = 1500
    x, group = rng.uniform(-2.0, 2.0, n), rng.integers(0, 15, n)
    effect = 0.8 * rng.normal(size=15)
    y = (rng.random(n) < expit(1.5 * np.sin(2.0 * x) + effect[group])).astype(float)
    data = pd.DataFrame({"y": y, "x": x, "g": [f"g{i}" for i in group]})
    fit = model_of(data, "y ~ s(x) + (1 | g)").fit(seed=1, draws=500)
    p = fit.predict(data)
    truth = expit(1.5 * np.sin(2.0 * x) + effect[group])
    assert np.sqrt(np.mean((p - truth) ** 2)) < 0.075  # 24 parameters: 0.057 expected
    assert fit.check().attrs["verdict"] == "ok"


@pytest.mark.heavy
def test_components_of_subjects_are_told_apart(rng):
    subject, x = np.repeat(np.arange(100), 12), rng.normal(size=1200)
    kind = np.arange(100) % 2
    logit = np.where(kind[subject] == 0, 1.5 * x - 0.5, 0.5 - 1.5 * x)
    y = (rng.random(1200) < expit(logit)).astype(float)
    rows = pd.DataFrame({"y": y, "x": x, "subject": subject})
    fit = model_of(rows, "y ~ x | 1", n_components=2, group="subject").fit(seed=1, draws=200)
    likely = fit.responsibilities().to_numpy().argmax(axis=1)
    assert max((likely == kind).mean(), (likely != kind).mean()) > 0.95
    assert fit.covariance == "linear-response"
    assert kstest(fit.pit(), "uniform").pvalue > 0.01


@pytest.mark.heavy
@pytest.mark.parametrize("n_components", [1, 2])
def test_the_report_says_nothing_of_a_density(data, n_components, tmp_path):
    formula = {1: "y ~ s(x) + z", 2: "y ~ x | gating(z)"}[n_components]
    fit = model_of(data, formula, n_components=n_components).fit(seed=1, restarts=2, draws=200)
    page = fit.report(tmp_path / "fit.html").read_text("utf-8")
    page = re.sub("<(style|svg|script).*?</(style|svg|script)>", "", page, flags=re.S)
    said = " ".join(html.unescape(re.sub("<[^>]+>", " ", page)).split())
    said += str(fit) + fit.report_text()
    assert "probability of y = 1" in said
    assert "generalised linear regression" in said and "odds ratio" in said
    for words in ("noise", "σ", "east squares", "PIT value", "CRPS", "standard deviation of y",
                  "median of y", "Smoothed", "C(y)", "average mean"):  # fmt: skip
        assert words not in said, words
