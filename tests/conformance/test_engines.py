"""What every engine promises, for every kind of model, and what fits by any engine have."""

from dataclasses import dataclass, field, replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesvb as bvb
from bayesvb.data.sources import AbstractSource, InMemorySource
from bayesvb.engines import ENGINES
from bayesvb.engines.base import AbstractEngine, Budget, EngineResult, one_pass
from bayesvb.engines.cavi import Cavi
from bayesvb.errors import DataError
from bayesvb.evaluation.elpd import read_elpd
from bayesvb.gates import GATES
from bayesvb.numerics.special import ROUNDING
from bayesvb.numerics.streams import Streams

pytestmark = pytest.mark.quick(problem=("softmax", "gaussians", "pca", "normal", "network"))

BLOCK = 17
"""Rows of a block: the 60 rows are in four, the last one shorter."""

SHIFT = 0.5
"""Constant of the sampler's densities, by which they are known from those of q."""


class OneSweep(AbstractEngine):
    """The first sweep of a coordinate ascent, and no more."""

    title = "one sweep"

    def run(self, model, source, start, budget, streams):
        here = one_pass(model, source, start)
        ahead = one_pass(model, source, here.following) if budget.max_iter > 1 else here
        bounds = np.array([here.bound, ahead.bound])
        return EngineResult(ahead.stats, bounds, min(2, budget.max_iter), converged=True)


@dataclass(frozen=True)
class Sampler(AbstractEngine):
    """Draws that come with statistics; here they are from the variational posterior."""

    title = "sampler"
    posterior = "draws of the posterior"
    says_density: bool = True

    def run(self, model, source, start, budget, streams):
        found = ENGINES["cavi"].run(model, source, start, budget, streams)
        posterior = model.update(found.stats)
        draws = model.draws(posterior, budget.n_draws, streams.rng("draws"))
        log_q = model.log_posterior(posterior, draws) + SHIFT if self.says_density else None
        return EngineResult(
            found.stats, found.trace, found.n_iter, found.converged, found.interrupted, draws, log_q
        )


@dataclass(frozen=True)
class LateSampler(AbstractEngine):
    """Coordinate ascent from every start, and draws in chains once, for what is kept."""

    title = "late sampler"
    posterior = "draws of the posterior"
    n_chains: int = 2
    calls: list = field(default_factory=list, compare=False)

    def run(self, model, source, start, budget, streams):
        return ENGINES["cavi"].run(model, source, start, budget, streams)

    def completed(self, model, source, result, budget, streams):
        self.calls.append(model)
        posterior = model.update(result.stats)
        draws = model.draws(posterior, budget.n_draws, streams.rng("draws"))
        chains, findings = int(self.n_chains), {"divergent": 3.0}
        return replace(result, draws=draws, n_chains=chains, findings=findings)


TESTED = {**ENGINES, "one-sweep": OneSweep(), "sampler": Sampler()}
TESTED["late-sampler"] = LateSampler()
MAXIMISERS = [name for name, engine in TESTED.items() if engine.maximises_bound]


@pytest.fixture(autouse=True)
def table(monkeypatch):
    """The table with the engines of this file in it."""
    for name, engine in TESTED.items():
        monkeypatch.setitem(ENGINES, name, engine)


NEED_MORE = {name for name in TESTED if type(TESTED[name]).check is not AbstractEngine.check}
"""Engines that ask for more than the usual packages, before the first run."""


@pytest.fixture(
    params=[pytest.param(x, marks=pytest.mark.mcmc) if x in NEED_MORE else x for x in TESTED]
)
def name(request):
    return request.param


@pytest.fixture
def engine(name):
    return TESTED[name]


def frame():
    rng = np.random.default_rng(3)
    x, z = rng.normal(size=(2, 60))
    first = rng.uniform(size=60) < 1.0 / (1.0 + np.exp(-2.0 * z))
    y = np.where(first, 2.0 + x, -2.0 - x) + 0.4 * rng.normal(size=60)
    label = np.array(["red", "green", "blue"])[np.digitize(x + 0.3 * z, [-0.5, 0.5])]
    return pd.DataFrame({"x": x, "z": z, "y": y, "label": label})


def gated(gate):
    return lambda data: bvb.DensityRegression("y ~ x | gating(z)", data, n_components=2, gate=gate)


MODELS = {
    **{gate: gated(gate) for gate in GATES},
    "gaussians": lambda data: bvb.GaussianMixture("~ x + y", data, n_components=2),
    "pca": lambda data: bvb.BayesianPCA("~ x + z + y", data),
    "normal": lambda data: bvb.Normal("y ~ 1", data),
    "network": lambda data: bvb.ConditionalMixtureNetwork("label ~ x + z", data, n_experts=2),
}


@dataclass(frozen=True)
class Problem:
    """A model, its rows, and statistics to set out from."""

    core: object
    source: InMemorySource
    start: object

    def run(self, engine, source=None, *, streams=None, **budget):
        budget = Budget(**{"tol": 1e-8, "max_iter": 12, "n_draws": 30, **budget})
        streams = streams or Streams(1).branch("test")
        return engine.run(self.core, source or self.source, self.start, budget, streams)

    def in_blocks(self, workers=1):
        whole = self.source.take(np.arange(self.source.n_rows))
        return InMemorySource(tuple(whole.split(BLOCK)), workers=workers)

    def bound_of(self, stats):
        return one_pass(self.core, self.source, stats).bound


def seen_by(engine, model):
    """The model as the engine fits it; None if it says that it does not."""
    try:
        return engine.model_for(model.core)
    except DataError as refused:
        assert refused.hint and "is not available for" in refused.why
        return None


made = cache(lambda kind: MODELS[kind](frame()))  # which no test changes


@pytest.fixture(params=MODELS)
def problem(request, name):
    model = made(request.param)
    core = seen_by(TESTED[name], model)
    if core is None:
        pytest.skip("the engine does not fit this model, and says so")
    core = next(iter(core.starts(2).models.values()), core)
    whole = model.source.take(np.arange(model.source.n_rows))
    rng = np.random.default_rng(4)
    partition = rng.dirichlet(np.full(core.n_components, 0.5), size=whole.n_rows).T
    start = core.first_stats(core.partition_stats(whole, partition))
    return Problem(core, InMemorySource((whole,)), start)


@dataclass(frozen=True)
class InterruptedSource(AbstractSource):
    """Rows over which somebody presses Ctrl-C in the pass of this number."""

    source: AbstractSource
    stop: int
    passes: list = field(default_factory=list)

    def iterate(self):
        self.passes.append(1)
        if len(self.passes) == self.stop:
            raise KeyboardInterrupt
        return self.source.iterate()

    @property
    def n_rows(self):
        return self.source.n_rows

    @property
    def total_weight(self):
        return self.source.total_weight


# The contract


def test_the_statistics_have_the_shapes_of_those_that_it_set_out_from(engine, problem):
    found = problem.run(engine)
    assert type(found.stats) is type(problem.start)
    shapes = [(leaf, values.shape) for leaf, values in problem.start.leaves()]
    assert [(leaf, values.shape) for leaf, values in found.stats.leaves()] == shapes
    assert np.isfinite(found.stats.to_vector()).all()


def test_the_last_bound_is_that_of_the_statistics(engine, problem):
    found = problem.run(engine)
    assert found.trace[-1] == found.bound == problem.bound_of(found.stats)


@pytest.mark.parametrize("name", MAXIMISERS)
def test_the_bound_never_falls_where_the_engine_maximises_it(name, problem):
    trace = problem.run(TESTED[name], max_iter=60).trace
    assert (np.diff(trace) >= -ROUNDING * np.abs(trace[:-1])).all()


@pytest.mark.parametrize("name", MAXIMISERS)
@pytest.mark.quick(problem=("softmax", "gaussians", "pca", "normal"))
def test_an_engine_that_maximises_the_bound_ends_where_a_sweep_gains_nothing(
    name, problem, request
):
    on_a_ridge = "network-em" in request.node.name  # only the prior holds latent vectors in place
    found = problem.run(TESTED[name], max_iter=4000, tol=1e-6 if on_a_ridge else 1e-7)
    assert found.converged
    following = one_pass(problem.core, problem.source, found.stats).following
    assert abs(problem.bound_of(following) - found.bound) < 1e-4


@pytest.mark.parametrize("max_iter", [1, pytest.param(2, marks=pytest.mark.heavy), 7])
def test_it_makes_no_more_passes_than_it_may(engine, problem, max_iter):
    rows = InterruptedSource(problem.source, stop=10**6)
    n_iter = problem.run(engine, rows, max_iter=max_iter, tol=1e-300).n_iter
    assert max(len(rows.passes), 1) <= n_iter <= max_iter  # proposals outside see no row


def test_the_same_streams_give_the_same_bits(engine, problem):
    same(problem.run(engine), problem.run(engine))


def test_blocks_give_the_result_of_all_rows_and_threads_the_same_bits(engine, problem):
    whole, one = problem.run(engine), problem.run(engine, problem.in_blocks())
    assert_allclose(one.trace, whole.trace, rtol=1e-9)
    same(problem.run(engine, problem.in_blocks(workers=3)), one)


def same(one, other):
    """Every number of two results."""
    assert_array_equal(one.trace, other.trace)
    assert_array_equal(one.stats.to_vector(), other.stats.to_vector())
    assert (one.n_iter, one.converged) == (other.n_iter, other.converged)
    assert (one.draws is None) == (other.draws is None)
    for key in one.draws or {}:
        assert_array_equal(one.draws[key], other.draws[key])


@pytest.mark.parametrize("stop", [2, pytest.param(3, marks=pytest.mark.heavy), 6])
def test_ctrl_c_goes_through_or_leaves_the_best_state_so_far(engine, problem, stop):
    undisturbed = problem.run(engine)
    rows = InterruptedSource(problem.source, stop)
    try:
        found = problem.run(engine, rows)
    except KeyboardInterrupt:
        assert len(rows.passes) == stop
        return
    assert found.interrupted == (undisturbed.n_iter >= stop)
    assert found.bound == found.trace.max()
    if not engine.approaches_maximum:  # others average their steps so far
        assert_array_equal(found.trace, undisturbed.trace[: len(found.trace)])
    assert problem.bound_of(found.stats) == found.bound


def test_ctrl_c_before_there_is_a_bound_goes_through(engine, problem):
    with pytest.raises(KeyboardInterrupt):
        problem.run(engine, InterruptedSource(problem.source, stop=1))


def test_progress_is_told_passes_and_bounds_of_the_trace(engine, problem):
    seen = []
    found = problem.run(engine, progress=lambda *passed: seen.append(passed))
    assert [n for n, _ in seen] == sorted({n for n, _ in seen})
    told = seen[-1:] if engine.approaches_maximum else seen  # steps estimate bounds before the last
    assert {bound for _, bound in told} <= set(found.trace.tolist())


def test_draws_are_named_and_shaped_as_those_of_the_model(engine, problem):
    found = problem.run(engine, n_draws=40)
    if found.draws is None:
        assert found.log_q is None
        return
    rng = np.random.default_rng(1)
    usual = problem.core.draws(problem.core.update(found.stats), 40, rng)
    assert {k: v.shape for k, v in found.draws.items()} == {k: v.shape for k, v in usual.items()}
    assert found.log_q is None or found.log_q.shape == (40,)
    assert not engine.maximises_bound, "linear response would move these draws"


def test_randomness_comes_from_the_streams_alone(engine, problem):
    here, there = (problem.run(engine, streams=Streams(seed).branch("x")) for seed in (1, 2))
    for key in here.draws or {}:
        assert not np.array_equal(here.draws[key], there.draws[key])


# Fits


@pytest.fixture(params=["softmax", "gaussians", "pca", "normal", "network"])
def model(request):
    return MODELS[request.param](frame())


OPTIONS = {"seed": 1, "restarts": 2, "draws": 30, "max_iter": 40, "tol": 0.1, "combine": "best"}


@pytest.mark.heavy
@pytest.mark.parametrize("name", sorted(TESTED.keys() - NEED_MORE))
def test_every_model_is_fitted_by_name_saved_and_loaded(name, model, tmp_path):
    if seen_by(TESTED[name], model) is None:
        with pytest.raises(DataError, match=f"method='{name}' is not available for"):
            model.fit(method=name, **OPTIONS)
        return
    fit = model.fit(method=name, **OPTIONS)
    assert (fit.method, fit.engine) == (name, ENGINES[name])
    loaded = bvb.load(fit.save(tmp_path / "fit.nc"))
    assert (loaded.method, loaded.covariance) == (name, fit.covariance)
    pd.testing.assert_frame_equal(loaded.summary(), fit.summary())
    assert fit.idata.attrs["inference_method"] == name
    assert loaded.model.headline(loaded.engine) == fit.model.headline(fit.engine)


def test_what_is_printed_of_coordinate_ascent_is_what_it_always_was():
    found = {name: made(frame()).headline(Cavi()) for name, made in MODELS.items()}
    mixture = "Mixture of Gaussian linear regressions, variational posterior (CAVI)"
    assert found == {
        **dict.fromkeys(GATES, mixture),
        "gaussians": "Mixture of Gaussians, variational posterior (CAVI)",
        "pca": "Bayesian principal component analysis, variational posterior (CAVI)",
        "normal": "One Gaussian sample, factorised variational posterior",
        "network": "Conditional mixture network, variational posterior (CAVI)",
    }


@pytest.mark.filterwarnings("ignore:Pareto k of", "ignore:.*Estimated shape parameter of Pareto")
def test_an_engine_of_three_lines_goes_from_the_fit_to_the_report(tmp_path):
    fit = gated("softmax")(frame()).fit(method="one-sweep", **OPTIONS)
    assert (fit.n_iter, len(fit.elbo_trace), fit.covariance) == (2, 2, "mean-field")
    assert fit.response.failure == "one sweep does not end at a maximum of the bound"
    said = str(fit)
    assert "regressions, variational posterior (one sweep)" in said.splitlines()[0]
    assert "one sweep does not end at a maximum of the bound" in said
    page = fit.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "The variational posterior (one sweep)" in page and "Coordinate-ascent" not in page
    assert "method=&#39;one-sweep&#39;" in page
    with pytest.raises(DataError, match="the ELBO cannot compare components: one sweep"):
        bvb.prune(fit)


def test_an_engine_that_is_not_in_the_table_is_refused_by_name(tmp_path, monkeypatch):
    model = gated("softmax")(frame())
    with pytest.raises(DataError, match=r"method='one-swep' is not known.*'cavi'"):
        model.fit(method="one-swep")
    path = model.fit(method="one-sweep", **OPTIONS).save(tmp_path / "fit.nc")
    monkeypatch.delitem(ENGINES, "one-sweep")
    with pytest.raises(DataError, match="method='one-sweep', which this version does not have"):
        bvb.load(path)


def test_combined_restarts_and_a_sample_of_the_rows_run_the_engine_that_is_given(monkeypatch):
    monkeypatch.setattr("bayesvb.engines.restarts.MANY_ROWS", 40)
    options = OPTIONS | {"combine": "average", "max_iter": 5}
    fit = gated("dirichlet")(frame()).fit(method="one-sweep", **options)
    assert [member.fit.n_iter for member in fit.members] == [2, 2]


def test_rows_are_left_out_by_the_engine_of_the_fit(monkeypatch):
    monkeypatch.delitem(ENGINES, "cavi")
    fit = MODELS["network"](frame()).fit(method="one-sweep", **OPTIONS)
    assert len(fit.without_folds) == 5
    assert np.isfinite(read_elpd(fit.loo()).elpd)


# Options, and what is done once


def test_options_of_an_engine_are_arguments_of_the_fit_and_go_with_it_into_files(tmp_path):
    fit = gated("softmax")(frame()).fit("late-sampler", n_chains=np.int64(3), **OPTIONS)
    assert (fit.engine.n_chains, fit.n_chains, fit.findings) == (3, 3, {"divergent": 3.0})
    loaded = bvb.load(fit.save(tmp_path / "fit.nc"))
    assert loaded.method_options == {"n_chains": 3}
    assert (loaded.engine, loaded.n_chains, loaded.findings) == (fit.engine, 3, fit.findings)
    assert ENGINES["late-sampler"].n_chains == 2


def test_an_option_that_the_engine_does_not_have_is_refused_with_those_it_has():
    model = gated("softmax")(frame())
    why = r"(?s)max_itr=5 is not an option of CAVI: it has no options.*did you mean max_iter"
    with pytest.raises(DataError, match=why):
        model.fit(max_itr=5)
    with pytest.raises(DataError, match=r"chains=5 is not an option.*its options are n_chains"):
        model.fit("late-sampler", chains=5)


def test_what_is_done_once_is_done_for_the_run_that_is_kept_and_its_labels(monkeypatch):
    engine = LateSampler()
    monkeypatch.setitem(ENGINES, "late-sampler", engine)
    fit = gated("softmax")(frame()).fit("late-sampler", **OPTIONS)
    assert len(engine.calls) == 1 and len(fit.restarts) == 2
    share = fit.components()["share"].to_numpy()
    assert (np.diff(share) <= 0.0).all() and fit.is_sampled


# Draws of an engine


@pytest.fixture
def sampled():
    return gated("stick-breaking")(frame()).fit(method="sampler", **OPTIONS)


def test_draws_of_the_engine_are_those_of_the_fit(sampled):
    streams = Streams(1).branch("restart", sampled.best_restart)
    drawn = sampled.core.draws(sampled.q, 30, streams.rng("draws"))
    for key, values in drawn.items():
        assert_array_equal(sampled.draws[key], values)
    assert sampled.covariance == "engine"
    assert sampled.response.failure == "the draws come from the engine, sampler"
    assert_array_equal(sampled.log_q, sampled.core.log_posterior(sampled.q, drawn) + SHIFT)


@pytest.mark.filterwarnings("ignore:Pareto k of", "ignore:.*Estimated shape parameter of Pareto")
def test_everything_that_is_made_of_draws_takes_them(sampled, tmp_path):
    table = sampled.summary()
    named = sampled.model.named_draws(sampled).values["sigma"]
    assert_allclose(table.loc["sigma", "mean"], named.mean(axis=0).ravel())
    assert table.attrs["covariance"] == sampled.idata.attrs["covariance"] == "engine"
    assert sampled.predict(kind="interval").notna().all(axis=None)
    assert np.isfinite(read_elpd(sampled.loo()).elpd) and np.isfinite(sampled.khat)
    said = str(sampled)
    assert "regressions, draws of the posterior (sampler)" in said.splitlines()[0]
    assert "Draws:     30 (engine), seed 1" in said
    assert "Intervals: draws of the posterior (sampler)." in said
    assert "sorted by share" not in said
    page, twin = sampled.report(tmp_path / "page.html").read_text("utf-8").split('id="summary"')
    assert page.count("draws that the engine returned") == 3  # verdict, posterior, computation
    assert "draws that the engine returned" in twin
    assert "Coordinate-ascent" not in page and "draws by importance weights" not in page


def test_files_keep_the_draws_of_the_engine(sampled, tmp_path):
    loaded = bvb.load(sampled.save(tmp_path / "fit.nc"))
    assert (loaded.method, loaded.covariance) == ("sampler", "engine")
    assert_array_equal(loaded.log_q, sampled.log_q)
    for key, values in sampled.draws.items():
        assert_array_equal(loaded.draws[key], values)


def test_no_other_covariance_is_made_up_for_draws_of_an_engine(sampled):
    for covariance in ("mean-field", "linear-response"):
        with pytest.raises(DataError, match="it is one of 'engine', 'importance'"):
            sampled.with_covariance(covariance)
    with pytest.raises(DataError, match="covariance='engine' is not known"):
        gated("softmax")(frame()).fit(**OPTIONS).with_covariance("engine")


def test_importance_weights_lead_away_from_the_draws_and_back():
    fit = MODELS["normal"](frame()).fit(method="sampler", **OPTIONS | {"draws": 200})
    chosen = fit.with_covariance("importance")
    assert chosen.covariance == "importance"
    assert set(chosen.draws["mean"]) < set(fit.draws["mean"])
    assert chosen.khat == fit.khat
    back = chosen.with_covariance("engine")
    assert_array_equal(back.draws["mean"], fit.draws["mean"])
    assert_array_equal(back.log_q, fit.log_q)


def test_draws_without_a_density_are_those_of_the_exact_posterior(monkeypatch, tmp_path):
    monkeypatch.setitem(ENGINES, "sampler", Sampler(says_density=False))
    fit = MODELS["normal"](frame()).fit(method="sampler", **OPTIONS)
    assert np.isnan(fit.khat)
    assert "draws exact to 0.05 sd" in str(fit)
    assert np.isnan(bvb.load(fit.save(tmp_path / "fit.nc")).khat)


def test_combined_restarts_mix_the_draws_of_the_engine(tmp_path):
    fit = gated("softmax")(frame()).fit(method="sampler", **OPTIONS | {"combine": "average"})
    assert fit.covariance == "engine" and len(fit.members) == 2
    assert_array_equal(fit.engine_log_q, fit.log_q)
    loaded = bvb.load(fit.save(tmp_path / "fit.nc"))
    assert_array_equal(loaded.log_q, fit.log_q)
    assert_array_equal(loaded.engine_log_q, fit.engine_log_q)
    assert fit.with_covariance("engine") is fit


@pytest.mark.filterwarnings("ignore:Pareto k of")
def test_restarts_are_weighed_by_the_draws_of_the_engine():
    fit = gated("softmax")(frame()).fit(method="sampler", **OPTIONS | {"combine": "stack"})
    assert fit.restarts["elpd_per_row"].notna().all() and fit.covariance == "engine"
