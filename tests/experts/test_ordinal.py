"""Ordinal regressions: against maximum likelihood, exact posteriors, refits and the words."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

import bayesvb as bvb
from bayesvb.errors import DataError, DesignWarning
from bayesvb.factors.normal import Normal

CUTS = np.array([-1.0, 0.3, 1.5])

SLOPES = np.array([0.8, -0.5])


def table(n, seed):
    """Four levels, the log odds of a higher one linear."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    latent = SLOPES @ np.stack([x, z]) + rng.logistic(size=n)
    return pd.DataFrame({"y": 1.0 + np.digitize(latent, CUTS), "x": x, "z": z, "o": 0.5 * x})


def model_of(data, formula="y ~ x + z", **options):
    options = {"n_components": 1, "family": "ordinal", **options}
    return bvb.DensityRegression(formula, data, **options)


LABELS = ["never", "low", "medium", "high"]
"""Not in alphabetical order."""


def labelled(data, **how):
    """The levels as ordered categories, or as text."""
    codes = data["y"].astype(int) - 1
    words = pd.Categorical.from_codes(codes, LABELS, ordered=True)
    return data.assign(y=words.astype(object) if how.get("text") else words)


@pytest.mark.parametrize(("family", "law"), [("ordinal", "logit"), ("ordinal-probit", "probit")])
def test_estimates_are_those_of_maximum_likelihood(data, family, law):
    """Slopes, and thresholds with their standard errors by the observed information."""
    ordinal = pytest.importorskip("statsmodels.miscmodels.ordinal_model")
    model_here = model_of(data, family=family)
    fit = model_here.fit(seed=1, draws=4000)
    most = model_here.fit("em", prior=False, seed=1, draws=50, tol=1e-10).summary()
    model = ordinal.OrderedModel(data["y"], data[["x", "z"]], distr=law)
    exact = model.fit(method="newton", disp=0)
    cuts = model.transform_threshold_params(exact.params.to_numpy())[1:-1]
    steps = np.zeros((5, 5))
    steps[:2, :2], steps[2:, 2] = np.eye(2), 1.0  # thresholds in the log increments
    for j in (1, 2):
        steps[2 + j :, 2 + j] = np.exp(exact.params.iloc[2 + j])
    se = np.sqrt(np.diag(steps @ exact.cov_params().to_numpy() @ steps.T))
    found = fit.summary()
    slopes = found.loc["mean"].iloc[1:]
    at = found.loc["threshold"]
    assert (np.abs(slopes["mean"].to_numpy() - exact.params[:2]) < 0.1 * se[:2]).all()
    assert (np.abs(at["mean"].to_numpy() - cuts) < 0.12 * se[2:]).all()
    assert_allclose([*slopes["sd"], *at["sd"]], se, rtol=0.05)
    assert_allclose(most.loc["mean"]["mean"].iloc[1:], exact.params[:2], rtol=1e-4)
    assert_allclose(most.loc["threshold"]["mean"], cuts, rtol=1e-4, atol=1e-5)
    assert_allclose(most.loc["mean"]["sd"].iloc[1:], se[:2], rtol=1e-4)
    assert most.loc["threshold"]["sd"].iloc[0] == pytest.approx(se[2], rel=1e-4)


def test_standard_deviations_are_those_of_importance_sampling(rng):
    """Thresholds as well, whose increments are at a point where the ELBO is computed."""
    model = model_of(table(60, 3), priors=bvb.Priors(coefficient_sd=2.5))
    fit = model.fit(seed=1, draws=4000, tol=1e-9)
    block, experts = model.source.whole(), model.core.experts
    names = ("coefficients", "increments")
    every = np.column_stack([fit.draws[name].reshape(4000, -1) for name in names])
    centre, root = every.mean(axis=0), 1.2 * np.linalg.cholesky(np.cov(every.T))
    scale = np.sqrt(8.0 / rng.chisquare(8.0, 20_000))
    t = scale[:, None] * rng.normal(size=(20_000, 5))
    values = centre + t @ root.T
    draws = {"coefficients": values[:, None, None, :3], "increments": values[:, None, 3:]}
    log_q = -6.5 * np.log1p((t**2).sum(axis=1) / 8.0)
    log_p = experts.log_lik(draws, block).sum(axis=(1, 2)) + experts.log_density(None, draws)
    weight = np.exp(log_p - log_q - (log_p - log_q).max())
    weight /= weight.sum()
    mean = weight @ values
    sd = np.sqrt(weight @ (values - mean) ** 2)
    assert_allclose(every.std(axis=0) / sd, 1.0, atol=0.08)
    assert (np.abs(centre - mean) < 0.2 * sd).all()  # the point of the increments is a mode


COPENHAGEN = """21 21 28 34 22 36 10 11 36 61 23 17 43 35 40 26 18 54 13 9 10 8 8 12 6 7 9 18 6 7 15
13 13 7 5 11 14 19 37 17 23 40 3 5 23 78 46 43 48 45 86 15 25 62 20 23 20 10 22 24 7 10 21 57 23 13
31 21 13 5 6 13"""
"""Numbers of people by satisfaction, then influence, type and contact: MASS::housing of R."""


def housing():
    """Satisfaction of residents of Copenhagen (Madsen, 1976; Venables and Ripley, section 7.3)."""
    low, types = ["Low", "Medium", "High"], ["Tower", "Apartment", "Atrium", "Terrace"]
    cells = list(product(["Low", "High"], types, low, low))
    data = pd.DataFrame(cells, columns=["Cont", "Type", "Infl", "Sat"])
    levels = {"Cont": ["Low", "High"], "Type": types, "Infl": low, "Sat": low}
    for name, order in levels.items():
        data[name] = pd.Categorical(data[name], order, ordered=name == "Sat")
    return data.assign(n=np.array(COPENHAGEN.split(), dtype=float))


def test_satisfaction_in_copenhagen_is_that_of_polr():
    """Estimates and standard errors of MASS 7.3 in R 4.2: polr(Sat ~ Infl + Type + Cont)."""
    slopes = np.array([0.56639, 1.28882, -0.57235, -0.36619, -1.09101, 0.36028])
    errors = np.array([0.10465, 0.12716, 0.11924, 0.15517, 0.15149, 0.09554])
    data, formula = housing(), "Sat ~ Infl + Type + Cont"
    found = model_of(data, formula, weights="n").fit(seed=1).summary()
    ours = found.loc["mean"].iloc[1:]
    assert (np.abs(ours["mean"] - slopes) < 0.1 * errors).all()
    assert_allclose(ours["sd"], errors, rtol=0.05)
    at = found.loc[("threshold", 1)]
    assert list(at.index) == ["Low|Medium", "Medium|High"]
    assert_allclose(at["mean"], [-0.49614, 0.69071], atol=0.0125)
    apart = np.arange(1, 73) % 5 == 0  # held out; polr: -1.086851 per person
    part = model_of(data[~apart], formula, weights="n").fit(seed=1, draws=50)
    score = part.log_density(data[apart])
    assert np.average(score, weights=data["n"][apart]) > -1.086851 - 0.001


@pytest.mark.heavy
def test_rows_left_out_are_those_of_refits(assert_as_refits):
    fit = model_of(table(60, 5)).fit(seed=1, draws=50, tol=1e-9)
    assert_as_refits(fit, 0.005, 0.03)


def test_predictions_are_probabilities_of_the_levels(fit):
    new = table(200, 2)
    mass = fit.predict(new, "probability", at=[1, 2, 3, 4])
    assert_allclose(mass.sum(axis=1), 1.0)
    beyond = expit((SLOPES @ new[["x", "z"]].to_numpy().T)[:, None] - CUTS)
    ends = np.column_stack([np.ones(200), beyond, np.zeros(200)])
    assert_allclose(mass, -np.diff(ends, axis=1), atol=0.12)
    assert_allclose(fit.predict(new), mass @ np.arange(1.0, 5.0))
    found = fit.predict(new, "quantile", q=0.5)
    assert set(found.unique()) <= {1.0, 2.0, 3.0, 4.0}
    assert (fit.predict(new, "cdf", at=found) >= 0.5).all()


def test_draws_of_thresholds_are_ordered(fit):
    at = fit.posterior["threshold"].to_numpy()
    assert (np.diff(at, axis=-1) > 0.0).all()


def test_thresholds_are_sums_of_log_normal_distances(fit):
    mean, covariance = np.array([0.1, -0.4]), np.array([[0.2, -0.05], [-0.05, 0.3]])
    law = Normal.from_precision(mean[None], np.linalg.inv(covariance)[None])
    steps = np.exp(mean + 0.5 * np.diagonal(covariance))
    products = np.outer(steps, steps) * np.expm1(covariance)
    at, variance = fit.core.experts._threshold_moments(law)
    assert_allclose(at, [[0.0, steps[0], steps.sum()]], rtol=1e-12)
    assert_allclose(variance, [[0.0, products[0, 0], products.sum()]], rtol=1e-12)


def test_effects_are_of_the_levels():
    fit = model_of(labelled(table(60, 6))).fit(seed=1, draws=50)
    assert str(fit).startswith("Ordinal regression")

    def change(**options):
        return bvb.effects.comparisons(fit, "x", average_by=True, **options)

    each = change(target="probability").summary
    assert list(each["level"]) == LABELS
    assert_allclose(each["estimate"].sum(), 0.0, atol=1e-9)
    highest = change(target="density", at="high")
    assert highest.words == "P(y = high)"
    assert_allclose(highest.summary["estimate"], each["estimate"].iloc[-1])
    moved = fit.influence()
    assert moved["leverage"].isna().all() and (moved["cooks_distance"] > 0.0).all()
    beyond = change(target="probability", above="medium")
    assert_allclose(beyond.summary["estimate"], highest.summary["estimate"])


@pytest.mark.parametrize("family", ["ordinal", "ordinal-probit", "sequential"])
def test_effects_on_the_link_are_coefficients(data, family):
    fit = model_of(data, family=family).fit(seed=1, draws=50)
    slope = np.ravel(fit.posterior["beta"].sel(term_mean="x"))
    change = bvb.effects.comparisons(fit, {"x": [0, 1]}, average_by=True, target="link")
    assert_allclose(np.ravel(change.draws), slope, rtol=1e-6)
    scale = "probit" if family == "ordinal-probit" else "log odds"
    assert change.words == f"{scale} of y above its lowest level"
    if scale == "probit":
        with pytest.raises(DataError, match="target='odds'"):
            bvb.effects.comparisons(fit, "x", target="odds")
        with pytest.raises(DataError, match="ratios of probits"):
            bvb.effects.comparisons(fit, "x", target="link", ratio=True)
        return
    ratio = bvb.effects.comparisons(fit, {"x": [0, 1]}, data=data[:1], target="odds", ratio=True)
    assert_allclose(np.ravel(ratio.draws), np.exp(slope), rtol=1e-6)


def test_an_offset_shifts_the_log_odds(data):
    shifted = model_of(data, "y ~ x + z + offset(o)").fit(seed=1, draws=50, tol=1e-9)
    plain = model_of(data).fit(seed=1, draws=50, tol=1e-9)
    change = plain.q.experts.coefficients.mean - shifted.q.experts.coefficients.mean
    scale = data["x"].std(ddof=0)
    assert change[0, 1] == pytest.approx(0.5 * scale, abs=0.01)


def test_errors_say_what_to_do(data):
    with pytest.raises(DataError, match="holds fractions, and this model needs ordered levels"):
        model_of(data.assign(y=data["y"].where(data.index != 3, 2.5)))
    with pytest.raises(DataError, match="`y` has 2 levels, and an ordinal regression needs three"):
        model_of(data.assign(y=data["y"].clip(upper=2.0)))
    with pytest.raises(DataError, match="not identified"):
        model_of(data, n_components=2)
    with pytest.raises(DataError, match="needs the intercept"):
        model_of(data, "y ~ 0 + x")
    text = labelled(data, text=True)
    with pytest.raises(DataError, match="holds text without an order") as raised:
        model_of(text)
    assert "levels=[...]" in str(raised.value)
    with pytest.raises(DataError, match="holds categories without an order"):
        model_of(text.astype({"y": "category"}))
    with pytest.raises(DataError, match="lacks 'never', which `y` holds"):
        model_of(text, levels=LABELS[1:])
    with pytest.raises(DataError, match="has 'low' twice"):
        model_of(text, levels=[*LABELS, "low"])
    with pytest.raises(DataError, match="family='gaussian' has no levels"):
        model_of(data, levels=[1, 2, 3, 4], family="gaussian")
    with pytest.raises(DataError, match="family='ordinal' describes them"):
        model_of(labelled(data), family="gaussian")


def as_polars(data):
    polars = pytest.importorskip("polars")
    return polars.DataFrame(
        {"y": polars.Series(list(data["y"]), dtype=polars.Enum(LABELS))}
        | {name: data[name].to_numpy() for name in "xz"}
    )


@pytest.mark.parametrize(
    ("made", "options"),
    [
        (labelled, {}),
        (lambda data: as_polars(labelled(data)), {}),
        (lambda data: labelled(data, text=True), {"levels": LABELS}),
        (lambda data: data.assign(y=data["y"].astype(int) * 2 + 1), {}),
    ],
    ids=["ordered categories", "polars enum", "text", "other numbers"],
)
def test_levels_are_those_of_their_numbers(made, options):
    """However the levels are written: the fit is the same."""
    data = table(60, 6)
    plain, other = model_of(data), model_of(made(data), **options)
    each = [model.fit(seed=1, draws=50, max_iter=20) for model in (plain, other)]
    assert each[0].elbo == each[1].elbo


def test_labels_are_shown_and_understood(tmp_path):
    data = labelled(table(60, 6))
    fit = model_of(data).fit(seed=1, draws=50)
    cuts = ["never|low", "low|medium", "medium|high"]
    assert list(fit.summary().loc[("threshold", 1)].index) == cuts
    mass = fit.predict(data, "probability")
    assert list(mass.columns) == LABELS
    assert_allclose(fit.predict(data, "cdf", at="medium"), 1.0 - mass["high"])
    assert_allclose(fit.predict(data, "density", at=data["y"]), np.exp(fit.log_density(data)))
    middle = fit.predict(data, "quantile", q=0.5)
    assert middle.dtype == data["y"].dtype
    assert (fit.predict(data, "cdf", at=middle) >= 0.5).all()
    with pytest.raises(DataError, match="at='seldom' is not a level of the response"):
        fit.predict(data, "density", at="seldom")
    fit.save(tmp_path / "fit.nc")
    again = bvb.load(tmp_path / "fit.nc")
    text = data[:5].astype({"y": object})
    assert_allclose(again.log_density(text), fit.log_density(text))
    with pytest.raises(DataError, match="has levels that are not in the data of the fit: 'seldom'"):
        fit.log_density(text.assign(y="seldom"))


def test_whole_numbers_stand_for_themselves():
    data = table(60, 6)
    plain, other = (
        model_of(data.assign(y=data["y"] + shift)).fit(seed=1, draws=50) for shift in (0, 2)
    )
    assert_allclose(other.predict(data), plain.predict(data) + 2.0)
    assert list(other.predict(data[:2], "probability").columns) == [3, 4, 5, 6]
    assert set(other.predict(data, "quantile", q=0.5)) <= {3.0, 4.0, 5.0, 6.0}
    assert other.summary().loc[("threshold", 1)].index[0] == "3|4"


def test_levels_without_rows_are_left_out_with_a_warning():
    data = labelled(table(60, 6)).query("y != 'low'")
    with pytest.warns(DesignWarning, match="no row of `y` has the level 'low'"):
        model = model_of(data)
    assert model.design.order.labels == ("never", "medium", "high")


@pytest.mark.parametrize("text", [True, False], ids=["text", "dictionary"])
def test_rows_of_a_file_are_those_of_a_table(tmp_path, text):
    data = labelled(table(60, 6), text=text)
    data.to_parquet(tmp_path / "rows.parquet", row_group_size=20)
    options = {"levels": LABELS} if text else {}
    streamed = model_of(tmp_path / "rows.parquet", **options).fit(seed=1, draws=50)
    whole = model_of(data, **options).fit(seed=1, draws=50)
    assert_allclose(streamed.elbo, whole.elbo, rtol=1e-9)
