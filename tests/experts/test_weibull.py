"""Weibull regressions of censored times: against maximum likelihood, refits and the words."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.stats import kstest, weibull_min

import bayesvb as bvb
from bayesvb.data.blocks import Block
from bayesvb.distributions.weibull_mixture import WEIBULL
from bayesvb.errors import DataError, FormulaError
from bayesvb.experts import EXPERTS
from bayesvb.experts.dispersed_predictor import DispersedPosterior, on_axis
from bayesvb.experts.regression import RegressionPrior
from bayesvb.factors.normal import Normal

SLOPES = np.array([0.5, 0.6, -0.4])

SHAPE = 1.5


def table(n, seed, censoring=4.0):
    """Times to an event, censored at random; without censoring all are seen."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    scale = np.exp(SLOPES @ np.stack([np.ones(n), x, z]))
    time, limit = scale * rng.weibull(SHAPE, n), rng.exponential(censoring, n)
    seen = (time <= limit).astype(int)
    observed = {"y": np.minimum(time, limit), "event": seen, "time": time}
    return pd.DataFrame({**observed, "x": x, "z": z, "scale": scale})


def model_of(data, formula="Surv(y, event) ~ x + z", **options):
    options = {"n_components": 1, "family": "weibull", **options}
    return bvb.DensityRegression(formula, data, **options)


def maximum_likelihood(data):
    """Coefficients and log shape, with standard errors by the observed information."""
    x = np.column_stack([np.ones(len(data)), data["x"], data["z"]])
    y, seen = np.log(data["y"].to_numpy()), data["event"].to_numpy()

    def loss(p):
        z = np.exp(p[3]) * (y - x @ p[:3])
        return (np.exp(z) - seen * (z + p[3])).sum()

    at = minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-7}).x
    steps = 1e-4 * np.eye(4)
    hessian = [
        [
            (loss(at + a + b) - loss(at + a - b) - loss(at - a + b) + loss(at - a - b)) / 4e-8
            for a in steps
        ]
        for b in steps
    ]
    return at, np.sqrt(np.diag(np.linalg.inv(hessian)))


def test_estimates_are_those_of_maximum_likelihood(data, fit):
    """With a third of the times censored."""
    at, se = maximum_likelihood(data)
    found = fit.summary().loc["mean"]
    assert (np.abs(found["mean"].to_numpy() - at[:3]) < 0.11 * se[:3]).all()
    assert_allclose(found["sd"], se[:3], rtol=0.05)
    logs = np.log(fit.draws["shape"][:, 0])
    assert abs(logs.mean() - at[3]) < 0.25 * se[3]  # coefficients integrated out: 0.17 less
    assert logs.std() == pytest.approx(se[3], rel=0.05)


@pytest.mark.heavy
def test_rows_left_out_are_those_of_refits(assert_as_refits):
    fit = model_of(table(60, 5)).fit(seed=1, draws=50, tol=1e-9)
    assert_as_refits(fit, 0.005, 0.03)


def test_predictions_are_of_times_that_are_not_censored(fit):
    new = table(1000, 2)
    median = fit.predict(new, "quantile", q=0.5)
    assert_allclose(median, new["scale"] * np.log(2.0) ** (1.0 / SHAPE), rtol=0.3)
    assert kstest(fit.predict(new, "cdf", at=new["time"]), "uniform").pvalue > 0.01
    some = new[:6]
    found = fit.log_density(some)
    survival = np.log(1.0 - fit.predict(some, "cdf", at=some["y"]))
    density = np.log(fit.predict(some, "density", at=some["y"]))
    assert_allclose(found, np.where(some["event"] == 1, density, survival), rtol=1e-6)


def test_laws_are_those_of_scipy():
    y, u, shape = np.array([0.2, 1.0, 7.0]), 0.4, np.array([0.6, 1.0, 3.0])
    law = weibull_min(shape, scale=np.exp(u))
    assert_allclose(WEIBULL.log_density(y, np.full(3, u), shape), law.logpdf(y))
    assert_allclose(WEIBULL.cdf(y, np.full(3, u), shape), law.cdf(y))
    mean, square = WEIBULL.moments(np.full(3, u), shape)
    assert_allclose([mean, square], [law.mean(), law.var() + law.mean() ** 2])
    mass = WEIBULL.log_mass(y, 2.0 * y, np.full(3, u), shape)
    assert_allclose(mass, np.log(law.sf(y) - law.sf(2.0 * y)))
    assert_allclose(WEIBULL.log_mass(y, np.full(3, np.inf), np.full(3, u), shape), law.logsf(y))


def test_words(fit):
    shown = str(fit)
    assert shown.startswith("Weibull regression")
    assert "Time ratio" in shown


def test_a_time_must_be_positive_and_seen_or_right_censored():
    data = table(30, 1)
    with pytest.raises(DataError, match="must be a number above 0"):
        model_of(data.assign(y=data["y"].where(data.index != 3, 0.0)))
    left = data.assign(status=np.where(data["event"] == 1, 0, -1))
    with pytest.raises(DataError, match="takes right censoring only"):
        model_of(left, "cens(y, status) ~ x")
    with pytest.raises(
        FormulaError, match=r"family='gamma' does not support Surv(.|\n)*family='weibull'"
    ):
        model_of(data, family="gamma")


def test_far_rows_do_not_overshoot_between_the_nodes():
    """A time a thousand times too long: its log density is finite, negative and concave."""
    data = table(40, 3)
    data.loc[0, ["y", "event"]] = 1e4, 1
    model = model_of(data)
    found = model.fit(seed=1, draws=25, restarts=1, tol=1e-9)
    (trace,) = found.traces.values()
    assert (np.diff(trace) >= -1e-9 * np.abs(trace[1:])).all()
    local = model.core.experts.local(found.q.experts, model.source.whole())
    assert local.expected_log_density[0, 0] < -5.0
    assert (local.predictor.curvature > 0.0).all()


@pytest.mark.parametrize("variance", [0.1, 4.0, 25.0])
def test_rows_far_from_a_component_are_not_interpolated_to_high_densities(variance):
    """Hazards are doubly exponential in the log of the shape; the mean is that over its law."""
    experts = EXPERTS["weibull"](RegressionPrior(1, 1, 2.0, True, 1.0, 1.0))
    distance = experts.dispersion.logs - 0.3
    law = experts.dispersion.posterior(-5.0 * distance[None] ** 2)
    coefficients = Normal.from_precision(np.zeros((1, 1)), np.full((1, 1, 1), 1.0 / variance))
    times = np.exp(np.linspace(-4.0, 6.0, 21))
    block = Block({"mean": np.ones((1, 21))}, times[None])
    local = experts.local(DispersedPosterior(coefficients, law), block)
    moments = np.zeros((1, 21)), np.full((1, 21), variance)
    each = experts.expected_at(block, *moments, on_axis(np.exp(law.points[0]))).value
    exact = np.einsum("p,pkn->kn", law.probabilities[0], each)
    assert_allclose(local.expected_log_density, exact, rtol=5e-3)
