"""Stochastic variational inference: its steps, its limit, its memory, and what it says."""

import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

import bayesvb as bvb
from bayesvb.data.blocks import Block
from bayesvb.data.sources import AbstractSource
from bayesvb.engines.base import Budget, one_pass
from bayesvb.engines.cavi import cavi
from bayesvb.engines.restarts import search
from bayesvb.engines.settled_response import HARDLY, moves_of_a_sweep
from bayesvb.engines.svi import Svi
from bayesvb.errors import DataError
from bayesvb.gates import GATES
from bayesvb.numerics.streams import Streams


def frame(n, seed=3):
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    first = rng.uniform(size=n) < expit(2.0 * z)
    y = np.where(first, 2.0 + x, -2.0 - x) + 0.4 * rng.normal(size=n)
    label = np.array(["red", "green", "blue"])[np.digitize(x + 0.3 * z, [-0.5, 0.5])]
    return pd.DataFrame({"x": x, "z": z, "y": y, "label": label})


def gated(gate, **options):
    return lambda d: bvb.DensityRegression(
        "y ~ x | gating(z)", d, n_components=2, gate=gate, **options
    )


MODELS = {
    **{gate: gated(gate) for gate in GATES},
    "student": gated("softmax", family="student"),
    "semi-conjugate": gated("stick-breaking", priors=bvb.Priors(coefficient_units="response")),
    "gaussians": lambda d: bvb.GaussianMixture("~ x + y", d, n_components=2),
    "pca": lambda d: bvb.BayesianPCA("~ x + z + y", d),
    "normal": lambda d: bvb.Normal("y ~ 1", d),
    "network": lambda d: bvb.ConditionalMixtureNetwork("label ~ x + z", d, n_experts=2),
}


def started(model, seed=4):
    """Model, rows, and statistics of a random partition of them."""
    core = next(iter(model.core.starts(2).models.values()), model.core)
    whole = model.source.take(np.arange(model.source.n_rows))
    rng = np.random.default_rng(seed)
    partition = rng.dirichlet(np.full(core.n_components, 0.5), size=whole.n_rows).T
    return core, model.source, core.first_stats(core.partition_stats(whole, partition))


def run(engine, model, source, start, seed=1, **budget):
    return engine.run(model, source, start, Budget(**budget), Streams(seed).branch("test"))


# Steps


@pytest.mark.parametrize("name", MODELS)
def test_one_batch_of_all_rows_at_full_length_is_a_sweep_of_coordinate_ascent(name):
    core, source, start = started(MODELS[name](frame(60)))
    found = run(Svi(batch=60, delay=0.0, passes=1), core, source, start)
    sweep = one_pass(core, source, start).following
    assert_array_equal(found.stats.to_vector(), sweep.to_vector())
    assert found.n_iter == 2 and found.bound == one_pass(core, source, sweep).bound


def test_lengths_of_steps_satisfy_the_conditions_of_robbins_and_monro():
    engine = Svi(forgetting=0.6, delay=2.0)
    lengths = np.array([engine.step_length(t) for t in range(1, 2001)])
    assert_allclose(lengths, (np.arange(1, 2001) + 2.0) ** -0.6)
    assert (np.diff(lengths) < 0.0).all() and lengths[0] < 1.0 == Svi(delay=0.0).step_length(1)
    # sums over ever longer stretches: one grows, the other settles
    stretches = [slice(2**k, 2 ** (k + 1)) for k in range(4, 10)]
    assert (np.diff([lengths[s].sum() for s in stretches]) > 0.0).all()
    assert (np.diff([(lengths[s] ** 2).sum() for s in stretches]) < 0.0).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"forgetting": 0.5}, "forgetting=0.5 must be more than 0.5"),
        ({"forgetting": 1.1}, "forgetting=1.1 must be more than 0.5 and at most 1"),
        ({"forgetting": np.nan}, "forgetting=nan"),
        ({"delay": -1.0}, "delay=-1.0 must be a number that is not negative"),
        ({"delay": np.inf}, "delay=inf"),
        ({"batch": 0}, "batch=0 must be at least 1"),
        ({"passes": 0}, "passes=0 must be at least 1"),
    ],
)
def test_options_that_do_not_converge_are_refused(options, words):
    with pytest.raises(DataError, match=words):
        gated("softmax")(frame(60)).fit("svi", **options)


@pytest.mark.parametrize("wrong", [{"forgetting": "half"}, {"delay": "none"}])
def test_options_of_another_kind_are_refused(wrong, unchecked):
    with pytest.raises(DataError, match=f"{next(iter(wrong))}='.*' must be"):
        Svi(**wrong)


def test_a_step_moves_part_of_the_way_to_scaled_statistics_of_the_batch():
    fixed = gated("dirichlet", priors=bvb.Priors(scales="fixed"))
    core, source, start = started(fixed(frame(60)))
    engine = Svi(batch=20, passes=1)
    stats, seen = start, []
    rng = Streams(1).branch("test").rng("minibatches")
    for number, rows in enumerate(source.minibatches(20, rng), 1):
        sums = rows.map_reduce(partial(core.e_step, core.update(stats))).stats
        length = (number + 1.0) ** -0.6
        stats = (1.0 - length) * stats + (length * 60 / rows.n_rows) * sums
        seen.append(stats.to_vector())
    found = run(engine, core, source, start)
    assert len(seen) == 3
    assert_allclose(found.stats.to_vector(), np.mean(seen[1:], axis=0), rtol=1e-12)


def test_any_number_of_threads_gives_the_same_bits():
    core, source, start = started(MODELS["softmax"](frame(400)))
    engine = Svi(batch=60, passes=2)
    one, three = (run(engine, core, source.with_workers(workers), start) for workers in (1, 3))
    assert_array_equal(one.stats.to_vector(), three.stats.to_vector())
    assert not np.array_equal(
        one.stats.to_vector(), run(engine, core, source, start, seed=2).stats.to_vector()
    )


def test_passes_are_as_many_as_a_few_hundred_steps_need_unless_given_and_within_the_budget():
    fixed = gated("dirichlet", priors=bvb.Priors(scales="fixed"))
    core, source, start = started(fixed(frame(60)))
    assert run(Svi(batch=10), core, source, start).n_iter == 51
    assert run(Svi(batch=10, passes=4), core, source, start).n_iter == 5
    short = run(Svi(batch=10, passes=4), core, source, start, max_iter=3)
    assert (short.n_iter, short.converged) == (3, False)


@pytest.mark.heavy
def test_more_passes_end_closer_to_the_optimum():
    core, source, start = started(MODELS["stick-breaking"](frame(600)))
    best = cavi(core, source, start, tol=1e-9)
    gaps = [
        best.bound
        - np.mean(
            [
                run(Svi(batch=60, passes=passes), core, source, best.stats, seed=seed).bound
                for seed in range(4)
            ]
        )
        for passes in (4, 16, 64)
    ]
    assert gaps[0] > gaps[1] > gaps[2] > 0.0
    assert gaps[2] < 0.2 * gaps[0]  # as the inverse number of steps


# Many rows


@pytest.mark.heavy
def test_the_bound_is_within_a_thousandth_of_that_of_coordinate_ascent_in_three_passes():
    model = gated("softmax")(frame(60_000))
    climbed = model.fit(seed=1, restarts=2, draws=50)
    found = model.fit("svi", seed=1, restarts=2, draws=50, passes=1)
    assert climbed.elbo - found.elbo < 1e-3 * abs(climbed.elbo)
    # one in minibatches, one for the bound, beside one from the optimum of a sample to all rows
    assert found.n_iter == 2


@dataclass(frozen=True)
class Generated(AbstractSource):
    """Blocks that are made whenever they are gone over."""

    make: Callable[[], object]
    rows: int

    def iterate(self):
        yield from self.make()

    @property
    def n_rows(self):
        return self.rows

    @property
    def total_weight(self):
        return float(self.rows)


def generated(n_blocks, size=2000):
    def make():
        for number in range(n_blocks):
            rows = frame(size, seed=number)
            ones = np.ones(size)
            design = {"mean": np.stack([ones, rows["x"]]), "gating": np.stack([ones, rows["z"]])}
            yield Block(design, 0.5 * rows["y"].to_numpy()[None])

    return Generated(make, n_blocks * size)


@pytest.mark.heavy
def test_memory_does_not_grow_with_rows_that_are_generated(monkeypatch):
    monkeypatch.setattr("bayesvb.data.sources.MIXED_ROWS", 2000)
    core = gated("softmax")(frame(200)).core
    first = generated(2)
    partition = np.random.default_rng(1).dirichlet([1.0, 1.0], size=4000).T
    start = core.first_stats(core.partition_stats(first.take(np.arange(4000)), partition))
    peaks = []
    for n_blocks in (5, 40):
        source = generated(n_blocks)
        tracemalloc.start()
        run(Svi(batch=500, passes=1), core, source, start)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]


@pytest.mark.heavy
@pytest.mark.heavy
def test_rows_that_are_read_in_their_order_do_not_lead_the_steps():
    rng = np.random.default_rng(0)
    x = rng.normal(size=30_000)
    y = np.where(rng.random(30_000) < 1.0 / (1.0 + np.exp(-x)), 1.0 + x, -1.5)
    frame = pd.DataFrame({"y": y + 0.4 * rng.normal(size=30_000), "x": x}).sort_values("y")
    quick = {"seed": 1, "restarts": 1, "draws": 25, "covariance": "mean-field"}
    parts = [frame.iloc[start : start + 10_000] for start in range(0, 30_000, 10_000)]
    found, expected = (
        bvb.DensityRegression("y ~ x", data, n_components=2).fit("svi", **quick).elbo
        for data in (parts, frame)
    )
    assert abs(found - expected) < 1.0


@pytest.mark.heavy
def test_every_pass_is_told_with_an_estimate_of_its_bound():
    core, source, start = started(MODELS["softmax"](frame(400)))
    told = []
    engine = Svi(batch=40, passes=40)
    found = run(engine, core, source, start, progress=lambda *what: told.append(what))
    assert [passes for passes, _ in told] == list(range(1, 42))
    assert told[-1][1] == found.bound
    assert abs(told[-2][1] - found.bound) < 0.02 * 400  # nats a row
    silent = run(engine, core, source, start)
    assert_array_equal(silent.stats.to_vector(), found.stats.to_vector())


def test_a_search_over_a_sample_ends_on_all_rows(monkeypatch):
    monkeypatch.setattr("bayesvb.engines.restarts.MANY_ROWS", 3000)
    core, source = gated("softmax")(frame(200)).core, generated(4)
    found = search(core, source, Svi(passes=1), restarts=2, budget=Budget(), streams=Streams(1, 2))
    assert [one.n_rows for one in found.runs] == [1500, 1500]
    best = cavi(core, source, found.final.stats).bound
    assert 0.0 <= best - found.final.bound < 1e-2 * abs(best)


# Linear response, and what is said


def test_linear_response_is_withheld_where_a_sweep_would_still_move_parameters():
    model = gated("stick-breaking")(frame(300))
    rough = model.fit("svi", seed=1, restarts=1, draws=50, batch=30, passes=1)
    assert rough.covariance == "mean-field"
    assert "after SVI a sweep would move parameters by" in rough.response.failure
    assert rough.response.failure in str(rough)
    assert "regressions, variational posterior (SVI)" in str(rough).splitlines()[0]


@pytest.mark.heavy
def test_linear_response_near_the_optimum_is_that_of_coordinate_ascent():
    model = gated("stick-breaking")(frame(300))
    exact = model.fit(seed=1, restarts=1, draws=50)
    close = model.fit("svi", seed=1, restarts=1, draws=50, batch=60, passes=150)
    assert moves_of_a_sweep(close.core, model.source, close.stats) < HARDLY
    assert close.covariance == "linear-response"
    assert_allclose(
        np.diag(close.response.covariance), np.diag(exact.response.covariance), rtol=0.05
    )
    assert exact.elbo - close.elbo < 0.1


def test_moves_of_a_sweep_are_in_standard_deviations():
    """A shift of the statistics by unit tilts of single parameters is one of their sds."""
    core, source, start = started(MODELS["dirichlet"](frame(200)))
    best = cavi(core, source, start, tol=1e-10).stats
    assert moves_of_a_sweep(core, source, best) < 1e-4
    tilts = core.coordinates(core.update(best)).perturbations()
    small = best.with_vector(best.to_vector() + 0.01 * tilts.sum(axis=0))
    far = best.with_vector(best.to_vector() + 0.1 * tilts.sum(axis=0))
    near, further = (moves_of_a_sweep(core, source, one) for one in (small, far))
    assert further == pytest.approx(10.0 * near, rel=0.2) and 0.02 < further < 0.2


@pytest.mark.heavy
def test_options_are_kept_with_the_fit(tmp_path):
    fit = gated("softmax")(frame(200)).fit("svi", seed=1, restarts=2, draws=50, batch=50, passes=3)
    loaded = bvb.load(fit.save(tmp_path / "fit.nc"))
    assert loaded.engine == Svi(batch=50, passes=3) == fit.engine
    pd.testing.assert_frame_equal(loaded.summary(), fit.summary())
    with pytest.raises(DataError, match="cannot compare components: SVI"):
        bvb.prune(fit)
