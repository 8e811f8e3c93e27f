"""Linear response that goes on climbing: from a saddle point, from too early a stop, or not."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesvb as bvb
from bayesvb.engines import settled_response as module
from bayesvb.engines.base import Budget, EngineResult, one_pass
from bayesvb.engines.cavi import Cavi, cavi
from bayesvb.engines.settled_response import joined, settled_response, stepped
from bayesvb.errors import ConvergenceWarning
from bayesvb.numerics.streams import Streams
from bayesvb.sensitivity.covariance import linear_response, response_or_direction
from bayesvb.variational.linear_predictors import LogitStats

FORMULA = "y ~ x + z | gating(x)"


def responding(model, source, stats, **options):
    streams = Streams(1).branch("response")
    return settled_response(
        model, source, stats, np.random.default_rng(1), Cavi(), streams, **options
    )


@pytest.fixture(scope="module")
def saddle(regimes):
    """Two components that share all rows alike, settled there: they would rather part."""
    model = bvb.DensityRegression(FORMULA, regimes, n_components=2)
    core, source = model.core, model.source
    halves = np.full((2, len(regimes)), 0.5)
    (block,) = source.blocks
    stats = core.first_stats(core.partition_stats(block, halves))
    for _ in range(200):
        posterior = core.update(stats)
        sweep = source.map_reduce(partial(core.e_step, posterior))
        stats = core.global_step(posterior, sweep.stats)
    return core, source, stats


def test_a_saddle_is_left_behind(saddle):
    core, source, stats = saddle
    before = one_pass(core, source, stats).bound
    assert "not at a maximum" in linear_response(core, source, stats).failure
    found = responding(core, source, stats)
    assert found.response.failure is None and not found.uphill
    assert found.further.bound > before + 10.0
    assert (np.diff(found.further.trace) > -1e-9).all()
    again = linear_response(core, source, found.further.stats)
    assert_allclose(found.response.covariance, again.covariance)
    assert found.response.n_iter > again.n_iter


def test_the_direction_is_that_in_which_the_bound_rises_and_one_sd_long(saddle):
    core, source, stats = saddle
    _, direction = response_or_direction(core, source, stats)
    centre, here = stats.to_vector(), one_pass(core, source, stats).bound
    for size in (0.1, -0.1, 1.0, -1.0):
        assert one_pass(core, source, stats.with_vector(centre + size * direction)).bound > here
    expectations = [
        core.coordinates(core.update(stats.with_vector(centre + step * direction))).expectations()
        for step in (1e-3, -1e-3)
    ]
    variance = (expectations[0] - expectations[1]) @ direction / 2e-3
    assert variance == pytest.approx(1.0, rel=1e-3)
    ahead = stepped(core, source, stats, direction)
    assert one_pass(core, source, ahead).bound > here


def test_a_maximum_is_stayed_at(regimes_fit):
    source = regimes_fit.model.source
    found = responding(regimes_fit.core, source, regimes_fit.stats)
    assert found.further is None and not found.uphill
    assert_array_equal(found.response.covariance, regimes_fit.response.covariance)
    direction = np.ones_like(regimes_fit.stats.to_vector())
    assert stepped(regimes_fit.core, source, regimes_fit.stats, direction) is regimes_fit.stats


def test_attempts_are_bounded_and_the_end_is_told(saddle, monkeypatch):
    core, source, stats = saddle
    uphill, calls = np.zeros_like(stats.to_vector()), []

    def never(*arguments):
        calls.append(1)
        return module.withheld("no maximum", 7), uphill

    monkeypatch.setattr(module, "response_or_direction", never)
    found = responding(core, source, stats, budget=Budget(max_iter=3))
    assert found.uphill and found.response.failure == "no maximum"
    assert len(calls) == module.ATTEMPTS and found.response.n_iter == 7 * module.ATTEMPTS
    assert found.further.n_iter == 3 * (module.ATTEMPTS - 1)


def test_each_attempt_is_at_a_stricter_tolerance(saddle, monkeypatch):
    core, source, stats = saddle
    tolerances = []

    class Watched(Cavi):
        def run(self, model, source, start, budget, streams):
            tolerances.append(budget.tol)
            return super().run(model, source, start, budget, streams)

    def never(*arguments):
        return module.withheld("no maximum"), np.zeros_like(stats.to_vector())

    monkeypatch.setattr(module, "response_or_direction", never)
    streams = Streams(1).branch("response")
    budget = Budget(tol=0.5, max_iter=2)
    settled_response(core, source, stats, np.random.default_rng(1), Watched(), streams, budget)
    assert_allclose(tolerances, 0.5 * module.STRICTER ** np.arange(1, module.ATTEMPTS))


def test_a_fit_that_ended_at_a_saddle_is_the_one_further_up(saddle, regimes, monkeypatch):
    """Bound, trace, table, labels and linear response are those of where it went on to."""
    _, _, stats = saddle

    class Stays(Cavi):
        """Ends at the saddle point the first time."""

        def run(self, model, source, start, budget, streams):
            if budget.tol < 1e-3:
                return super().run(model, source, start, budget, streams)
            return EngineResult(stats, np.array([one_pass(model, source, stats).bound]), 1, True)

    monkeypatch.setitem(bvb.engines.ENGINES, "cavi", Stays())
    model = bvb.DensityRegression(FORMULA, regimes, n_components=2)
    fit = model.fit(seed=1, restarts=1, draws=50, covariance="linear-response")
    monkeypatch.undo()
    assert fit.covariance == "linear-response" and fit.converged
    units = model.log_jacobian * model.source.total_weight
    bound = one_pass(fit.core, model.source, fit.stats).bound - units
    assert fit.elbo == pytest.approx(bound, rel=1e-12)
    assert fit.elbo == fit.elbo_trace.iloc[-1] == fit.restarts.loc[1, "elbo"]
    assert fit.n_iter == fit.restarts.loc[1, "n_iter"] > 10
    assert fit.components()["share"].is_monotonic_decreasing
    other = linear_response(fit.core, model.source, fit.stats)
    assert_allclose(fit.response.covariance, other.covariance, atol=1e-6)


def test_no_maximum_at_all_is_warned_of_once_with_the_remedy(regimes, monkeypatch):
    def always(*arguments, **options):
        return module.SettledResponse(module.withheld("the fit is not at a maximum"), uphill=True)

    monkeypatch.setattr("bayesvb.estimators.fitting.settled_response", always)
    model = bvb.DensityRegression(FORMULA, regimes, n_components=2)
    with pytest.warns(
        ConvergenceWarning, match="not end at a maximum.*fewer components.*smaller tol"
    ) as seen:
        fit = model.fit(seed=1, restarts=1, draws=30)
    assert len(seen) == 1 and fit.covariance == "mean-field"
    monkeypatch.undo()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(seed=1, restarts=1, draws=30)


def test_ascents_are_joined_without_saying_a_bound_twice():
    stats = LogitStats(np.ones((1, 1)), np.ones((1, 1)))
    first = EngineResult(stats, np.array([1.0, 2.0]), 4, True)
    on, jump = (EngineResult(stats, np.array(t), 3, False) for t in ([2.0, 2.5], [2.2, 2.5]))
    assert joined(first, on).trace.tolist() == [1.0, 2.0, 2.5]
    assert joined(first, jump).trace.tolist() == [1.0, 2.0, 2.2, 2.5]
    assert joined(first, on).n_iter == 7 and not joined(first, on).converged


def test_a_sample_settles_by_the_same_rule(monkeypatch):
    rng = np.random.default_rng(2)
    x = rng.normal(size=6000)
    y = np.where(rng.random(6000) < 0.5, 1.0 + x, -1.0) + 0.5 * rng.normal(size=6000)
    model = bvb.DensityRegression("y ~ x", pd.DataFrame({"x": x, "y": y}), n_components=3)
    fit = model.fit(seed=1, restarts=1, draws=30, covariance="mean-field")
    monkeypatch.setattr(module, "MANY_ROWS", 3000)
    seen = []

    def watched(core, rows, stats):
        seen.append((core, rows, stats))
        return response_or_direction(core, rows, stats)

    monkeypatch.setattr(module, "response_or_direction", watched)
    found = responding(fit.core, model.source, fit.stats)
    assert found.response.failure is None and found.further is None
    core, rows, stats = seen[-1]
    assert rows.n_rows == 1500 and rows.total_weight == pytest.approx(6000.0)
    rest = cavi(core, rows, stats, tol=1e-9, max_iter=20_000)
    assert rest.bound - one_pass(core, rows, stats).bound < 0.01


@pytest.mark.heavy
def test_what_a_sample_hardly_tells_does_not_spread_to_what_it_tells(monkeypatch):
    rng = np.random.default_rng(3)
    x, chosen = rng.normal(size=8000), rng.choice(3, 8000, p=[0.2, 0.5, 0.3])
    y = np.choose(chosen, [3.0 + x, -3.0, 0.3 * x]) + 0.5 * rng.normal(size=8000)
    model = bvb.DensityRegression("y ~ x", pd.DataFrame({"x": x, "y": y}), n_components=3)
    fit = model.fit(seed=1, restarts=1, tol=1e-7, draws=30, covariance="mean-field")
    q = fit.core.update(fit.stats)
    draws = fit.core.draws(q, 2000, np.random.default_rng(4))
    sds = []
    for rows in (module.MANY_ROWS, 1000):
        monkeypatch.setattr(module, "MANY_ROWS", rows)
        response = responding(fit.core, model.source, fit.stats).response
        gate = response.move(fit.core, q, draws)[0]["gate"]
        sds.append((gate[:, 1:] - gate[:, :1]).std(axis=0))
    assert gate.mean(axis=1).std(axis=0)[0] > 30.0 * sds[1].max()  # a shift of all logits
    assert_allclose(sds[1], sds[0], rtol=0.4)


def test_an_engine_that_does_not_climb_has_none(saddle):
    class Wanders(Cavi):
        maximises_bound = False

    core, source, stats = saddle
    streams = Streams(1).branch("response")
    found = settled_response(core, source, stats, np.random.default_rng(1), Wanders(), streams)
    assert "does not end at a maximum" in found.response.failure and not found.uphill
