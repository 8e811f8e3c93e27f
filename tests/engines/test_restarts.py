"""Several ascents, the best one kept: the table, the traces, large sources, Ctrl-C."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import bayesvb as bvb
from bayesvb.data.sources import InMemorySource
from bayesvb.data.statistics import BoundGap
from bayesvb.engines import restarts as engine
from bayesvb.engines.base import Budget, EngineResult
from bayesvb.engines.cavi import HOPELESS_PASSES, ROUNDING, Cavi, cavi
from bayesvb.engines.partitions import STARTS
from bayesvb.engines.restarts import search
from bayesvb.errors import ConvergenceWarning
from bayesvb.gates import GATES
from bayesvb.numerics.streams import Streams

FORMULA = "y ~ x + z | gating(x)"


def model(data, **options):
    return bvb.DensityRegression(FORMULA, data, **{"n_components": 2, **options})


def searched(fitted, restarts, *, seed=1, progress=None, source=None, rough=False, **budget):
    return search(
        fitted.core,
        source or fitted.source,
        Cavi(),
        restarts=restarts,
        budget=Budget(**budget),
        streams=Streams(seed, restarts),
        rough=rough,
        progress=progress,
    )


def interruption(run, passes):
    """A watcher that presses Ctrl-C in this run after so many passes."""

    def progress(number, n_iter, bound):
        if number == run and n_iter >= passes:
            raise KeyboardInterrupt

    return progress


def bound_of(mixture, source, stats):
    """Lower bound of the posterior that these statistics make, computed anew."""
    posterior = mixture.update(stats)
    sweep = source.map_reduce(lambda block: mixture.e_step(posterior, block))
    return sweep.bound - mixture.kl(posterior)


# -- the table and the traces --------------------------------------------------------------------


def test_starts_take_turns_and_the_largest_bound_wins(regimes):
    found = searched(model(regimes), 5)
    kinds = list(STARTS)
    assert [run.start for run in found.runs] == [*kinds, *kinds[:2]]
    bounds = [run.ascent.bound for run in found.runs]
    # Of runs that reach one optimum to rounding, the first wins.
    assert bounds[found.best] == pytest.approx(max(bounds), abs=1e-5)
    assert found.final is found.runs[found.best].ascent
    assert not found.interrupted


def test_a_single_start_is_ranked_with_none_and_meets_the_tolerance_itself(regimes, monkeypatch):
    budgets = []

    def noted(self, model, source, start, budget, streams):
        budgets.append(budget)
        return cavi(model, source, start, tol=budget.tol, max_iter=budget.max_iter)

    monkeypatch.setattr(Cavi, "run", noted)
    found = searched(model(regimes), 1, tol=0.1)
    assert [budget.tol for budget in budgets] == [0.1]
    assert found.final is found.runs[0].ascent


@pytest.mark.parametrize("rough", [False, True])
def test_runs_that_cannot_reach_the_first_two_end_early(regimes, monkeypatch, rough):
    floors, bounds = [], []

    def noted(self, model, source, start, budget, streams):
        found = cavi(model, source, start, tol=0.1, max_iter=6)
        floors.append(budget.floor)
        bounds.append(found.bound)
        return found

    monkeypatch.setattr(Cavi, "run", noted)
    searched(model(regimes), 4, rough=rough)
    two = max(bounds[:2]) - engine.RIVAL
    compared = [-np.inf, bounds[0] - engine.RIVAL, two, two]
    assert floors[:4] == ([-np.inf] * 4 if rough else compared)


def test_an_elbo_out_of_reach_ends_a_run(regimes):
    fitted = model(regimes, n_components=4)
    started = searched(fitted, 1, max_iter=1, rough=True).runs[0].ascent
    ended = cavi(fitted.core, fitted.source, started.stats, tol=0.0, floor=started.bound + 1e9)
    assert HOPELESS_PASSES <= ended.n_iter <= HOPELESS_PASSES + 2
    assert not ended.converged
    known = cavi(fitted.core, fitted.source, started.stats, tol=1e-3)
    near = cavi(fitted.core, fitted.source, started.stats, tol=1e-3, floor=known.bound - 1.0)
    assert_array_equal(near.trace, known.trace)


def test_the_table_has_a_row_per_restart(regimes_fit):
    table = regimes_fit.restarts
    assert table.index.name == "restart"
    assert table.index.tolist() == [1, 2]
    assert list(table) == ["initialisation", "elbo", "n_iter", "converged", "rows", "seconds",
                           "best", "prediction_distance"]  # fmt: skip
    assert table["best"].sum() == 1
    assert table["elbo"].idxmax() == table.index[table["best"]][0] == regimes_fit.best_restart
    assert (table["rows"] == 150).all()
    assert table["converged"].all()
    best = table.loc[regimes_fit.best_restart]
    assert (best["elbo"], best["n_iter"]) == (regimes_fit.elbo, regimes_fit.n_iter)
    assert 0.0 < table["seconds"].sum() < regimes_fit.seconds


def test_bounds_end_where_the_traces_end(regimes_fit):
    assert list(regimes_fit.traces) == [1, 2]
    for number, trace in regimes_fit.traces.items():
        assert trace[-1] == pytest.approx(regimes_fit.restarts.loc[number, "elbo"], rel=1e-13)
    trace = regimes_fit.elbo_trace
    assert (trace.name, trace.index.name, trace.index[0]) == ("elbo", "sweep", 1)
    assert_array_equal(trace, regimes_fit.traces[regimes_fit.best_restart])


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("n_components", [1, 2, 5])
@pytest.mark.quick(gate=("softmax", "dirichlet"))
def test_traces_never_fall(regimes, gate, n_components):
    fitted = model(regimes.head(60), gate=gate, n_components=n_components)
    found = searched(fitted, 3, tol=1e-5, rough=True)
    for run in found.runs:
        falls = -np.diff(run.ascent.trace)
        assert (falls <= ROUNDING * np.abs(run.ascent.trace[1:])).all()
        assert run.ascent.converged


def test_the_bound_is_that_of_the_state_that_is_kept(regimes_fit):
    stats, source = regimes_fit.stats, regimes_fit.model.source
    units = source.total_weight * np.log(regimes_fit.model.scales.response.scale).sum()
    found = bound_of(regimes_fit.core, source, stats) - units
    assert found == pytest.approx(regimes_fit.elbo, rel=1e-12)


def test_more_restarts_leave_the_first_ones_as_they_are(regimes):
    few, many = (searched(model(regimes), n, rough=True) for n in (2, 3))
    for mine, other in zip(few.runs, many.runs, strict=False):
        assert_array_equal(mine.ascent.trace, other.ascent.trace)


def test_the_best_run_alone_meets_the_tolerance_and_stays_the_best(regimes):
    fitted = model(regimes, n_components=4)
    rough, found = (searched(fitted, 4, rough=one) for one in (True, False))
    assert found.best == rough.best
    for number, (mine, other) in enumerate(zip(found.runs, rough.runs, strict=True)):
        length = len(other.ascent.trace)
        assert_array_equal(mine.ascent.trace[:length], other.ascent.trace)
        assert (mine.ascent.n_iter > other.ascent.n_iter) == (number == found.best)
    assert found.final.converged and found.final is found.runs[found.best].ascent
    rest = cavi(fitted.core, fitted.source, found.final.stats, tol=1e-9, max_iter=5000)
    assert rest.bound - found.final.bound < 0.01


def test_runs_over_all_rows_are_finished_as_they_are(regimes):
    fitted = model(regimes)
    found = searched(fitted, 2, max_iter=5)
    ascents = [found.finished(number, fitted.source, Budget()) for number in range(2)]
    assert all(ascent is run.ascent for ascent, run in zip(ascents, found.runs, strict=True))


def test_an_engine_that_does_not_climb_runs_once(regimes):
    calls = []

    class Wanders(Cavi):
        maximises_bound = False

        def run(self, model, source, start, budget, streams):
            calls.append(budget.tol)
            return super().run(model, source, start, budget, streams)

    fitted, streams = model(regimes), Streams(1, 2)
    search(fitted.core, fitted.source, Wanders(), restarts=2, budget=Budget(), streams=streams)
    assert calls == [Budget().tol] * 2


# -- more rows than restarts go over -------------------------------------------------------------


@pytest.fixture
def small_screen(monkeypatch):
    monkeypatch.setattr(engine, "SCREEN_ROWS", 80)
    monkeypatch.setattr(engine, "PER_COEFFICIENT", 0)


@pytest.mark.parametrize("gate", GATES)
def test_a_large_source_is_screened_on_a_sample_and_finished_on_all_rows(
    regimes, gate, small_screen
):
    weights = np.arange(len(regimes)) % 3 + 0.5
    fitted = model(regimes, gate=gate, weights=weights)
    fit = fitted.fit(seed=1, restarts=3, draws=30)
    assert (fit.restarts["rows"] == 40).all()
    assert list(fit.traces) == [1, 2, 3, "final"]
    assert fit.converged
    assert fit.elbo == fit.traces["final"][-1]
    units = weights.sum() * np.log(fitted.scales.response.scale).sum()
    assert bound_of(fit.core, fitted.source, fit.stats) - units == pytest.approx(fit.elbo)


def test_the_best_optimum_of_a_sample_on_all_rows_wins(regimes, small_screen, monkeypatch):
    """The start that is best on the sample loses 100 nats on all rows."""
    monkeypatch.setattr(engine, "WITHIN", np.inf)
    monkeypatch.setattr(engine, "APART", -1.0)
    fitted = model(regimes, n_components=3)
    before = searched(fitted, 4)

    class Penalty(Cavi):
        def run(self, model, source, start, budget, streams):
            found = super().run(model, source, start, budget, streams)
            is_lower = source.n_rows == 150 and str(before.best + 1) in streams.path
            return replace(found, trace=found.trace - 100.0 * is_lower)

    options = {"restarts": 4, "budget": Budget(), "streams": Streams(1, 4)}
    found = search(fitted.core, fitted.source, Penalty(), **options)
    assert found.best != before.best and found.best in engine._finalists(before.runs)
    assert found.final.bound == bound_of(fitted.core, fitted.source, found.final.stats)
    assert [run.score for run in found.runs] == [run.score for run in before.runs]


def test_finalists_are_different_optima_near_the_best(regimes):
    (run,) = searched(model(regimes), 1, max_iter=1).runs
    scores = [-5.0, -5.01, -60.0, -7.0, -1.0, -1.05, -4.0, -8.0]
    runs = [replace(run, score=score) for score in scores]
    assert engine._finalists(runs) == [4, 6, 0, 3]
    assert engine._finalists(runs[:4]) == [0, 3]


def test_many_rows_are_seen_in_three_steps(regimes, monkeypatch):
    for name, limit in {"MANY_ROWS": 100, "SCREEN_ROWS": 40, "PER_COEFFICIENT": 0}.items():
        monkeypatch.setattr(engine, name, limit)
    rows = []

    class Watched(Cavi):
        def run(self, model, source, *arguments):
            rows.append(source.n_rows)
            return super().run(model, source, *arguments)

    fitted, streams = model(regimes), Streams(1, 2)
    source = fitted.source
    search(fitted.core, source, Watched(), restarts=2, budget=Budget(), streams=streams)
    assert sorted(set(rows)) == [20, 50, 150] and rows == sorted(rows) and rows.count(150) == 1
    found = searched(fitted, 2, progress=interruption(2, 2))
    assert (
        found.interrupted and bound_of(fitted.core, source, found.final.stats) == found.final.bound
    )
    assert engine.sample_sizes(fitted.core, Cavi(), source, rough=True) == [150, 50]
    monkeypatch.setattr(engine, "PER_COEFFICIENT", 4)  # two components; y, x, z, 1 and x, 1
    assert engine.sample_sizes(fitted.core, Cavi(), source) == [150, 50, 24]


def test_screening_finds_the_optimum_that_all_rows_have(regimes, regimes_fit, small_screen):
    fit = model(regimes).fit(seed=1, restarts=2, draws=30)
    assert fit.elbo == pytest.approx(regimes_fit.elbo, abs=0.01)


def test_bounds_on_a_sample_are_in_the_units_of_the_data(regimes, small_screen):
    """The same sample of the same rows in other units: per unit of weight log 10 less."""
    weights = np.arange(len(regimes)) % 3 + 0.5
    here, there = (
        model(regimes.assign(y=regimes["y"] * factor), weights=weights).fit(
            seed=1, restarts=2, draws=30
        )
        for factor in (1.0, 10.0)
    )
    differences = here.restarts["elbo"] - there.restarts["elbo"]
    whole = weights.sum() * np.log(10.0)
    assert here.elbo - there.elbo == pytest.approx(whole, rel=1e-9)
    assert differences.between(0.15 * whole, 0.4 * whole).all()  # 40 of 150 rows
    for number in (1, 2):
        assert here.traces[number][-1] == pytest.approx(here.restarts.loc[number, "elbo"])


# -- rough runs, some of which go on -------------------------------------------------------------


def test_only_the_runs_that_count_go_on_until_they_converge(regimes):
    fitted = model(regimes, n_components=3)
    rough = searched(fitted, 4, rough=True)
    task = engine._Task(
        rough.engine, fitted.source, Budget(tol=1e-5), rough.streams.branch("whole")
    )
    whole = replace(rough, runs=tuple(task.continued(run) for run in rough.runs))
    seen = []
    found = rough.settled([2, 0], Budget(), lambda *state: seen.append(state))
    for number in (2, 0):
        passes = [n for run, n, _ in seen if run == number]
        assert passes == sorted(passes) and passes[0] > rough.runs[number].ascent.n_iter
    for number in (1, 3):
        assert found.runs[number] is rough.runs[number]
    for number in (0, 2):
        run, before = found.runs[number], rough.runs[number]
        length = len(before.ascent.trace)
        assert_array_equal(run.ascent.trace[:length], before.ascent.trace)
        assert (np.diff(run.ascent.trace) >= -ROUNDING * abs(run.ascent.bound)).all()
        assert run.ascent.n_iter > before.ascent.n_iter and run.ascent.converged
        assert run.ascent.bound == pytest.approx(whole.runs[number].ascent.bound, abs=0.01)
        assert bound_of(run.model, fitted.source, run.ascent.stats) == run.ascent.bound
        assert run.score == run.ascent.bound
    assert sum(run.ascent.n_iter for run in rough.runs) < sum(r.ascent.n_iter for r in whole.runs)


def test_a_run_that_used_all_its_passes_does_not_go_on(regimes):
    rough = searched(model(regimes), 2, rough=True, max_iter=5)
    found = rough.settled([0, 1], Budget(max_iter=5))
    for run, before in zip(found.runs, rough.runs, strict=True):
        assert run.ascent.stats is before.ascent.stats and run.ascent.n_iter == 5
    assert not found.final.converged


@pytest.mark.parametrize(
    ("steps", "told"),
    [(1, r"\(by 2 nats in the last step\)"),
     (8, r"\(by 2 nats in the last step, 16 in the last 8\)"),
     (250, r"\(by 2 nats in the last step, 200 in the last 100\)")],
)  # fmt: skip
@pytest.mark.usefixtures("unchecked")
def test_the_warning_tells_what_the_bound_gained_last(steps, told):
    ended = EngineResult(None, np.zeros(1), 1, True)
    slow = replace(ended, trace=np.arange(300.0), converged=False)
    cut = replace(slow, trace=2.0 * np.arange(steps + 1.0) - 900.0)
    with pytest.warns(ConvergenceWarning, match=rf"increasing {told} after max_iter=9 iterations"):
        engine.warn_if_unfinished([ended, slow, cut], 9, interrupted=False)


def test_of_a_single_bound_no_gain_is_told(regimes):
    with pytest.warns(ConvergenceWarning, match="still increasing after max_iter=1 iterations"):
        model(regimes).fit(seed=1, restarts=1, max_iter=1, draws=25)


def test_a_rough_run_that_ended_with_its_last_pass_has_not_converged(regimes):
    fitted = model(regimes)
    passes = searched(fitted, 1, rough=True).final.n_iter
    rough = searched(fitted, 1, rough=True, max_iter=passes)
    assert rough.final.converged and rough.final.n_iter == passes
    assert not rough.settled([0], Budget(max_iter=passes)).final.converged


@pytest.mark.parametrize("calls", [1, 2])
def test_ctrl_c_while_runs_go_on_keeps_them_all(regimes, calls):
    count = []

    class Stopped(Cavi):
        def run(self, *arguments):
            count.append(1)
            if len(count) > calls - 1:
                raise KeyboardInterrupt
            return super().run(*arguments)

    rough = searched(model(regimes), 3, rough=True)
    found = replace(rough, engine=Stopped()).settled([0, 1, 2], Budget())
    assert found.interrupted and len(found.runs) == 3
    assert found.runs[1:] == rough.runs[1:]


# -- Ctrl-C --------------------------------------------------------------------------------------


@pytest.mark.parametrize("run", [0, 1])
def test_ctrl_c_keeps_the_best_state_so_far(regimes, run):
    whole = searched(model(regimes), 3)
    found = searched(model(regimes), 3, progress=interruption(run, 3))
    assert found.interrupted
    assert len(found.runs) == run + 1
    assert found.best == int(np.argmax([r.ascent.bound for r in found.runs]))
    for mine, undisturbed in zip(found.runs, whole.runs, strict=False):
        length = len(mine.ascent.trace)
        assert_array_equal(mine.ascent.trace, undisturbed.ascent.trace[:length])


@pytest.mark.parametrize("run", [0, 1, 2])
def test_ctrl_c_warns_and_says_so_in_the_fit(regimes, run):
    with pytest.warns(ConvergenceWarning, match="interrupted.*best state so far"):
        fit = model(regimes).fit(seed=1, restarts=3, draws=30, progress=interruption(run, 3))
    assert not fit.converged
    assert len(fit.restarts) == run + 1
    assert "NOT CONVERGED" in str(fit)
    assert np.isfinite(fit.predict()).all()


@pytest.mark.parametrize("run", [0, 1, 3])
def test_ctrl_c_with_many_rows_still_gives_the_bound_of_all_rows(regimes, run, small_screen):
    fitted = model(regimes)
    found = searched(fitted, 3, progress=interruption(run, 2))
    assert found.interrupted
    assert len(found.runs) == min(run + 1, 3)
    assert bound_of(fitted.core, fitted.source, found.final.stats) == found.final.bound


def test_ctrl_c_between_two_restarts_keeps_the_first(regimes, monkeypatch):
    def stop(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setitem(STARTS, "residuals", stop)
    found = searched(model(regimes), 3)
    assert found.interrupted
    assert len(found.runs) == 1


def test_ctrl_c_before_there_is_any_state_goes_through(regimes, monkeypatch):
    def stop(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setitem(STARTS, "k-means", stop)
    with pytest.raises(KeyboardInterrupt):
        searched(model(regimes), 3)


def test_ctrl_c_during_the_first_pass_over_all_rows(regimes, small_screen, monkeypatch):
    fitted, pressed = model(regimes), []
    enlarged = engine.enlarged

    def stop_once(*arguments):
        if not pressed:
            pressed.append(True)
            raise KeyboardInterrupt
        return enlarged(*arguments)

    monkeypatch.setattr(engine, "enlarged", stop_once)
    found = searched(fitted, 2)
    assert found.interrupted
    assert bound_of(fitted.core, fitted.source, found.final.stats) == found.final.bound


# -- odd numbers of components and rows ----------------------------------------------------------


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.quick(gate=("softmax", "dirichlet"))
def test_twenty_components_on_thirty_rows(regimes, gate):
    fit = model(regimes.head(30), gate=gate, n_components=20).fit(
        seed=1, restarts=3, draws=30, tol=1e-4
    )
    assert fit.converged
    assert np.isfinite(fit.log_density()).all()
    assert np.isfinite(fit.summary()["mean"]).all()
    assert fit.components()["share"].sum() == pytest.approx(1.0)


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.quick(gate=("softmax", "dirichlet"))
def test_more_components_than_distinct_rows(regimes, gate):
    rows = regimes.head(4).loc[[0, 1, 2, 3] * 5].reset_index(drop=True)
    fit = model(rows, gate=gate, n_components=9).fit(seed=1, restarts=3, draws=30, tol=1e-4)
    assert np.isfinite(fit.log_density()).all()
    assert fit.components()["rows"].sum() == 20


def test_empty_components_change_nothing_but_the_prior(regimes, regimes_fit):
    """Five components where two suffice: the density is the same within 0.03 nats a row."""
    fit = model(regimes, n_components=5).fit(seed=1, restarts=2, draws=30, tol=1e-5)
    assert (fit.components()["share"] > 0.05).sum() == 2
    gap = fit.log_density() - regimes_fit.log_density()
    assert abs(gap.mean()) < 0.03
    assert fit.components()["membership_prob"].isna().any()


def test_sources_in_blocks_and_threads_give_the_same_search(regimes):
    fitted = model(regimes)
    (block,) = fitted.source.blocks
    pieces = tuple(block.split(31))
    one, two = (
        searched(fitted, 2, source=InMemorySource(pieces, workers=workers)) for workers in (1, 2)
    )
    whole = searched(fitted, 2)
    assert one.final.bound == two.final.bound
    assert_array_equal(one.final.stats.to_vector(), two.final.stats.to_vector())
    assert one.final.bound == pytest.approx(whole.final.bound, rel=1e-9)


def test_nothing_is_made_of_a_run_that_ctrl_c_ended():
    run = EngineResult(BoundGap(0.0), np.zeros(1), n_iter=1, converged=False, interrupted=True)
    with pytest.raises(KeyboardInterrupt):
        run.whole()
    ended = replace(run, interrupted=False)
    assert ended.whole() is ended


def test_ctrl_c_when_the_last_restart_has_just_ended_is_heard(regimes, monkeypatch):
    def heard_late(tasks, *arguments, **options):
        yield from (task(None) for task in tasks)
        raise KeyboardInterrupt

    monkeypatch.setattr(engine, "side_by_side", heard_late)
    found = searched(model(regimes), 2, rough=True)
    assert found.interrupted and len(found.runs) == 2
