"""EM against least squares, logistic regression, a plain EM, direct maximisation and flexmix."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit, log_expit
from scipy.stats import norm
from statsmodels.tools.numdiff import approx_hess

import bayesvb as bvb
from bayesvb.engines import ENGINES
from bayesvb.errors import ConvergenceWarning, DataError

SHARP = {"tol": 1e-11, "seed": 1, "restarts": 3, "draws": 100}
"""Options of fits that are compared to many digits."""

LIKELIHOOD = {"prior": False, **SHARP}

GATES = ["softmax", "softmax-jensen", "stick-breaking"]


def rows(n=200, seed=0):
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    first = rng.uniform(size=n) < expit(0.3 + z)
    y = np.where(first, 2.0 + x, -0.5 - x) + np.where(first, 0.5, 0.8) * rng.normal(size=n)
    return pd.DataFrame({"x": x, "z": z, "y": y})


@pytest.fixture(scope="module")
def data():
    return rows()


@pytest.fixture(scope="module", params=GATES)
def fit(request, data):
    model = bvb.DensityRegression("y ~ x | gating(z)", data, n_components=2, gate=request.param)
    return model.fit("em", **LIKELIHOOD)


def of_experts(vector):
    """Lines, logarithms of the noise and gate from one vector."""
    return vector[:4].reshape(2, 2), vector[4:6], vector[6:8]


def by_component(vector, data):
    """Log of weight times density of both components at every row."""
    lines, log_sd, gate = of_experts(vector)
    design = np.column_stack([np.ones(len(data)), data["x"]])
    density = norm.logpdf(data["y"].to_numpy()[:, None], design @ lines.T, np.exp(log_sd))
    logit = gate[0] + gate[1] * data["z"].to_numpy()
    return density + np.column_stack([log_expit(logit), log_expit(-logit)])


def log_lik(vector, data):
    return float(np.logaddexp.reduce(by_component(vector, data), axis=1).sum())


def by_hand(data):
    """Maximum of the likelihood by scipy; component 1 is the one that rises."""
    start = np.array([2.0, 1.0, -0.5, -1.0, np.log(0.5), np.log(0.8), 0.3, 1.0])
    found = minimize(lambda v: -log_lik(v, data), start, method="BFGS", options={"gtol": 1e-7})
    return found.x


def plain_em(data, n_steps=400):
    """EM as in a textbook: weighted least squares, and Newton's steps for the gate."""
    design = np.column_stack([np.ones(len(data)), data["x"]])
    gates = np.column_stack([np.ones(len(data)), data["z"]])
    y = data["y"].to_numpy()
    vector = np.array([2.0, 1.0, -0.5, -1.0, -0.5, -0.5, 0.0, 0.0])
    for _ in range(n_steps):
        terms = by_component(vector, data)
        weight = np.exp(terms - np.logaddexp.reduce(terms, axis=1)[:, None])
        lines, log_sd = np.empty((2, 2)), np.empty(2)
        for k, w in enumerate(weight.T):
            lines[k] = np.linalg.solve(design.T * w @ design, design.T @ (w * y))
            log_sd[k] = 0.5 * np.log(w @ (y - design @ lines[k]) ** 2 / w.sum())
        gate = of_experts(vector)[2]
        for _ in range(8):
            p = expit(gates @ gate)
            information = gates.T * (p * (1.0 - p)) @ gates
            gate = gate + np.linalg.solve(information, gates.T @ (weight[:, 0] - p))
        vector = np.concatenate([lines.ravel(), log_sd, gate])
    return vector


def vector_of(fit):
    """Estimates in the order of ``of_experts``, the rising component first."""
    table = fit.summary()["mean"]
    order = [1, 2] if table["mean", 1, "x"] > 0.0 else [2, 1]
    lines = [table["mean", k, term] for k in order for term in ("Intercept", "x")]
    log_sd = [np.log(table["sigma", k, ""]) for k in order]
    labelled = fit.summary().loc["gating"].index[0][0]
    softmax = "softmax" in fit.model.gate
    rising = labelled == order[0]
    sign = 1.0 if rising else -1.0
    gate = [sign * table["gating", labelled, term] for term in ("Intercept", "z")]
    assert softmax or labelled in (1, 2)
    return np.array([*lines, *log_sd, *gate])


# One component


def test_one_component_is_least_squares(data):
    fit = bvb.DensityRegression("y ~ x + z", data, n_components=1).fit("em", **LIKELIHOOD)
    table = fit.summary().loc["mean"]
    ols = sm.OLS(data["y"], sm.add_constant(data[["x", "z"]])).fit()
    assert_allclose(table["mean"], ols.params, rtol=1e-8)
    # maximum likelihood divides by n, least squares by what is left of n
    assert_allclose(table["sd"], ols.bse * np.sqrt(ols.df_resid / ols.nobs), rtol=1e-6)
    assert fit.elbo == pytest.approx(ols.llf, abs=1e-6)
    sigma = fit.summary().loc["sigma", "mean"].iloc[0]
    assert sigma == pytest.approx(np.sqrt(ols.ssr / ols.nobs), rel=1e-8)


def test_criteria_are_those_of_the_likelihood(data):
    fit = bvb.DensityRegression("y ~ x + z", data, n_components=1).fit("em", **LIKELIHOOD)
    ols = sm.OLS(data["y"], sm.add_constant(data[["x", "z"]])).fit()
    assert fit.findings["parameters"] == 4.0
    aic, bic = ols.aic + 2.0, ols.bic + np.log(ols.nobs)  # the noise is a parameter here
    first, size = str(fit).splitlines()[0], f"(4 parameters, AIC {aic:,.1f}, BIC {bic:,.1f})"
    assert first == "Gaussian linear regression, maximum likelihood estimates (EM)"
    assert f"log likelihood {ols.llf:,.1f} {size}" in str(fit)
    assert "ELBO" not in str(fit)


def test_the_likelihood_does_not_depend_on_the_units(data):
    scaled = data.assign(y=1000.0 * data["y"] + 7.0)
    one, other = (
        bvb.DensityRegression("y ~ x", rows, n_components=1).fit("em", **LIKELIHOOD)
        for rows in (data, scaled)
    )
    assert one.elbo - other.elbo == pytest.approx(len(data) * np.log(1000.0), abs=1e-5)


# Two components


def test_it_is_the_maximum_of_the_likelihood(fit, data):
    best = by_hand(data)
    assert fit.elbo == pytest.approx(log_lik(best, data), abs=1e-6)
    assert_allclose(vector_of(fit), best, atol=1e-4)


@pytest.mark.heavy
def test_it_agrees_with_a_plain_em(fit, data):
    found = plain_em(data)
    assert fit.elbo == pytest.approx(log_lik(found, data), abs=1e-6)
    assert_allclose(vector_of(fit), found, atol=1e-4)


def test_standard_errors_are_those_of_the_observed_information(fit, data):
    hessian = approx_hess(vector_of(fit), log_lik, args=(data,))
    errors = np.sqrt(np.diag(np.linalg.inv(-hessian)))
    table = fit.summary()["sd"]
    order = [1, 2] if fit.summary()["mean"]["mean", 1, "x"] > 0.0 else [2, 1]
    lines = [table["mean", k, term] for k in order for term in ("Intercept", "x")]
    assert_allclose(lines, errors[:4], rtol=2e-4)
    assert_allclose(table.loc["gating"].to_numpy(), errors[6:], rtol=2e-4)
    log_sd = np.log(fit.named_draws.values["sigma"]).std(axis=0, ddof=1)
    assert_allclose(log_sd[[k - 1 for k in order]], errors[4:6], rtol=2e-4)


def test_the_likelihood_never_falls(fit):
    trace = fit.elbo_trace.to_numpy()
    assert (np.diff(trace) >= -1e-9).all() and fit.converged


def test_gates_of_the_same_model_agree(data):
    model = "y ~ x | gating(z)"
    bounds = [
        bvb.DensityRegression(model, data, n_components=2, gate=gate).fit("em", **LIKELIHOOD).elbo
        for gate in GATES
    ]
    assert_allclose(bounds, bounds[0], atol=1e-6)


def test_a_gate_between_components_far_apart_is_logistic_regression(data):
    rng = np.random.default_rng(5)
    first = rng.uniform(size=len(data)) < expit(0.5 - data["z"])
    far = data.assign(y=np.where(first, 100.0, 0.0) + rng.normal(size=len(data)))
    fit = bvb.DensityRegression("y ~ 1 | gating(z)", far, n_components=2).fit("em", **LIKELIHOOD)
    largest = first if first.mean() > 0.5 else ~first
    logit = sm.Logit(1.0 - largest, sm.add_constant(data["z"])).fit(disp=False)
    table = fit.summary().loc["gating"]
    assert_allclose(table["mean"], logit.params, rtol=1e-5)
    assert_allclose(table["sd"], logit.bse, rtol=1e-4)
    assert_allclose(table["sd"], np.sqrt(np.diag(logit.cov_params())), rtol=1e-4)


def test_it_agrees_with_flexmix(root):
    """Values of flexmix 2.3-18 (R 4.2): ``tests/reference/two_experts/README.md``."""
    frame = pd.read_csv(root / "tests/reference/two_experts/rows.csv")
    fit = bvb.DensityRegression("y ~ x", frame, n_components=2).fit("em", **LIKELIHOOD)
    table = fit.summary()["mean"]
    rising = 1 if table["mean", 1, "x"] > 0.0 else 2
    assert_allclose(table.loc["mean", rising], [1.033, 1.486], atol=1e-3)
    assert_allclose(table.loc["mean", 3 - rising], [-0.982, -0.981], atol=1e-3)
    sign = 1.0 if table.loc["gating"].index[0][0] == rising else -1.0
    assert_allclose(sign * table.loc["gating"], [0.221, 1.042], atol=2e-3)
    # flexmix divides by the weight of a component less its coefficients
    assert table["sigma", rising, ""] == pytest.approx(0.489, abs=2e-3)
    assert table["sigma", 3 - rising, ""] == pytest.approx(0.833, abs=4e-3)


def test_constant_weights_and_gaussian_components_agree_with_a_plain_em():
    frame = bvb.datasets.load("faithful")
    fit = bvb.GaussianMixture("~ eruptions + waiting", frame, n_components=2).fit(
        "em", **LIKELIHOOD
    )
    x = frame[["eruptions", "waiting"]].to_numpy()
    weight = np.column_stack([x[:, 0] > 3.0, x[:, 0] <= 3.0]).astype(float)
    for _ in range(200):
        share = weight.mean(axis=0)
        mean = weight.T @ x / weight.sum(axis=0)[:, None]
        terms = np.empty_like(weight)
        for k in range(2):
            shift = x - mean[k]
            covariance = shift.T * weight[:, k] @ shift / weight[:, k].sum()
            square = (shift @ np.linalg.inv(covariance) * shift).sum(axis=1)
            constant = np.linalg.slogdet(2.0 * np.pi * covariance).logabsdet
            terms[:, k] = np.log(share[k]) - 0.5 * (constant + square)
        total = np.logaddexp.reduce(terms, axis=1)
        weight = np.exp(terms - total[:, None])
    assert fit.elbo == pytest.approx(total.sum(), abs=1e-6)
    means = fit.summary()["mean"].loc["mean"].to_numpy().reshape(2, 2)
    assert_allclose(means, mean, rtol=1e-5)


@pytest.mark.parametrize("form", ["full", "diagonal"])
def test_standard_errors_of_gaussian_components_are_those_of_the_observed_information(form):
    frame = bvb.datasets.load("faithful")
    model = bvb.GaussianMixture("~ eruptions + waiting", frame, n_components=2, covariance=form)
    fit = model.fit("em", **LIKELIHOOD)
    x, table = frame[["eruptions", "waiting"]].to_numpy(), fit.summary()
    means = table["mean"].loc["mean"].to_numpy().reshape(2, 2)
    sds = table["mean"].loc["sd"].to_numpy().reshape(2, 2)
    correlations = table["mean"].loc["correlation"].to_numpy() if form == "full" else np.zeros(2)
    share = table["mean"].loc["share"].to_numpy()

    def density(vector):
        odds, mean, sd = vector[0], vector[1:5].reshape(2, 2), np.exp(vector[5:9].reshape(2, 2))
        r = vector[9:] if form == "full" else np.zeros(2)
        z = (x[:, None] - mean) / sd
        square = (z[..., 0] ** 2 - 2.0 * r * z[..., 0] * z[..., 1] + z[..., 1] ** 2) / (1.0 - r**2)
        constant = np.log(2.0 * np.pi) + np.log(sd).sum(axis=1) + 0.5 * np.log(1.0 - r**2)
        terms = np.array([log_expit(odds), log_expit(-odds)]) - constant - 0.5 * square
        return float(np.logaddexp.reduce(terms, axis=1).sum())

    at = np.concatenate([[np.log(share[0] / share[1])], means.ravel(), np.log(sds).ravel()])
    at = np.concatenate([at, correlations]) if form == "full" else at
    assert density(at) == pytest.approx(fit.elbo, abs=1e-5)
    errors = np.sqrt(np.diag(np.linalg.inv(-approx_hess(at, density))))
    assert fit.findings["parameters"] == len(at)
    assert_allclose(table["sd"].loc["mean"], errors[1:5], rtol=1e-3)
    assert_allclose(table["sd"].loc["sd"], errors[5:9] * sds.ravel(), rtol=0.02)


# The posterior mode


def test_the_mode_is_that_of_coefficients_log_precisions_and_gate(data):
    """No gradient of the log joint density, by differences of it, at the estimates."""
    fixed = bvb.Priors(scales="fixed")
    model = bvb.DensityRegression("y ~ x | gating(z)", data, n_components=2, priors=fixed)
    fit = model.fit("em", **SHARP)
    point, source = fit.core.point(fit.q), model.source

    def height(name, at, change):
        moved = {key: values.copy() for key, values in point.items()}
        moved[name][at] = (
            moved[name][at] * np.exp(change) if name == "precision" else moved[name][at] + change
        )
        rows = source.map_rows(lambda block: model.core.log_lik(moved, block))
        volume = np.log(moved["precision"]).sum()  # of log precisions
        return float(rows.sum() + model.core.log_prior(moved)[0] + volume)

    for name, values in point.items():
        for at in np.ndindex(values.shape):
            slope = (height(name, at, 1e-4) - height(name, at, -1e-4)) / 2e-4
            assert abs(slope) < 2e-4, (name, at)


def test_the_mode_of_one_regression_has_a_closed_form(data):
    priors = bvb.Priors(coefficient_units="noise")
    model = bvb.DensityRegression("y ~ x", data, n_components=1, priors=priors)
    fit = model.fit("em", **SHARP)
    block, prior = model.source.take(np.arange(len(data))), model.core.experts.prior
    design, y = block.designs["mean"], block.response[0]
    precision = prior.precision + design @ design.T
    line = np.linalg.solve(precision, design @ y)
    rate = prior.rate[0] + 0.5 * (((y - line @ design) ** 2).sum() + line @ prior.precision @ line)
    shape = prior.shape + 0.5 * (len(y) + len(line))
    point = fit.core.point(fit.q)
    assert_allclose(point["coefficients"].ravel(), line, rtol=1e-8, atol=1e-12)
    assert_allclose(point["precision"].ravel(), shape / rate, rtol=1e-8)


def test_point_estimates_have_fixed_scales(data):
    fits = [
        bvb.DensityRegression("y ~ x | gating(z)", data, n_components=2, priors=priors).fit(
            "em", **SHARP
        )
        for priors in (bvb.Priors(), bvb.Priors(scales="fixed"))
    ]
    assert fits[0].elbo == fits[1].elbo
    pd.testing.assert_frame_equal(fits[0].summary(), fits[1].summary(), check_exact=True)


@pytest.mark.parametrize("prior", [True, False])
def test_student_experts_have_a_mode_of_their_degrees_of_freedom(prior):
    rng = np.random.default_rng(8)
    x = rng.normal(size=150)
    tails = pd.DataFrame({"x": x, "y": 1.0 + x + rng.standard_t(3.0, size=150)})
    options = {"family": "student", "priors": bvb.Priors(scales="fixed")}
    model = bvb.DensityRegression("y ~ x", tails, n_components=1, **options)
    fit = model.fit("em", **SHARP | {"prior": prior})
    point = fit.core.point(fit.q)

    def height(change):
        moved = point | {"dof": point["dof"] * np.exp(change)}
        rows = model.source.map_rows(lambda block: model.core.log_lik(moved, block))
        return float(rows.sum() + prior * model.core.log_prior(moved)[0])

    assert abs(height(1e-3) - height(-1e-3)) / 2e-3 < 1e-4


# Where there is no maximum


def few_rows(n):
    rng = np.random.default_rng(4)
    x = rng.normal(size=n)
    return pd.DataFrame({"x": x, "y": x + rng.standard_t(3, size=n)})


def constant_weights(n, n_components):
    return bvb.DensityRegression(
        "y ~ x | gating(1)", few_rows(n), n_components=n_components, gate="dirichlet"
    )


def test_a_component_on_a_few_rows_loses_against_runs_that_have_a_maximum():
    fit = constant_weights(30, 3).fit("em", prior=False, seed=1, restarts=12, draws=50)
    score, bound = fit.restarts["score"], fit.restarts["elbo"]
    shrunk = np.isneginf(score)
    assert shrunk.any() and not shrunk[fit.best_restart]
    assert bound[shrunk].max() > fit.elbo  # higher, and without end
    assert fit.elbo == pytest.approx(bound[~shrunk].max(), abs=1e-6)
    assert "collapsed_components" not in fit.findings
    assert fit.check().loc["Likelihood has a maximum", "grade"] == "ok"


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore:linear response is not available")  # there is none
def test_if_all_runs_shrink_the_fit_says_so_and_the_prior_is_a_remedy(tmp_path):
    model = constant_weights(40, 3)
    with pytest.warns(ConvergenceWarning, match=r"component 3 shrank to a few rows.*prior=True"):
        fit = model.fit("em", prior=False, seed=1, restarts=4, draws=50)
    assert fit.elbo == fit.restarts["elbo"].max()
    assert fit.findings["collapsed_components"] == 1.0
    assert fit.check().loc["Likelihood has a maximum", "grade"] == "problem"
    loaded = bvb.load(fit.save(tmp_path / "fit.nc"))
    assert str(loaded) == str(fit) and loaded.findings == fit.findings
    assert "score" not in model.fit("em", seed=1, restarts=4, draws=50).restarts


def test_weights_that_covariates_tell_for_certain_are_warned_of():
    rng = np.random.default_rng(2)
    z = np.concatenate([rng.uniform(-2.0, -1.0, 40), rng.uniform(1.0, 2.0, 40)])
    y = np.where(z > 0.0, 20.0, 0.0) + rng.normal(size=80)
    model = bvb.DensityRegression(
        "y ~ 1 | gating(z)", pd.DataFrame({"y": y, "z": z}), n_components=2
    )
    with pytest.warns(ConvergenceWarning, match="grow without end.*prior=True"):
        model.fit("em", prior=False, seed=1, restarts=2, draws=50)
    model.fit("em", seed=1, restarts=2, draws=50)


# What is said, kept and refused


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda d: bvb.Normal("y ~ 1", d), "no point estimates"),
        (lambda d: bvb.BayesianPCA("~ x + y + z", d), "no point estimates"),
        (
            lambda d: bvb.DensityRegression("y ~ x", d, n_components=2, gate="softmax-bouchard"),
            "gate='softmax' is the same model",
        ),
        (
            lambda d: bvb.DensityRegression(
                "y ~ x", d, priors=bvb.Priors(coefficient_units="response")
            ),
            "coefficient_units='noise' gives the same model",
        ),
    ],
)
def test_models_without_point_estimates_are_refused_with_a_remedy(made, words, data):
    with pytest.raises(DataError, match="method='em' is not available for this model") as caught:
        made(data).fit("em")
    assert words in str(caught.value) and "method='cavi'" in str(caught.value)


@pytest.mark.heavy
def test_networks_have_a_mode_over_variational_latent_vectors(tmp_path):
    frame = bvb.datasets.load("iris").iloc[::2]
    model = bvb.ConditionalMixtureNetwork("label ~ petal_width", frame, n_experts=2)
    fit = model.fit("em", seed=1, restarts=2, draws=50, combine="best", tol=1e-6)
    posterior = fit.core.limit.update(1e10 * fit.stats)
    # latent vectors at their optimum: the bound of the rows at the point, and the log prior there
    rows = model.source.map_reduce(lambda block: fit.core.limit.e_step(posterior, block)).bound
    assert fit.elbo == pytest.approx(rows - fit.core.kl(posterior), abs=1e-9)
    assert (np.diff(fit.elbo_trace) >= -1e-9).all()
    assert "lower bound of the log posterior density" in str(fit)
    assert "Standard errors are not available" in str(fit) and fit.summary()["sd"].isna().all()
    assert "Est.Error" not in str(fit) and "k-hat" not in str(fit)
    page = fit.report(tmp_path / "page.html").read_text("utf-8")
    assert "Point estimates only, without intervals" in page and "mean-field posterior" not in page
    assert (fit.predict(kind="class") == frame["label"]).mean() > 0.9


def test_the_prior_is_a_switch(data, unchecked):
    with pytest.raises(DataError, match="prior='no' must be True"):
        bvb.DensityRegression("y ~ x", data).fit("em", prior="no")


def test_estimates_without_prior_say_so_where_the_prior_is_asked_for(data):
    fit = bvb.DensityRegression("y ~ x", data, n_components=1).fit("em", **LIKELIHOOD)
    with pytest.raises(DataError, match=r"prior=False does not depend on the prior"):
        fit.prior_sensitivity()
    with pytest.raises(DataError, match="cannot compare components"):
        bvb.prune(fit)


@pytest.mark.heavy
@pytest.mark.parametrize("prior", [True, False])
def test_files_and_reports_know_what_was_estimated(prior, data, tmp_path):
    model = bvb.DensityRegression("y ~ x | gating(z)", data, n_components=2)
    found = model.fit("em", **SHARP | {"prior": prior})
    loaded = bvb.load(found.save(tmp_path / "fit.nc"))
    assert loaded.engine == ENGINES["em"].with_options(prior=prior)
    pd.testing.assert_frame_equal(loaded.summary(), found.summary())
    assert loaded.elbo == found.elbo
    assert str(loaded) == str(found)
    page = found.report(tmp_path / "page.html").read_text("utf-8")
    words = (
        ("The mode of the posterior density", "Log posterior density")
        if prior
        else ("The maximum of the likelihood", "Log likelihood")
    )
    assert all(word in page for word in words)
    assert "ELBO" not in page and "ower bound" not in page and "mean-field" not in page


@pytest.mark.heavy
def test_restarts_are_combined_by_their_densities_without_rows(data):
    model = bvb.DensityRegression("y ~ x | gating(z)", data, n_components=2)
    options = SHARP | {"prior": False, "restarts": 2, "combine": "average"}
    fit, alone = model.fit("em", **options), model.fit("em", **LIKELIHOOD)
    assert len(fit.members) == 2 and "2 of 2 restarts with weights" in str(fit)
    assert_allclose(fit.log_density(data), alone.log_density(data), atol=1e-4)


def test_draws_have_exactly_the_mean_and_covariance_of_the_normal_approximation(fit):
    coordinates = fit.core.coordinates(fit.q)
    standard = coordinates.standard(fit.draws)
    assert_allclose(standard.mean(axis=0), 0.0, atol=1e-7)
    assert_allclose(np.cov(standard.T), fit.response.covariance, atol=1e-6)


@pytest.mark.heavy
def test_robust_standard_errors_are_the_sandwich_of_least_squares(data):
    fit = bvb.DensityRegression("y ~ x", data, n_components=1).fit(
        "em", **LIKELIHOOD | {"draws": 4000}
    )
    robust = fit.summary(covariance="robust").loc["mean", "sd"]
    ols = sm.OLS(data["y"], sm.add_constant(data["x"])).fit(cov_type="HC3")
    assert_allclose(robust, ols.bse, rtol=0.06)


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore")
def test_the_report_is_written_where_the_likelihood_does_not_tell_coefficients_apart(tmp_path):
    formula = "accel ~ bs(times, df=5) | gating(times)"
    model = bvb.DensityRegression(formula, bvb.datasets.load("mcycle"), n_components=3)
    fit = model.fit("em", prior=False, seed=1)
    with pytest.raises(DataError, match="not a differentiable function of the data"):
        fit.influence()
    page = fit.report(tmp_path / "page.html").read_text("utf-8")
    assert "without a prior" in page and "Influence" not in page
