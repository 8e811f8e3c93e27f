"""Censored, interval-censored and rounded responses: against other ways to the same numbers."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import log_ndtr
from scipy.stats import kstest, norm
from scipy.stats import t as student_t

import bayesvb as bvb
from bayesvb.errors import BayesVBError, DataError, DesignWarning
from bayesvb.evaluation.elpd import read_elpd
from bayesvb.experts.intervals import HiddenRows
from bayesvb.reports.sections import SECTIONS
from bayesvb.results.survival_curves import survival_curves
from bayesvb.sensitivity import solvers

WIDE = bvb.Priors(coefficient_sd=100.0, noise_shape=0.01, noise_rate=0.01)
FAMILIES = ("gaussian", "student")
CENSORED = "cens(y, s, u) ~ x"


def table(n, seed, *, limits=(-1.0, 1.2), scale=1.0):
    """One line with rows of every status; ``t`` is the response before it is cut."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    t = 0.3 + 0.5 * x + scale * rng.normal(size=n)
    s = np.where(t > limits[1], "right", np.where(t < limits[0], "left", "none"))
    within = (s == "none") & (rng.random(n) < 0.3)
    lower, upper = np.floor(2.0 * t) / 2.0, np.floor(2.0 * t) / 2.0 + 0.5
    data = {"x": x, "t": t, "s": np.where(within, "interval", s), "w": rng.integers(1, 3, n)}
    data["y"] = np.where(within, lower, np.clip(t, *limits))
    return pd.DataFrame({**data, "u": np.where(within, upper, np.nan)})


def two_lines(n, seed):
    """Two lines, the upper one censored at 2."""
    rng = np.random.default_rng(seed)
    x, upper = rng.normal(size=n), rng.random(n) < 0.5
    t = np.where(upper, 2.0 + x, -2.0 - 0.5 * x) + 0.5 * rng.normal(size=n)
    return pd.DataFrame({"x": x, "t": t, "y": np.minimum(t, 2.0), "event": (t <= 2.0).astype(int)})


def model_of(data, formula=CENSORED, **options):
    return bvb.DensityRegression(formula, data, **{"n_components": 1, **options})


def ends(data):
    """Lower and upper ends of the intervals of a table."""
    y, s = data["y"].to_numpy(), data["s"].to_numpy()
    lower = np.where(s == "left", -np.inf, y)
    return lower, np.where(s == "right", np.inf, np.where(s == "interval", data["u"], y))


# -- maximum likelihood and exact posteriors -----------------------------------------------------


def maximum_likelihood(x, lower, upper, weight):
    """Coefficients and log sd of a normal regression of intervals, with their standard errors."""
    design, seen = np.stack([np.ones(len(x)), x]), lower == upper

    def loss(theta):
        sd = np.exp(theta[2])
        low, high = ((end - theta[:2] @ design) / sd for end in (lower, upper))
        flipped = low + high > 0.0
        first, last = np.where(flipped, -high, low), np.where(flipped, -low, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.exp(log_ndtr(first) - log_ndtr(last))
            mass = log_ndtr(last) + np.log1p(-np.where(seen, 0.0, ratio))
        return -float(weight @ np.where(seen, norm.logpdf(low) - theta[2], mass))

    start = np.array([0.0, 0.0, 0.0])
    found = minimize(loss, start, method="BFGS", options={"gtol": 1e-6}).x
    steps, h = np.eye(3), 1e-3
    hessian = [
        [
            (loss(found + h * (a + b)) - loss(found + h * (a - b)) - loss(found - h * (a - b))
             + loss(found - h * (a + b))) / (4.0 * h * h)
            for b in steps
        ]
        for a in steps
    ]  # fmt: skip
    return found, np.sqrt(np.diagonal(np.linalg.inv(hessian)))


@pytest.mark.parametrize(
    "response",
    ["cens(y, s, u)", pytest.param("cens(log(y), s, log(u))", marks=pytest.mark.heavy)],
)
def test_estimates_are_those_of_maximum_likelihood(response):
    """Tobit and log-normal failure times: within a tenth of a standard error, errors within 5%."""
    data = table(400, 1)
    x, (lower, upper) = data["x"].to_numpy(), ends(data)
    exact, error = maximum_likelihood(x, lower, upper, data["w"].to_numpy(dtype=float))
    if "log" in response:
        data = data.assign(y=np.exp(data["y"]), u=np.exp(data["u"]))
    model = model_of(data, f"{response} ~ x", priors=WIDE, weights="w")
    fit = model.fit(seed=1, draws=4000, tol=1e-9)
    found = fit.summary().loc["mean"]
    assert (np.abs(found["mean"].to_numpy() - exact[:2]) < 0.1 * error[:2]).all()
    assert_allclose(found["sd"], error[:2], rtol=0.05)
    log_sigma = fit.model.log_unit - 0.5 * np.log(fit.draws["precision"][:, 0, 0])
    assert abs(log_sigma.mean() - exact[2]) < 0.15 * error[2]
    assert_allclose(log_sigma.std(), error[2], rtol=0.06)


def importance_sampling(model, fit, n=10_000, seed=0):
    """Means and standard deviations of coefficients and log precision, and effective draws."""
    rng = np.random.default_rng(seed)
    q, experts, block = fit.q.experts, model.core.experts, model.source.whole()
    q = getattr(q, "linear", q)
    shape, rate = float(q.shape[0]), float(q.rate[0, 0])
    root = np.zeros((3, 3))
    root[:2, :2] = np.linalg.cholesky(q.covariance[0] * rate / shape * 3.0)
    root[2, 2] = np.sqrt(6.0 / shape)
    z, scale = rng.normal(size=(n, 3)), np.sqrt(6.0 / rng.chisquare(6.0, n))
    centre = np.append(q.mean[0, 0], np.log(shape / rate))
    theta = centre + scale[:, None] * (z @ root.T)
    log_q = -4.5 * np.log1p((z**2).sum(axis=1) * scale**2 / 6.0)
    draws = {"coefficients": theta[:, None, None, :2], "precision": np.exp(theta[:, 2:, None])}
    if hasattr(fit.q.experts, "dof"):
        draws["dof"] = np.full((n, 1, 1), float(fit.q.experts.dof[0]))
    log_p = experts.log_lik(draws, block).sum(axis=(1, 2)) + experts.log_density(None, draws)
    log_p = log_p + theta[:, 2]
    weight = np.exp(log_p - log_q - (log_p - log_q).max())
    weight /= weight.sum()
    mean = weight @ theta
    return mean, np.sqrt(weight @ (theta - mean) ** 2), 1.0 / (weight @ weight)


@pytest.mark.heavy
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("limits", [(-np.inf, 1.0), (-np.inf, -0.5), (-0.5, 0.8)])
def test_standard_deviations_are_those_of_importance_sampling(family, limits):
    data = table(200, 3, limits=limits)
    priors = bvb.Priors(dof=4.0) if family == "student" else None
    model = model_of(data, family=family, priors=priors)
    fit = model.fit(seed=1, draws=4000, tol=1e-10)
    mean, sd, n_effective = importance_sampling(model, fit)
    assert n_effective > 2000
    coefficients = fit.draws["coefficients"][:, 0, 0]
    found = np.column_stack([coefficients, np.log(fit.draws["precision"][:, 0])])
    assert (np.abs(found.mean(axis=0) - mean) < 0.15 * sd).all()
    assert_allclose(found.std(axis=0), sd, rtol=0.06)


# -- the algorithm -------------------------------------------------------------------------------


def random_problem(seed):
    """A model with a random number of components, limits and scale; noisy starts."""
    rng = np.random.default_rng(seed)
    lower, upper = 0.3 + np.array([-1.0, 1.0]) * rng.uniform(0.2, 2.0, 2)
    limits = (-np.inf if seed % 3 == 0 else lower, upper)
    data = table(int(rng.integers(30, 80)), seed, limits=limits, scale=rng.choice([0.1, 1.0, 3.0]))
    family, gate = FAMILIES[seed % 2], ("softmax", "stick-breaking", "dirichlet")[seed % 3]
    n_components = int(rng.integers(1, 4))
    return model_of(data, n_components=n_components, family=family, gate=gate)


def check_that_the_bound_never_falls(seeds, n_passes):
    for seed in seeds:
        model = random_problem(seed)
        core, source = model.core, model.source
        rng = np.random.default_rng(seed)
        block = source.whole()
        share = rng.dirichlet(np.ones(core.n_components), block.n_rows).T
        stats, before = core.first_stats(core.partition_stats(block, share)), -np.inf
        for _ in range(n_passes):
            q = core.update(stats)
            step = core.e_step(q, block)
            bound = step.bound - core.kl(q)
            assert bound >= before - 1e-9 * (1.0 + abs(bound)), (seed, before, bound)
            stats, before = core.global_step(q, step.stats), bound


def test_statistics_of_rows_add_up():
    model = model_of(two_lines(30, 5), "Surv(y, event) ~ x | 1", family="student", n_components=2)
    core, block = model.core, model.source.whole()
    shares = np.random.default_rng(0).dirichlet(np.ones(2), block.n_rows).T.copy()
    q = core.update(core.first_stats(core.partition_stats(block, shares)))
    local = core.experts.local(q.experts, block)
    every, sums = local.row_stats(shares), local.sufficient_stats(shares)
    for name, values in vars(sums).items():
        assert_allclose(getattr(every, name).sum(axis=0), values, rtol=1e-10)


def test_the_bound_never_falls():
    check_that_the_bound_never_falls(range(4), 8)


@pytest.mark.heavy
def test_the_bound_never_falls_in_many_problems():
    check_that_the_bound_never_falls(range(6, 206), 30)


def test_second_derivatives_are_those_of_a_pass():
    """The Jacobian of a pass by derivatives of rows, and by differences of whole passes."""
    data = two_lines(60, 4)
    model = model_of(data, "Surv(y, event) ~ x | 1", n_components=2)
    fit = model.fit(seed=1, restarts=1, draws=25, covariance="mean-field", tol=1e-10)
    derivative = solvers.choose_solver(fit.core, model.source, fit.stats)
    differences = solvers._by_differences(fit.core, model.source, fit.stats)
    assert_allclose(derivative.whole(), differences, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_likelihood_of_an_interval_is_a_difference_of_distribution_functions(family):
    model = model_of(table(40, 3), family=family)
    block, precision = model.source.whole(), np.array([0.3, 4.0])
    lines = np.array([[0.2, 0.5], [-0.4, 1.0]])
    draws = {"coefficients": lines[:, None, None], "precision": precision[:, None, None]}
    law = student_t([3.0, 8.0]) if family == "student" else norm
    draws |= {"dof": np.array([[[3.0]], [[8.0]]])} if family == "student" else {}
    found = model.core.experts.log_lik(draws, block)[:, 0]
    hidden = HiddenRows.of_block(block)
    centre = lines @ block.designs["mean"][:, hidden.at]
    below, above = (law.cdf((np.sqrt(precision)[:, None] * (end - centre)).T).T
                    for end in (hidden.lower, hidden.upper))  # fmt: skip
    assert_allclose(found[:, hidden.at], np.log(above - below), rtol=1e-6, atol=1e-9)


# -- mixtures, predictions and scores ------------------------------------------------------------


@pytest.fixture(scope="module")
def mixture():
    data = two_lines(400, 2)
    model = model_of(data, "Surv(y, event) ~ x | gating(1)", n_components=2)
    return data, model.fit(seed=1, restarts=2, draws=400)


def test_a_mixture_is_recovered_through_the_censoring(mixture):
    """Taken as seen, the cut line has intercept 1.6, slope 0.4 and noise 0.4."""
    found = mixture[1].summary()["mean"]
    line, noise = found["mean"].unstack(), found["sigma"].to_numpy()
    upper = int(line["Intercept"].to_numpy().argmax())
    assert_allclose(line.to_numpy()[upper], [2.0, 1.0], atol=0.2)
    assert_allclose(noise[upper], 0.5, atol=0.1)


def test_scores_are_densities_or_probabilities_in_the_units_of_the_data(mixture):
    data, fit = mixture
    found, law = fit.log_density(data), fit.predictive(data)
    seen = data["event"].to_numpy() == 1
    assert "probability" in found.name
    assert_allclose(found[seen], law.log_density(data["y"].to_numpy())[seen], rtol=1e-9)
    tail = np.log1p(-law.cdf(data["y"].to_numpy()))
    assert_allclose(found[~seen], tail[~seen], rtol=1e-6)


def test_the_survival_function_of_the_fit_is_that_of_the_data(mixture):
    fit = mixture[1]
    found = survival_curves(fit)
    assert found.name == "y" and found.inside > 0.9
    shown = SECTIONS["survival"].summary(fit)
    assert shown["inside"] > 90.0 and SECTIONS["replicates"].summary(fit) is None
    with pytest.raises(DataError, match=r"plots\.survival"):
        bvb.plots.replicates(fit)
    axes = bvb.plots.survival(fit)
    assert axes.get_xlabel() == "y"
    axes.figure.clear()


def test_the_first_screen_says_which_rows_are_seen(mixture):
    data, fit = mixture
    n = int(data["event"].sum())
    line = f"Response:  `y`: {n} observed, {len(data) - n} right censored (event = 1: observed)"
    assert line in str(fit) and line in str(fit.model)


@pytest.mark.heavy
def test_only_densities_change_with_the_unit(mixture):
    data, fit = mixture
    seen = data["event"].to_numpy() == 1
    moved = data.assign(y=100.0 * data["y"] + 7.0)
    other = model_of(moved, "Surv(y, event) ~ x | gating(1)", n_components=2)
    scaled = other.fit(seed=1, restarts=2, draws=100)
    change = read_elpd(scaled.loo()).pointwise - read_elpd(fit.loo()).pointwise
    assert_allclose(change, np.where(seen, -np.log(100.0), 0.0), atol=1e-3)
    assert_allclose(scaled.elbo - fit.elbo, -seen.sum() * np.log(100.0), atol=1e-2)


def test_randomised_transforms_are_uniform_and_of_hidden_rows_only(mixture):
    data, fit = mixture
    pit = fit.pit()
    assert kstest(pit, "uniform").pvalue > 0.01
    top = fit.predictive(data).cdf(data["y"].to_numpy())
    hidden = data["event"] == 0
    assert (pit[hidden] > top[hidden] - 0.02).all() and pit[hidden].std() > 0.01
    assert fit.residuals("response")[hidden].isna().all()


def test_leave_one_out_is_that_of_refits():
    data = table(40, 5)
    fit = model_of(data).fit(seed=1, draws=100, tol=1e-9)
    found = read_elpd(fit.loo()).pointwise
    for row in (0, 7, 21, 33):
        rest = model_of(data.drop(index=row)).fit(seed=1, draws=25, tol=1e-9)
        assert_allclose(rest.log_density(data.loc[[row]]), found[row], atol=0.03)


@pytest.mark.parametrize("family", ["gaussian", pytest.param("student", marks=pytest.mark.heavy)])
def test_rows_in_a_file_and_saved_fits_are_the_same(tmp_path, family):
    data = table(60, 6)
    path = tmp_path / "rows.parquet"
    data.to_parquet(path)
    options = {"seed": 1, "draws": 50}
    fit = model_of(data, family=family).fit(**options)
    read = model_of(str(path), family=family).fit(**options)
    assert_allclose(read.summary()["mean"], fit.summary()["mean"], rtol=1e-6)
    fit.save(tmp_path / "fit.bvb")
    loaded = bvb.load(tmp_path / "fit.bvb")
    assert_allclose(loaded.log_density(data), fit.log_density(data), rtol=1e-12)
    assert_allclose(loaded.predict({"x": [0.5]}), fit.predict({"x": [0.5]}), rtol=1e-12)
    assert np.isfinite(loaded.update(data[:9]).summary()["mean"]).all()


def test_rounding_is_accounted_for():
    """Taken as exact, values rounded to two standard deviations make the noise too large."""
    data = table(200, 7, limits=(-np.inf, np.inf)).assign(y=lambda d: 2.0 * np.round(d["t"] / 2.0))
    warnings.simplefilter("ignore", DesignWarning)  # the values are on a grid
    noise = [
        model_of(data, f"{left} ~ x").fit(seed=1, draws=100).summary()["mean"]["sigma"].iloc[0]
        for left in ("rounded(y, 2)", "y")
    ]
    assert abs(noise[0] - 1.0) < 0.1 and noise[1] > 1.1


@pytest.mark.heavy
@pytest.mark.parametrize("response", ["cens(y, s, u)", "rounded(t, 1)"])
def test_intervals_are_calibrated_over_simulated_data(response):
    """Rows of new data are censored by the same limits, and rounded to the same grid."""
    found = bvb.sbc(model_of(table(60, 10), f"{response} ~ x"), 80, seed=1, n_jobs=1, draws=99)
    assert not found.uneven


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("formula", "more"),
    [
        ("cens(y, s, u) ~ s(x) + offset(0.1 * x) | gating(x)", {"weights": "w"}),
        ("cens(y, s, u) ~ x + (1 | g) | 1", {}),
        ("cens(y, s, u) ~ x | 1", {"group": "g", "family": "student"}),
    ],
)
def test_terms_weights_and_groups_compose(formula, more):
    data = table(60, 8).assign(g=lambda d: np.arange(len(d)) % 12)
    fit = model_of(data, formula, n_components=2, **more).fit(seed=1, restarts=1, draws=50)
    assert fit.response.failure is None and fit.covariance == "linear-response"
    assert np.isfinite(fit.pit()).all()


# -- errors that teach ---------------------------------------------------------------------------

REFUSED = {
    "all rows are right censored": lambda d: model_of(d.assign(c=True), "cens(y, c) ~ x"),
    "family='poisson' does not support rounded": lambda d: model_of(
        d, "rounded(y, 1) ~ x", family="poisson"
    ),
    "coefficient_units='response'": lambda d: model_of(
        d, priors=bvb.Priors(coefficient_units="response")
    ),
    "some are censored": lambda d: model_of(d).fit(seed=1, draws=25).predict(
        {"x": [0.0]}, recalibrate=True
    ),
    "have different censoring or rounding": lambda d: bvb.compare(
        {
            "cut": model_of(d).fit(seed=1, draws=25),
            "seen": model_of(d, "cens(y, s == 'right') ~ x").fit(seed=1, draws=25),
        }
    ),
}  # fmt: skip


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_not_possible_is_refused(message):
    with pytest.raises((BayesVBError, DataError), match=message):
        REFUSED[message](table(40, 9).assign(u=lambda d: d["u"].fillna(9.0)))
