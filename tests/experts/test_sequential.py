"""Sequential regressions: logistic regression of the steps, and exact posteriors."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesvb as bvb
from bayesvb.experts.sequential import sequential_masses

CUTS = np.array([-0.8, 0.6, 0.1])
"""Thresholds that are not in order."""


def table(n, seed):
    """Four levels, reached one after the other."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    goes_on = (0.8 * x - 0.5 * z)[:, None] - CUTS + rng.logistic(size=(n, 3)) > 0.0
    return pd.DataFrame({"y": 1.0 + np.cumprod(goes_on, axis=1).sum(axis=1), "x": x, "z": z})


def model_of(data, formula="y ~ x + z", **options):
    options = {"n_components": 1, "family": "sequential", **options}
    return bvb.DensityRegression(formula, data, **options)


def steps_of(data):
    """Rows of binary steps: one for each level that a row reaches, but the highest."""
    each = [data.assign(step=step, on=(data["y"] > step)) for step in (1, 2, 3)]
    whole = pd.concat([one[one["y"] >= step] for step, one in enumerate(each, start=1)])
    return whole.assign(on=whole["on"].astype(float), step=whole["step"].astype(str))


def test_estimates_are_those_of_logistic_regression_of_the_steps(data, fit):
    """The maximum of the likelihood is that of the expanded data, and its standard errors are."""
    sm = pytest.importorskip("statsmodels.api")
    steps = steps_of(data)
    columns = pd.get_dummies(steps["step"], dtype=float).assign(x=-steps["x"], z=-steps["z"])
    exact = sm.GLM(1.0 - steps["on"], columns, family=sm.families.Binomial()).fit()
    most = model_of(data).fit("em", prior=False, seed=1, draws=50, tol=1e-10)
    for found, error, rtol in ((most, 1e-4, 1e-4), (fit, 0.12, 0.06)):
        table_of = found.summary()
        ours = pd.concat([table_of.loc["threshold"], table_of.loc["mean"].iloc[1:]])
        assert (np.abs(ours["mean"].to_numpy() - exact.params) < error * exact.bse).all()
        assert_allclose(ours["sd"], exact.bse, rtol=rtol)


def test_the_bound_is_that_of_the_steps(data):
    """With a prior of the same form: a logistic regression of them with dummies."""
    model = model_of(data)
    steps, row = model.core.experts.steps(model.source.whole())
    posterior = model.fit(seed=1, draws=50, tol=1e-9).q.experts
    local = model.core.experts.binary.local(posterior, steps)
    whole = model.core.experts.local(posterior, model.source.whole())
    assert_allclose(
        whole.expected_log_density[0],
        np.bincount(row, local.expected_log_density[0], minlength=400),
    )
    each = whole.row_stats(np.ones((1, 400))).linear.sum(axis=0)
    assert_allclose(each, local.sufficient_stats(np.ones((1, len(row)))).linear)


def test_predictions_average_over_the_posterior(fit):
    new = table(40, 2)
    mass = fit.predict(new, "probability").to_numpy()
    assert_allclose(mass.sum(axis=1), 1.0)
    block = fit.model.source.whole().take(np.arange(40))
    drawn = fit.core.experts.drawn_masses(fit.draws, block).mean(axis=0)[0]
    own = fit.predict(fit.model.design.frame[:40], "probability")
    assert_allclose(own, drawn, atol=0.005)


def test_masses_of_normal_log_odds_are_those_of_draws(rng):
    root = 0.7 * rng.normal(size=(3, 3))
    mean, covariance = rng.normal(size=3), root @ root.T
    found = sequential_masses(mean[:, None, None], covariance[:, :, None, None])[0, 0]
    v = mean + rng.normal(size=(400_000, 3)) @ root.T
    on = 1.0 / (1.0 + np.exp(-v))
    reached = np.cumprod(np.column_stack([np.ones(len(v)), on]), axis=1)
    ends = np.column_stack([1.0 - on, np.ones(len(v))])
    assert_allclose(found, (reached * ends).mean(axis=0), atol=0.002)


def test_thresholds_need_no_order_and_smooths_are_possible(data, fit):
    at = fit.posterior["threshold"].mean(["chain", "draw"]).to_numpy()[0]
    assert at[1] > at[2]
    bent = model_of(data[:80], "y ~ s(x, k=4)").fit(seed=1, draws=50)
    assert bent.predict(data[:5], "probability").shape == (5, 4)


@pytest.mark.heavy
def test_rows_left_out_are_those_of_refits(assert_as_refits):
    fit = model_of(table(50, 5)).fit(seed=1, draws=50, tol=1e-9)
    assert_as_refits(fit, 0.005)
