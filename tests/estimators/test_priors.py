"""Priors: what they say in the units of the data, and that they do not distort."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

import bayesvb as bvb
from bayesvb.errors import PriorError
from bayesvb.estimators.default_priors import default_priors
from bayesvb.estimators.rebuilding import rebuilt
from bayesvb.evaluation.elpd import read_elpd
from bayesvb.gates import GATES
from bayesvb.results.prior_sensitivity import numbers

NUMBERS = list(numbers(default_priors("gaussian", 1)))


FIXED = bvb.Priors(scales="fixed", coefficient_sd=10.0, coefficient_units="noise")
"""With learned scales one component is no longer known in closed form."""


def least_squares(data, formula_columns):
    """Coefficients and unbiased noise of a regression with intercept."""
    x = np.column_stack([np.ones(len(data)), data[formula_columns]])
    beta, *_ = np.linalg.lstsq(x, data["y"], rcond=None)
    noise = np.sqrt(((data["y"] - x @ beta) ** 2).sum() / (len(data) - x.shape[1]))
    return beta, noise


# -- one component is Bayesian linear regression, which has an exact answer ----------------------


@pytest.fixture(scope="module")
def line():
    rng = np.random.default_rng(5)
    x, z = 30.0 + 4.0 * rng.normal(size=60), rng.exponential(size=60)
    return pd.DataFrame({"x": x, "z": z, "y": 1e3 - 7.0 * x + 20.0 * z + 9.0 * rng.normal(size=60)})


def evidence(data, priors):
    """Density of the responses in their units: a multivariate t."""
    columns = data[["x", "z"]].to_numpy()
    standard = (columns - columns.mean(axis=0)) / columns.std(axis=0)
    x = np.column_stack([np.ones(len(data)), standard])
    unit = data["y"].std(ddof=0)
    shape = np.eye(len(data)) + priors.coefficient_sd**2 * x @ x.T
    shape *= unit**2 * priors.noise_rate / priors.noise_shape
    return np.full(len(data), data["y"].mean()), shape, 2.0 * priors.noise_shape


def log_evidence(data, priors, kept=slice(None)):
    centre, shape, dof = evidence(data, priors)
    rows = np.arange(len(data))[kept]
    return stats.multivariate_t(centre[rows], shape[np.ix_(rows, rows)], dof).logpdf(
        data["y"].to_numpy()[rows]
    )


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("priors", [FIXED, replace(FIXED, coefficient_sd=0.5, noise_shape=3.0)])
def test_one_component_has_the_exact_evidence(line, gate, priors):
    model = bvb.DensityRegression("y ~ x + z", line, n_components=1, gate=gate, priors=priors)
    fit = model.fit(seed=1, restarts=1, draws=100)
    assert fit.elbo == pytest.approx(log_evidence(line, priors), abs=1e-8)
    if gate == "dirichlet":  # one parameter less: nothing about the gate is unknown
        assert np.isnan(fit.khat)


def test_one_component_has_the_exact_posterior(line):
    priors = replace(FIXED, coefficient_sd=0.5)
    fit = bvb.DensityRegression("y ~ x + z", line, n_components=1, priors=priors).fit(
        seed=1, restarts=1, draws=4000
    )
    columns, y = line[["x", "z"]].to_numpy(), line["y"].to_numpy()
    spread = columns.std(axis=0)
    x = np.column_stack([np.ones(60), (columns - columns.mean(axis=0)) / spread])
    standard = np.linalg.solve(x.T @ x + np.eye(3) / 0.25, x.T @ (y - y.mean()))
    slopes = standard[1:] / spread
    intercept = y.mean() + standard[0] - slopes @ columns.mean(axis=0)
    mean = fit.summary().loc["mean"]
    error = mean["sd"].to_numpy() / np.sqrt(4000)
    assert (np.abs(mean["mean"].to_numpy() - [intercept, *slopes]) < 4.0 * error).all()
    new = pd.DataFrame({"x": [10.0, 35.0], "z": [0.0, 9.0]})
    assert_allclose(fit.predict(new), intercept + new.to_numpy() @ slopes, rtol=1e-10)


def test_one_component_has_the_exact_leave_one_out_densities(line):
    fit = bvb.DensityRegression("y ~ x + z", line, n_components=1, priors=FIXED).fit(
        seed=1, restarts=1, draws=4000
    )
    whole = log_evidence(line, fit.model.priors)
    rows = np.arange(len(line))
    exact = np.array([whole - log_evidence(line, fit.model.priors, rows != i) for i in rows])
    table = read_elpd(fit.loo()).pointwise
    assert_allclose(table, exact, atol=0.1)
    assert table.sum() == pytest.approx(exact.sum(), abs=0.15)


# -- they do not distort -------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_a_noise_of_a_twentieth_of_the_response_is_kept(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=100)
    data = pd.DataFrame({"x": x, "y": x + 0.05 * rng.normal(size=100)})
    fit = bvb.DensityRegression("y ~ x", data, n_components=1).fit(seed=1, restarts=1)
    noise = least_squares(data, ["x"])[1]
    assert noise / data["y"].std() == pytest.approx(0.05, rel=0.2)
    assert fit.summary().loc[("sigma", 1, ""), "mean"] == pytest.approx(noise, rel=0.1)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("gate", ["softmax", "stick-breaking"])
@pytest.mark.quick(gate=("softmax",), seed=(0,))
def test_a_noise_of_a_twentieth_is_kept_by_each_of_two_experts(seed, gate):
    rng = np.random.default_rng(seed)
    x = np.linspace(-2.0, 2.0, 200)
    first = np.arange(200) % 2 == 0
    y = np.where(first, 1.0, -1.0) + np.where(first, 0.4, -0.3) * x
    y = y / y.std() + 0.05 * rng.normal(size=200)
    data = pd.DataFrame({"x": x, "y": y})
    fit = bvb.DensityRegression("y ~ x", data, n_components=2, gate=gate).fit(seed=1, restarts=3)
    found = fit.summary()["mean"]
    upper = 1 if found["mean", 1, "Intercept"] > 0 else 2
    for rows, component in ((first, upper), (~first, 3 - upper)):
        beta, noise = least_squares(data[rows], ["x"])
        assert found["sigma", component, ""] == pytest.approx(noise, rel=0.1)
        assert_allclose(found["mean"].loc[component], beta, atol=0.01)


@pytest.mark.parametrize("seed", range(3))
def test_a_slope_of_five_deviations_is_kept(seed):
    """Two covariates that nearly cancel: only so is such a slope possible."""
    rng = np.random.default_rng(seed)
    common, own = rng.normal(size=(2, 200))
    a, b = common + 0.1 * own, common - 0.1 * own
    y = (5.0 * (a - b)) / (5.0 * (a - b)).std() + 0.05 * rng.normal(size=200)
    data = pd.DataFrame({"a": a, "b": b, "y": y})
    fit = bvb.DensityRegression("y ~ a + b", data, n_components=1).fit(seed=1, restarts=1)
    beta, _ = least_squares(data, ["a", "b"])
    assert abs(beta[1] * data["a"].std() / data["y"].std()) > 4.5
    location = fit.predictive(pd.DataFrame({"a": [0.0, 1.0, 0.0], "b": [0.0, 0.0, 1.0]})).location
    assert_allclose(location[0, 1:] - location[0, 0], beta[1:], rtol=0.01)


# -- what they say in the units of the data ------------------------------------------------------


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("formula", ["y ~ x + z", "y ~ 0 + x + z | gating(0 + x)"])
def test_the_table_is_that_of_draws_from_the_prior(line, gate, formula, rng):
    model = bvb.DensityRegression(formula, line, n_components=2, gate=gate, priors=FIXED)
    table = model.prior_table()
    assert list(table) == ["prior", "location", "scale"]
    prior, n = model.core.experts.prior, 40_000
    coefficients, precision = prior.draws(n, rng)
    drawn = {"coefficients": coefficients[:, None], "precision": precision[:, None]}
    beta, _ = model.core.experts.parameters(drawn, model._units)
    given = beta.values[:, 0]
    dof = 2.0 * model.priors.noise_shape
    for number, term in enumerate(model.design.terms["mean"]):
        centre, scale = table.loc[("mean", term), ["location", "scale"]]
        assert table.loc[("mean", term), "prior"] == f"Student t({dof:g})"
        for prob in (0.1, 0.25, 0.5, 0.75, 0.9):
            expected = stats.t.cdf((np.quantile(given[:, number], prob) - centre) / scale, dof)
            assert expected == pytest.approx(prob, abs=0.012)
    unit = model.scales.response.scale[0]
    typical = unit * precision.mean() ** -0.5
    assert table.loc[("sigma", ""), "location"] == pytest.approx(typical, rel=0.03)
    if gate == "dirichlet":
        assert table.loc[("gating", ""), "prior"] == "Dirichlet(1)"


def test_a_model_as_given_is_not_standardised(line):
    priors = replace(FIXED, standardize=False, coefficient_sd=50.0, noise_rate=10.0)
    model = bvb.DensityRegression("y ~ x", line, n_components=1, priors=priors)
    (block,) = model.source.blocks
    assert_array_equal(block.response[0], line["y"])
    assert_array_equal(block.designs["mean"][1], line["x"])
    table = model.prior_table()
    assert_allclose(table.loc["mean", "location"], 0.0)
    assert_allclose(table.loc["mean", "scale"], 50.0 * np.sqrt(10.0 / 0.5))
    fit = model.fit(seed=1, restarts=1, draws=30)
    x = np.column_stack([np.ones(60), line["x"]])
    shape = (np.eye(60) + 50.0**2 * x @ x.T) * 20.0
    exact = stats.multivariate_t(np.zeros(60), shape, 1.0).logpdf(line["y"])
    assert fit.elbo == pytest.approx(exact, abs=1e-5)


# -- group-level effects of several components ---------------------------------------------------


def clusters(n_groups, size=16, seed=0, effect=0.0):
    """Two components, a treatment of groups, and effects of groups that the components share."""
    rng = np.random.default_rng(seed)
    g = np.repeat(np.arange(n_groups), size)
    treated = (np.arange(n_groups) % 2)[rng.permutation(n_groups)][g]
    x, second = rng.normal(size=len(g)), rng.random(len(g)) < 0.4
    y = 3.0 * second + effect * treated + 0.5 * x + 0.5 * rng.normal(size=n_groups)[g]
    y += np.where(second, 0.8, 0.5) * rng.normal(size=len(g))
    return pd.DataFrame({"y": y, "x": x, "treated": treated, "g": [f"g{i}" for i in g]})


@pytest.mark.parametrize("text", ["y ~ x + treated + (1 | g)", "y ~ x + (x | g) | x"])
def test_group_effects_scatter_around_common_ones(text):
    model = bvb.DensityRegression(text, clusters(8), n_components=2)
    common, terms = model.core.common, np.array(model.design.terms["mean"])
    of_groups = np.char.startswith(terms[common.places], "(")
    assert len(common.places) == len(terms) - 1
    assert_array_equal(common.wide, ~of_groups)
    parts = model.prior_table().index.get_level_values("part")
    assert {"between components", "common scale"} <= set(parts)


def test_very_many_groups_have_no_common_part():
    for text in ("y ~ x + (1 | g)", "y ~ x | x + (1 | g)"):
        parts = [bvb.DensityRegression(text, clusters(n, 2)).core.common for n in (90, 110)]
        assert parts[0] is not None
        assert parts[1] is None


@pytest.mark.parametrize(
    "options", [{"n_components": 1}, {"n_components": 2}, {"n_components": 1, "family": "student"}]
)
def test_group_effects_are_columns_up_to_the_same_number_in_every_model(options):
    designs = [
        bvb.DensityRegression("y ~ x + (1 | g)", clusters(n, 2), **options).design
        for n in (90, 110)
    ]
    assert [design.groups is None for design in designs] == [True, False]


# -- defaults that depend on the model ------------------------------------------------------------


@pytest.mark.parametrize("family", ["bernoulli", "poisson", "negbinomial", "gamma", "weibull"])
@pytest.mark.parametrize("size", [1, 2])
def test_one_number_leaves_the_others_at_the_default_of_the_model(family, size):
    data = pd.DataFrame({"y": [1.0, 0.0, 1.0, 1.0] * 3, "x": range(12), "g": range(12)})
    data["y"] += 1.0 if family in ("gamma", "weibull") else 0.0
    options = {"family": family, "n_components": size, "group": "g"}
    model = bvb.DensityRegression("y ~ x", data, priors=bvb.Priors(gating_sd=1.0), **options)
    plain = bvb.DensityRegression("y ~ x", data, **options)
    assert model.priors == replace(plain.priors, gating_sd=1.0)
    assert (plain.priors.coefficient_sd, plain.priors.scale_rate) == {
        1: (10.0, 0.1),
        2: (2.5, 0.1),
    }[size]
    shown = model.prior_table().loc["mean"]
    pd.testing.assert_frame_equal(shown, plain.prior_table().loc["mean"])


def test_defaults_follow_the_number_of_components(rng):
    data = pd.DataFrame({"y": rng.poisson(3.0, 30).astype(float), "x": rng.normal(size=30)})
    priors = bvb.Priors(gating_sd=1.0)
    model = bvb.DensityRegression("y ~ x", data, n_components=2, family="poisson", priors=priors)
    for one in (rebuilt(model, n_components=1), model.resized(1)):
        assert one.priors == replace(default_priors("poisson", 1), gating_sd=1.0)


def test_scales_of_groups_have_a_rate_of_their_own(rng):
    data = pd.DataFrame({"x": rng.normal(size=60), "g": np.arange(60) % 6})
    data["y"] = rng.poisson(np.exp(1.0 + 0.2 * rng.normal(size=6)[data["g"]])).astype(float)
    sds = []
    for rate in (0.02, 0.4):
        priors = bvb.Priors(group_scale_rate=rate)
        options = {"family": "poisson", "n_components": 1, "priors": priors}
        model = bvb.DensityRegression("y ~ s(x) + (1 | g)", data, **options)
        shown = model.prior_table().loc["scale", "prior"]
        assert shown["s(x)"] == "1/scale^2 ~ Gamma(0.5, 0.1)"
        assert shown["(1 | g)"] == f"1/scale^2 ~ Gamma(0.5, {rate})"
        sds.append(model.fit(seed=1).variance_components()["estimate"].iloc[0])
    assert sds[1] > 1.3 * sds[0]


# -- what they cannot be -------------------------------------------------------------------------


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", [0.0, -1.0, np.inf, np.nan])
def test_a_number_must_be_positive_and_finite(name, value):
    with pytest.raises(PriorError, match=rf"{name}={value!r} must be a positive.*\nhint: "):
        bvb.Priors(**{name: value})


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_that_no_double_holds_is_refused(name):
    with pytest.raises(PriorError, match=rf"{name}={10**400!r} must be a positive.*\nhint: "):
        bvb.Priors(**{name: 10**400})


@pytest.mark.parametrize("value", ["1", None, True, [1.0]])
def test_a_number_must_be_a_number(value, unchecked):
    with pytest.raises(PriorError, match=r"gating_sd=.* must be a number"):
        bvb.Priors(gating_sd=value)


@pytest.mark.parametrize("value", [1, None, "yes"])
def test_standardize_is_a_truth_value(value, unchecked):
    with pytest.raises(PriorError, match=f"standardize={value!r} must be True or False"):
        bvb.Priors(standardize=value)


def test_priors_are_not_a_dict(line, unchecked):
    with pytest.raises(PriorError, match=r"priors=\{.*\nhint: .*Priors\(coefficient_sd="):
        bvb.DensityRegression("y ~ x", line, priors={"gating_sd": 1.0})


@pytest.mark.parametrize("value", [np.int64(2), np.float32(2.0), np.float64(2.0)])
def test_numbers_of_numpy_are_numbers(value, line, unchecked, tmp_path):
    priors = bvb.Priors(noise_shape=value)
    assert priors == bvb.Priors(noise_shape=2.0)
    assert type(vars(priors)["noise_shape"]) in (float, np.float64)
    fit = bvb.DensityRegression("y ~ x", line, n_components=1, priors=priors).fit(
        seed=1, restarts=1, draws=25, covariance="mean-field"
    )
    assert bvb.load(fit.save(tmp_path / "fit.nc")).model.priors == fit.model.priors
