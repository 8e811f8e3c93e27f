"""Fits by an engine that returns draws: predictions are averages over these, chains are kept."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesvb as bvb
from bayesvb.engines import ENGINES
from bayesvb.engines.base import AbstractEngine, EngineResult
from bayesvb.evaluation.elpd import read_elpd
from bayesvb.storage.arviz_objects import group

pytestmark = pytest.mark.heavy

ROWS, DRAWS = 60, 200


@dataclass(frozen=True)
class Shifted(AbstractEngine):
    """Draws of a posterior that are moved together, by which they are known from those of q."""

    title = "shifted draws"
    posterior = "draws of the posterior"
    shift: float = 0.0

    def run(self, model, source, start, budget, streams):
        return ENGINES["cavi"].run(model, source, start, budget, streams)

    def completed(self, model, source, result, budget, streams):
        draws = dict(model.draws(model.update(result.stats), budget.n_draws, streams.rng("draws")))
        for name in {"coefficients", "mean"} & set(draws):
            draws[name] = draws[name] + self.shift
        return EngineResult(result.stats, result.trace, result.n_iter, True, False, draws, None, 4)


@pytest.fixture(autouse=True)
def table(monkeypatch):
    monkeypatch.setitem(ENGINES, "shifted", Shifted())


def frame():
    rng = np.random.default_rng(3)
    x, z = rng.normal(size=(2, ROWS))
    first = rng.uniform(size=ROWS) < 1.0 / (1.0 + np.exp(-2.0 * z))
    y = np.where(first, 2.0 + x, -2.0 - x) + 0.4 * rng.normal(size=ROWS)
    label = np.array(["red", "green", "blue"])[np.digitize(x + 0.3 * z, [-0.5, 0.5])]
    return pd.DataFrame({"x": x, "z": z, "y": y, "w": x - y, "label": label})


MODELS = {
    "normal noise": lambda: bvb.DensityRegression("y ~ x | gating(z)", frame(), n_components=2),
    "student": lambda: bvb.DensityRegression("y ~ x", frame(), n_components=2, family="student"),
    "two": lambda: bvb.DensityRegression("y + w ~ x | gating(z)", frame(), n_components=2),
    "gaussians": lambda: bvb.GaussianMixture("~ x + y", frame(), n_components=2),
    "classes": lambda: bvb.ConditionalMixtureNetwork("label ~ x + z", frame(), n_experts=2),
    "numbers": lambda: bvb.ConditionalMixtureNetwork("y ~ x + z", frame(), n_experts=2),
}
OPTIONS = {"seed": 1, "restarts": 2, "draws": DRAWS, "combine": "best"}


def fitted(name, **options):
    return MODELS[name]().fit("shifted", **OPTIONS | options)


@pytest.mark.parametrize("name", MODELS)
def test_densities_are_averages_over_draws(name):
    fit = fitted(name, shift=0.3)
    each = group(fit.idata, "log_likelihood")[fit.model.joint_name].to_numpy()
    averaged = np.log(np.exp(each.reshape(-1, ROWS)).mean(axis=0))
    assert_allclose(fit.log_density(frame()), averaged, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", MODELS)
def test_draws_of_q_predict_as_q_does(name):
    """But for the Monte Carlo error of the draws, and for what linear response adds."""
    sampled, plain = fitted(name), MODELS[name]().fit(**OPTIONS)
    density = sampled.log_density(frame()) - plain.log_density(frame())
    assert abs(density.mean()) < 0.02


def test_means_quantiles_and_weights_go_by_the_draws():
    fit, plain = fitted("normal noise", shift=1.0), fitted("normal noise")
    moved = fit.predict(kind="mean") - plain.predict(kind="mean")
    scale = fit.model.scales
    x = (frame()["x"] - scale.parts["mean"].centre[1]) / scale.parts["mean"].scale[1]
    at = (1.0 + x) * scale.response.scale[0]
    assert_allclose(moved, at, rtol=1e-9)
    q = fit.predict(kind="quantile", q=[0.1, 0.9]) - plain.predict(kind="quantile", q=[0.1, 0.9])
    assert np.corrcoef(q[0.1], at)[0, 1] > 0.95
    weights = fit.predict(kind="component")
    assert weights.shape == (ROWS, 2)
    assert_allclose(weights.sum(axis=1), 1.0)
    assert_allclose(weights, plain.predict(kind="component"))


def test_memberships_go_by_the_draws():
    fit = fitted("normal noise", shift=2.0)
    plain = fitted("normal noise")
    assert_allclose(fit.responsibilities().sum(axis=1), 1.0)
    assert np.abs(fit.responsibilities() - plain.responsibilities()).to_numpy().max() > 0.1
    joint = fitted("gaussians")
    assert_allclose(joint.predict(kind="component").sum(axis=1), 1.0)


@pytest.mark.parametrize("name", ["normal noise", "numbers", "two"])
def test_chains_are_an_axis_of_every_sampled_group(name):
    fit = fitted(name)
    for part in ("posterior", "log_likelihood", "posterior_predictive", "sample_stats"):
        sizes = group(fit.idata, part).sizes
        assert (sizes["chain"], sizes["draw"]) == (4, DRAWS // 4)
    assert fit.posterior.sizes["chain"] == 4
    first = group(fit.idata, "posterior")["sigma"].to_numpy()
    assert_allclose(first.reshape(DRAWS, -1), fit.named_draws.values["sigma"].reshape(DRAWS, -1))


def test_pit_values_leave_the_row_out():
    fit = fitted("normal noise")
    plain = MODELS["normal noise"]().fit(**OPTIONS)
    assert np.abs(fit.pit() - plain.pit()).max() < 0.1
    seen = fit.predict(kind="cdf", at=frame()["y"]).squeeze()
    outward = (fit.pit() - 0.5).abs() - (seen - 0.5).abs()
    assert outward.mean() > 0.0


@pytest.mark.filterwarnings("ignore:.*Pareto")
@pytest.mark.parametrize("name", ["normal noise", "classes"])
def test_the_report_and_the_checks_take_them(name, tmp_path):
    fit = fitted(name)
    assert np.isfinite(read_elpd(fit.loo()).elpd)
    assert len(fit.check())
    page = fit.report(tmp_path / "page.html").read_text("utf-8")
    assert "draws that the engine returned" in page


def test_chains_are_judged_in_table_print_and_checks():
    fit = fitted("normal noise")
    table = fit.summary()
    assert (table["r_hat"] < 1.1).all() and (table["ess_bulk"] > 50).all()
    said = str(fit)
    assert f"Chains:    4 of {DRAWS // 4} draws, R-hat at most" in said and "Rhat" in said
    checks = fit.check()
    assert {"Chains agree", "Effective draws"} <= set(checks.index)
    assert checks.loc["Effective draws", "threshold"] == "note: below 400"
    plain = MODELS["normal noise"]().fit(**OPTIONS)
    assert "r_hat" not in plain.summary() and "Chains" not in str(plain)


def test_chains_that_are_apart_are_a_problem():
    fit = fitted("normal noise")
    fit.variational_draws["coefficients"][: DRAWS // 4] += 1.0
    assert fit.check().loc["Chains agree", "grade"] == "problem"
