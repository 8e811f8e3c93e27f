"""Posteriors that are points: what is estimated, and its spread by the curvature at the point."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from statsmodels.tools.numdiff import approx_hess

import bayesvb as bvb
from bayesvb.engines.em import Em
from bayesvb.engines.point_estimates import COPIES, standardised

OPTIONS = {"tol": 1e-11, "seed": 1, "restarts": 3, "draws": 200}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 200))
    first = rng.uniform(size=200) < expit(0.3 + z)
    noise = np.where(first, 0.5, 0.8) * rng.standard_t(4, size=200)
    return pd.DataFrame({"x": x, "z": z, "y": np.where(first, 2.0 + x, -0.5 - x) + noise})


class Curved:
    """Log posterior or likelihood of a mixture, as a function of numbers without bounds."""

    def __init__(self, fit, prior):
        self.fit, self.prior = fit, prior
        self.point = fit.core.point(fit.q)
        self.contrasts = fit.model.gate == "softmax" and not prior

    def numbers(self, draws):
        """Coefficients, log precisions, gate (or its contrast) and log degrees of freedom."""
        gate = draws["gate"]
        if self.contrasts:
            gate = gate[:, 1:] - gate[:, :1]
        parts = [draws["coefficients"], np.log(draws["precision"]), gate]
        if "dof" in draws:
            parts.append(np.log(draws["dof"][:, :1]))
        return np.concatenate([part.reshape(len(gate), -1) for part in parts], axis=1)

    def draw(self, vector):
        """Parameters at these numbers."""
        sizes = [self.point["coefficients"].size, self.point["precision"].size]
        lines, log_precision, rest = np.split(vector, np.cumsum(sizes))
        found = {
            "coefficients": lines.reshape(self.point["coefficients"].shape),
            "precision": np.exp(log_precision).reshape(self.point["precision"].shape),
        }
        shape = self.point["gate"].shape
        n_gate = int(np.prod(shape)) // (2 if self.contrasts else 1)
        gate = rest[:n_gate].reshape(1, -1, shape[2])
        found["gate"] = np.concatenate([0.0 * gate, gate], axis=1) if self.contrasts else gate
        if "dof" in self.point:
            found["dof"] = np.full(self.point["dof"].shape, np.exp(rest[n_gate]))
        return found

    def height(self, vector):
        """What is maximised."""
        draw, core = self.draw(vector), self.fit.core.given
        rows = self.fit.model.source.map_rows(lambda block: core.log_lik(draw, block))
        own = core.log_prior(draw)[0] + np.log(draw["precision"]).sum()
        return float(rows.sum() + (own if self.prior else 0.0))


@pytest.mark.parametrize("prior", [True, False], ids=["mode", "likelihood"])
@pytest.mark.parametrize("gate", ["softmax", "stick-breaking"])
@pytest.mark.parametrize("family", ["gaussian", pytest.param("student", marks=pytest.mark.heavy)])
def test_the_spread_is_the_inverse_of_the_curvature_at_a_maximum(family, gate, prior, data):
    model = bvb.DensityRegression(
        "y ~ x | gating(z)", data, n_components=2, family=family, gate=gate
    )
    fit = model.fit("em", prior=prior, **OPTIONS)
    curved = Curved(fit, prior)
    at = curved.numbers(curved.point)[0]
    steps = 1e-4 * np.eye(len(at))
    slopes = [(curved.height(at + step) - curved.height(at - step)) / 2e-4 for step in steps]
    assert_allclose(slopes, 0.0, atol=2e-3)
    # smaller steps than this lose the flattest direction in the rounding of the height
    curvature = -approx_hess(at, curved.height, epsilon=1e-3)
    errors = np.sqrt(np.diag(np.linalg.inv(curvature)))
    # linear response stops at changes of a thousandth of a variance
    assert_allclose(curved.numbers(fit.draws).std(axis=0, ddof=1), errors, rtol=1e-3)


def test_copies_leave_nothing_of_the_spread_in_the_objective(data):
    model = bvb.DensityRegression("y ~ x | gating(z)", data, n_components=2)
    fit = model.fit("em", prior=False, **OPTIONS)
    curved = Curved(fit, prior=False)
    height = curved.height(curved.numbers(curved.point)[0])
    assert fit.elbo + model.log_jacobian * len(data) == pytest.approx(height, abs=1e-7)
    assert abs(fit.core.kl(fit.q)) < 1e-6
    assert_array_equal(fit.q.experts.mean, fit.core.limit.update(COPIES * fit.stats).experts.mean)


@pytest.mark.heavy
def test_coefficients_that_rows_do_not_tell_apart_have_no_standard_errors():
    """Splines of which a component sees a part only, as least squares would leave them out."""
    frame = bvb.datasets.load("mcycle")
    model = bvb.DensityRegression("accel ~ bs(times, df=6) | gating(times)", frame, n_components=5)
    fit = model.fit("em", prior=False, seed=1, restarts=2, draws=50)
    assert fit.covariance == "mean-field"
    assert "the rows may not identify all coefficients" in fit.response.failure
    assert "too small: the rows may not identify all coefficients" in str(fit)


def test_what_only_a_kind_of_model_has_is_asked_of_it(data):
    core = Em().model_for(bvb.DensityRegression("y ~ x", data, n_components=2).core)
    assert core.gate is core.limit.gate and core.coefficient_meaning() == (
        "log odds against component 1"
    )
    with pytest.raises(AttributeError, match="no_such_verb"):
        _ = core.no_such_verb


def test_draws_that_are_standardised_have_moments_of_the_standard_normal():
    draws = standardised(50, 7, np.random.default_rng(1))
    assert_allclose(draws.mean(axis=0), 0.0, atol=1e-12)
    assert_allclose(np.cov(draws.T), np.eye(7), atol=1e-12)
    few = standardised(5, 7, np.random.default_rng(1))
    assert_array_equal(few, np.random.default_rng(1).standard_normal((5, 7)))
