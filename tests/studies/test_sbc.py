"""Simulation-based calibration: uniform where the posterior is exact, not where it is narrow."""

import os
import subprocess
import time
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import bayesvb as bvb
from bayesvb.data.blocks import Block
from bayesvb.data.sources import InMemorySource
from bayesvb.engines import ENGINES
from bayesvb.engines.base import AbstractEngine
from bayesvb.errors import ConvergenceWarning, DataError
from bayesvb.numerics.streams import EngineStreams
from bayesvb.results.limits import LIMITS
from bayesvb.results.named_draws import ModelDraws
from bayesvb.studies.quantities import Quantities, representative_rows
from bayesvb.studies.replication import ranks_among
from bayesvb.studies.simulated_rows import explaining

QUICK = {"restarts": 1, "covariance": "mean-field", "n_jobs": 1}


def line(n=25, seed=1):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return pd.DataFrame({"x": x, "y": x + 0.5 * rng.normal(size=n)})


@pytest.fixture(scope="module")
def exact_model():
    """One component with its conjugate prior: the variational posterior is exact."""
    fixed = bvb.Priors(scales="fixed")
    return bvb.DensityRegression("y ~ x", line(), n_components=1, priors=fixed)


@dataclass(frozen=True)
class Narrow(AbstractEngine):
    """Coordinate ascent whose draws are brought nearer to their mean."""

    title = "narrow"
    factor: float = 0.5

    def run(self, model, source, start, budget, streams):
        return ENGINES["cavi"].run(model, source, start, budget, streams)

    def completed(self, model, source, result, budget, streams):
        draws = model.draws(model.update(result.stats), budget.n_draws, streams.rng("draws"))
        near = {
            name: values.mean(axis=0) + self.factor * (values - values.mean(axis=0))
            for name, values in draws.items()
        }
        return replace(result, draws=near)


@pytest.mark.heavy
def test_ranks_of_an_exact_posterior_are_uniform(exact_model):
    audit = bvb.sbc(exact_model, 60, seed=1, **QUICK)
    assert audit.uneven == []
    assert audit.coverage["deviation"].abs().lt(4.0 * audit.coverage["se"]).all()
    assert set(audit.kinds) == {"mean", "sd", "probability", "log likelihood"}


@pytest.mark.heavy
def test_draws_of_half_the_spread_are_found_out(exact_model, monkeypatch):
    monkeypatch.setitem(ENGINES, "narrow", Narrow())
    audit = bvb.sbc(exact_model, 40, "narrow", seed=1, restarts=1, n_jobs=1)
    assert {"mean", "sd"} <= {kind for kind, _ in audit.uneven}
    ninety = audit.coverage.xs(0.9, level="prob")
    assert (ninety["coverage"][["mean", "sd"]] < 0.9 - 2.0 * ninety["se"][["mean", "sd"]]).all()
    assert audit.replications["covariance"].eq("engine").all()


@pytest.mark.heavy
def test_posterior_calibration_of_an_exact_posterior_is_uniform(exact_model):
    fit = exact_model.fit(seed=2, restarts=1, covariance="mean-field", n_jobs=1)
    audit = bvb.sbc(fit, 150, seed=3, restarts=1, n_jobs=1)
    assert audit.parameters_from == "posterior" and audit.uneven == []
    assert audit.options["covariance"] == "mean-field"


@pytest.mark.heavy
def test_false_alarms_are_as_rare_as_is_said(exact_model):
    found = [bool(bvb.sbc(exact_model, 40, seed=seed, **QUICK).uneven) for seed in range(40)]
    assert np.mean(found) <= 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / 40)


@pytest.mark.heavy
def test_the_seed_decides_and_not_the_number_of_processes(exact_model):
    one, two = (bvb.sbc(exact_model, 6, seed=5, **{**QUICK, "n_jobs": jobs}) for jobs in (1, 2))
    pd.testing.assert_frame_equal(one.ranks, two.ranks)
    other = bvb.sbc(exact_model, 6, seed=6, **QUICK)
    assert not one.ranks.equals(other.ranks)


@pytest.fixture(scope="module")
def models():
    """Public models of every kind, small."""
    data = line(40).assign(u=lambda d: d["x"] ** 2)
    data["label"] = np.where(data["y"] > 0.5, "high", np.where(data["y"] < -0.5, "low", "mid"))
    data["two"] = np.where(data["y"] > 0.0, "high", "low")
    gaps = data.assign(u=data["u"].where(data["x"] < 1.0))
    return {
        "sticks": bvb.DensityRegression("y ~ x", data, n_components=2, gate="stick-breaking"),
        "two responses": bvb.DensityRegression("y + u ~ x", data, n_components=2),
        "student": bvb.DensityRegression("y ~ x", data, n_components=1, family="student"),
        "classes": bvb.ConditionalMixtureNetwork("label ~ x", data, n_experts=2),
        "two classes": bvb.ConditionalMixtureNetwork("two ~ x", data, n_experts=2),
        "numbers": bvb.ConditionalMixtureNetwork("y ~ x", data, n_experts=2),
        "gaussians": bvb.GaussianMixture("~ x + y", data, n_components=2),
        "components": bvb.BayesianPCA("~ x + y + u", gaps),
        "normal": bvb.Normal("y ~ 1", data),
    }


@pytest.mark.heavy
def test_every_model_is_calibrated(models):
    for name, model in models.items():
        audit = bvb.sbc(model, 1, seed=1, max_iter=3, draws=25, **QUICK)
        assert audit.failed.empty, (name, audit.failed["problem"].tolist())
        assert len(audit.ranks) == 1, name


def test_quantities_of_models(models):
    kinds = {
        name: [kind for kind, _ in Quantities.of(model).names] for name, model in models.items()
    }
    assert kinds["classes"] == ["probability"] * 3 * LIMITS.example_rows + ["log likelihood"]
    assert kinds["two classes"] == ["probability"] * LIMITS.example_rows + ["log likelihood"]
    assert kinds["normal"] == ["log density", "log likelihood"]
    assert kinds["two responses"].count("sd") == 2 * LIMITS.example_rows
    assert Quantities.of(models["two responses"]).names[0][1].startswith("y, row ")


@pytest.mark.heavy
def test_a_network_of_several_restarts_has_posterior_calibration(models):
    with pytest.warns(ConvergenceWarning):
        fit = models["classes"].fit(
            seed=1, restarts=2, combine="average", max_iter=2, n_jobs=1, draws=30
        )
    audit = bvb.sbc(fit, 1, seed=1, restarts=1, max_iter=2, draws=25, n_jobs=1)
    assert audit.failed.empty and not audit.replications["converged"].any()
    assert "1 fits did not converge; their ranks count." in str(audit)


# -- rows, quantities, ranks ---------------------------------------------------------------------


@pytest.mark.heavy
def test_representative_rows_are_the_middle_and_the_ends():
    x = np.array([0.1, -3.0, 5.0, 1.0, 0.1, -1.0, 2.0, -0.5])
    block = Block({"mean": np.vstack([np.ones(8), x])}, np.zeros((1, 8)))
    at = representative_rows(InMemorySource((block,)))
    assert x[at[0]] == 0.1 and set(x[at[1:3]]) == {5.0, -3.0}
    assert len(set(x[at])) == LIMITS.example_rows
    same = Block({"mean": np.ones((1, 8))}, np.zeros((1, 8)))
    assert len(representative_rows(InMemorySource((same,)))) == 1


@pytest.mark.heavy
def test_quantities_do_not_depend_on_labels(models):
    model = models["sticks"]
    fit = model.fit(seed=1, **QUICK)
    here = Quantities.of(model)(fit, model.source)
    core, _ = fit.core.permuted((1, 0), fit.stats)
    swapped = {name: values[:, ::-1] for name, values in fit.draws.items() if name != "gate"}
    other = ModelDraws(core, {**swapped, "gate": fit.draws["gate"]})
    there = Quantities.of(model)(other, model.source)
    np.testing.assert_allclose(here, there, rtol=1e-10)


@pytest.mark.heavy
def test_new_responses_leave_designs_and_gaps_as_they_are():
    block = Block({"mean": np.ones((1, 3))}, np.zeros((1, 3)))
    made = explaining(block, np.array([[1.0, 2.0, 3.0]]))
    assert made.designs is block.designs and made.response.tolist() == [[1.0, 2.0, 3.0]]
    designs = {"variables": np.zeros((1, 3)), "observed": np.array([[1.0, 0.0, 1.0]])}
    gapped = explaining(Block(designs, np.empty((0, 3))), np.array([[1.0, 2.0, 3.0]]))
    assert gapped.designs["variables"].tolist() == [[1.0, 0.0, 3.0]]


def test_ranks_count_draws_below_and_share_ties():
    rng = EngineStreams(1).rng("ties")
    draws = np.array([[0.0, np.inf], [1.0, np.inf], [2.0, np.inf], [3.0, 0.0]])
    ranks = np.array([ranks_among(np.array([1.5, np.inf]), draws, rng) for _ in range(400)])
    assert (ranks[:, 0] == 2).all()
    assert_array_equal(np.unique(ranks[:, 1]), [1, 2, 3, 4])
    with pytest.raises(ArithmeticError, match="not a number"):
        ranks_among(np.array([np.nan]), draws[:, :1], rng)


# -- what goes wrong -----------------------------------------------------------------------------


@pytest.mark.heavy
def test_replications_that_fail_are_counted_and_kept(exact_model, monkeypatch):
    whole = Narrow.completed

    def failing(self, model, source, result, budget, streams):
        if streams.seed % 3 == 0:
            raise ArithmeticError("the sampler left the parameter space")
        return whole(self, model, source, result, budget, streams)

    monkeypatch.setattr(Narrow, "completed", failing)
    monkeypatch.setitem(ENGINES, "narrow", Narrow())
    audit = bvb.sbc(exact_model, 12, "narrow", seed=1, restarts=1, n_jobs=1)
    assert 0 < len(audit.failed) < 12 and len(audit.ranks) + len(audit.failed) == 12
    assert len(audit.replications) == 12
    said = f"{len(audit.failed)} replications have no fit"
    assert said in str(audit) and "left the parameter space" in str(audit)


@pytest.mark.heavy
def test_wrong_arguments_are_told(exact_model, unchecked):
    with pytest.raises(DataError, match="must be a model or a fit"):
        bvb.sbc(line(), 2)
    with pytest.raises(DataError, match="replications=0"):
        bvb.sbc(exact_model, 0)
    with pytest.raises(DataError, match="method='gibbs'"):
        bvb.sbc(exact_model, 2, "gibbs")
    with pytest.raises(DataError, match=r"^step=0.1 is not an option of CAVI"):
        bvb.sbc(exact_model, 2, n_jobs=1, step=0.1)
    with pytest.raises(DataError, match=r"none of 2 replications .*tol=-1.0"):
        bvb.sbc(exact_model, 2, n_jobs=1, tol=-1.0)
    weighted = bvb.DensityRegression("y ~ x", line(), n_components=1, weights=[2.0] * 25)
    with pytest.raises(DataError, match="weights"):
        bvb.sbc(weighted, 2)


def test_progress_is_told(exact_model):
    told = []
    bvb.sbc(exact_model, 3, seed=1, progress=lambda *of: told.append(of), **QUICK)
    assert told == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.heavy
def test_ctrl_c_keeps_what_is_done(exact_model):
    def interrupt(done, of):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="2 of 50 replications"):
        audit = bvb.sbc(exact_model, 50, seed=1, progress=interrupt, **QUICK)
    assert len(audit.ranks) == 2 and audit.planned == 50
    assert "Interrupted: 48 replications were not made." in str(audit)


@pytest.mark.heavy
@pytest.mark.skipif(os.name != "posix", reason="processes are counted by their parent's number")
def test_ctrl_c_ends_all_processes_and_keeps_what_is_done(exact_model):
    def interrupt(done, of):
        if done == 3:
            raise KeyboardInterrupt

    before, options = children(), {**QUICK, "n_jobs": 2}
    with pytest.warns(ConvergenceWarning, match="3 of 400 replications"):
        audit = bvb.sbc(exact_model, 400, seed=1, progress=interrupt, **options)
    assert len(audit.ranks) == 3
    ended = time.monotonic() + 20.0
    while not children() <= before and time.monotonic() < ended:
        time.sleep(0.05)
    assert children() <= before


def children():
    """Numbers of the processes that this one has started, and that have not been waited for."""
    said = subprocess.run(["ps", "-eo", "pid=,ppid=,comm="], capture_output=True, text=True)
    lines = [line.split(None, 2) for line in said.stdout.splitlines()]
    return {int(pid) for pid, parent, name in lines if int(parent) == os.getpid() and name != "ps"}


@pytest.mark.heavy
def test_ctrl_c_within_a_fit_goes_through(exact_model, monkeypatch):
    def interrupted(self, model, source, result, budget, streams):
        return replace(result, converged=False, interrupted=True)

    monkeypatch.setattr(Narrow, "completed", interrupted)
    monkeypatch.setitem(ENGINES, "narrow", Narrow())
    with pytest.raises(KeyboardInterrupt):
        bvb.sbc(exact_model, 5, "narrow", seed=1, n_jobs=1)
