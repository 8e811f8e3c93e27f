"""Coordinate ascent of every mixture: never downhill, any blocks, any workers, any interruption."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_info, threadpool_limits

from bayesvb.data.blocks import Block
from bayesvb.engines import cavi as module
from bayesvb.engines.cavi import cavi, squared_extrapolation
from bayesvb.models.mixture import Mixture

pytestmark = pytest.mark.quick(gate_name=("softmax", "stick-breaking", "dirichlet"))

PROBLEMS = pytest.mark.parametrize(
    "seeds", [range(5), pytest.param(range(5, 40), marks=pytest.mark.heavy)], ids=["few", "many"]
)
"""Per gate (six of them, with the relabelled one) and way of going: 480 ascents."""


@pytest.fixture
def random_problem(make_problem):
    def build(name, seed):
        rng = np.random.default_rng(1000 + seed)
        return make_problem(
            name,
            seed=seed,
            experts=int(rng.integers(1, 9)),
            rows=int(np.exp(rng.uniform(np.log(5.0), np.log(500.0)))),
            terms=int(rng.integers(1, 7)),
            responses=int(rng.integers(1, 3)),
            weighted=bool(rng.integers(0, 2)),
        )

    return build


@pytest.fixture
def separated(make_problem):
    """Two regimes, far apart or not, and a start that tells them from one another."""

    def build(name, seed=0, *, apart=5.0, noise=0.5):
        problem = make_problem(name, seed=seed, experts=2, rows=200)
        rng = np.random.default_rng(seed)
        block = problem.block
        first = rng.uniform(size=200) < 1.0 / (1.0 + np.exp(-block.designs["gating"][1]))
        x = block.designs["mean"][1]
        y = np.where(first, apart + 1.5 * x, -apart - x) + noise * rng.normal(size=200)
        partition = np.where(first, 0.8, 0.2)
        return replace(
            problem,
            block=Block(block.designs, y[None]),
            partition=np.stack([partition, 1.0 - partition]),
        )

    return build


def climb(problem, *, size=None, workers=1, **options):
    source = problem.source(size, workers)
    return cavi(problem.model, source, problem.start(), **options)


def bound_of(problem, stats):
    posterior = problem.model.update(stats)
    return problem.model.e_step(posterior, problem.block).bound - problem.model.kl(posterior)


# The bound


@PROBLEMS
@pytest.mark.parametrize("accelerate", [False, True])
def test_the_bound_never_falls(gate_name, random_problem, accelerate, seeds):
    for seed in seeds:
        problem = random_problem(gate_name, seed)
        ascent = climb(problem, accelerate=accelerate, max_iter=25)
        assert (np.diff(ascent.trace) >= -1e-9 * np.abs(ascent.trace[1:])).all()
        assert ascent.trace[0] == pytest.approx(bound_of(problem, problem.start()), rel=1e-12)
        assert ascent.bound == pytest.approx(bound_of(problem, ascent.stats), rel=1e-12)


@PROBLEMS
def test_a_plain_sweep_needs_no_safeguard(gate_name, random_problem, seeds):
    """Neither that of an exact gate nor, from these starts, the steps of the softmax."""
    for seed in seeds:
        problem = random_problem(gate_name, seed)
        posterior, last = problem.model.update(problem.start()), -np.inf
        for _ in range(12):
            sweep = problem.model.e_step(posterior, problem.block)
            bound = sweep.bound - problem.model.kl(posterior)
            assert bound >= last - 1e-9 * abs(bound)
            posterior = problem.model.update(problem.model.global_step(posterior, sweep.stats))
            last = bound


def test_at_the_end_no_sweep_and_no_perturbation_gains(gate_name, separated):
    problem = separated(gate_name)
    ascent = climb(problem, tol=1e-13)
    assert ascent.converged
    vector, rng = ascent.stats.to_vector(), np.random.default_rng(1)
    for _ in range(100):
        step = 10.0 ** rng.uniform(-4.0, -1.0) * rng.normal(size=vector.size)
        try:
            moved = bound_of(problem, ascent.stats.with_vector(vector * (1.0 + step)))
        except np.linalg.LinAlgError:
            continue
        assert moved <= ascent.bound + 1e-8


def test_acceleration_reaches_the_same_optimum(gate_name, separated):
    for seed in range(3):
        for apart in (5.0, 1.0):
            problem = separated(gate_name, seed, apart=apart)
            plain, fast = (
                climb(problem, tol=1e-12, accelerate=accelerate) for accelerate in (False, True)
            )
            assert plain.converged
            assert fast.converged
            assert fast.bound == pytest.approx(plain.bound, abs=1e-7)
            here, there = problem.model.update(plain.stats), problem.model.update(fast.stats)
            assert_allclose(there.experts.mean, here.experts.mean, atol=1e-4)


def test_acceleration_saves_passes_where_regimes_overlap(gate_name, separated):
    passes = {
        accelerate: sum(
            climb(
                separated(gate_name, seed, apart=0.3, noise=1.0), tol=1e-12, accelerate=accelerate
            ).n_iter
            for seed in range(3)
        )
        for accelerate in (False, True)
    }
    assert passes[True] < 0.75 * passes[False]


@pytest.mark.parametrize("accepted", [True, False])
def test_steps_grow_while_they_are_accepted_and_shrink_when_not(
    gate_name, separated, monkeypatch, accepted
):
    allowed: list[float] = []

    def step(start, once, twice, *, longest):
        allowed.append(longest)
        return twice if accepted else np.full_like(twice, np.nan), longest

    monkeypatch.setattr(module, "squared_extrapolation", step)
    climb(separated(gate_name, noise=1.0, apart=0.3), tol=0.0, max_iter=9)
    assert allowed == ([4.0, 16.0, 64.0, 256.0] if accepted else [4.0, 2.0, 2.0, 2.0])


def test_a_tighter_tolerance_goes_further(gate_name, separated):
    problem = separated(gate_name, apart=0.3)
    loose, tight = (climb(problem, tol=tol) for tol in (1e-2, 1e-12))
    assert loose.n_iter < tight.n_iter
    assert loose.bound <= tight.bound + 1e-12 * abs(tight.bound)  # equal where both are there
    assert tight.bound - loose.bound < 2e-2


@pytest.mark.parametrize("accelerate", [False, True])
def test_little_is_left_at_the_end_whatever_the_number_of_rows(gate_name, separated, accelerate):
    """Rows that count twice, four times: the same tolerance leaves as little."""
    for times in (1, 2, 4):
        problem = separated(gate_name, apart=0.3)
        block = replace(problem.block, weight=np.full(200, float(times)))
        problem = replace(problem, block=block)
        ascent = climb(problem, accelerate=accelerate, max_iter=20_000)
        assert ascent.converged
        source = problem.source()
        rest = cavi(problem.model, source, ascent.stats, tol=1e-10, max_iter=20_000)
        assert rest.bound - ascent.bound < 2e-3


def test_zero_stops_when_only_rounding_is_left(gate_name, separated):
    ascent = climb(separated(gate_name), tol=0.0, max_iter=5000)
    assert ascent.converged and ascent.n_iter < 5000


# Blocks and workers


def test_threads_change_no_bit_of_an_ascent(gate_name, make_problem):
    problem = make_problem(gate_name, seed=3, rows=150)
    one, two, three = (climb(problem, size=16, workers=w, max_iter=30) for w in (1, 2, 3))
    for other in (two, three):
        assert_array_equal(one.trace, other.trace)
        assert_array_equal(one.stats.to_vector(), other.stats.to_vector())
        assert one.n_iter == other.n_iter


@pytest.mark.parametrize("size", [1, 33, 199])
@pytest.mark.quick(size=(33, 199))
def test_the_block_size_changes_an_ascent_by_rounding_only(gate_name, separated, size):
    problem = separated(gate_name)
    whole, parts = (climb(problem, size=s, max_iter=12) for s in (None, size))
    assert_allclose(parts.trace, whole.trace, rtol=1e-9)
    theirs = whole.stats.to_vector()
    assert_allclose(parts.stats.to_vector(), theirs, atol=1e-7 * np.abs(theirs).max())


def test_blas_keeps_to_one_thread_during_an_ascent(make_problem):
    threads: set[int] = set()

    def look(passes, bound):
        threads.update(lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas")

    with threadpool_limits(2, user_api="blas"):
        climb(make_problem("dirichlet", seed=1), max_iter=3, progress=look)
    assert threads == {1}


def test_the_same_start_gives_the_same_bits(gate_name, make_problem):
    problem = make_problem(gate_name, seed=4)
    one, other = (climb(problem, max_iter=20) for _ in range(2))
    assert_array_equal(one.trace, other.trace)


# Ends that are not convergence


@pytest.mark.parametrize("accelerate", [False, True])
@pytest.mark.parametrize("max_iter", [1, 2, 3, 8, 11])
def test_no_more_passes_than_asked_for(gate_name, make_problem, max_iter, accelerate):
    ascent = climb(
        make_problem(gate_name, seed=5), max_iter=max_iter, accelerate=accelerate, tol=0.0
    )
    assert ascent.n_iter == max_iter
    assert not ascent.converged
    assert not ascent.interrupted
    assert 1 <= len(ascent.trace) <= max_iter


@dataclass(frozen=True)
class Stopped(Mixture):
    """A mixture during whose ``at``-th block someone presses Ctrl-C."""

    at: int = 0
    calls: list[int] = field(default_factory=list)

    def e_step(self, posterior, block):
        self.calls.append(1)
        if len(self.calls) == self.at:
            raise KeyboardInterrupt
        return super().e_step(posterior, block)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("at", [5, 6, 9, 14, 23])
@pytest.mark.quick(at=(5, 6, 14))
def test_an_interruption_keeps_the_best_state(gate_name, make_problem, at, workers):
    problem = make_problem(gate_name, seed=6)
    model = Stopped(problem.model.experts, problem.model.gate, at=at)
    ascent = climb(replace(problem, model=model), size=20, workers=workers)
    assert ascent.interrupted
    assert not ascent.converged
    assert ascent.bound == pytest.approx(bound_of(problem, ascent.stats), rel=1e-12)
    undisturbed = climb(problem, size=20).trace
    assert_array_equal(ascent.trace, undisturbed[: len(ascent.trace)])


def test_the_watcher_sees_every_gain_and_may_stop(gate_name, make_problem):
    problem = make_problem(gate_name, seed=7)
    seen: list[tuple[int, float]] = []
    ascent = climb(problem, max_iter=15, progress=lambda *news: seen.append(news))
    assert [bound for _, bound in seen] == ascent.trace[1:].tolist()
    assert sorted({passes for passes, _ in seen}) == [passes for passes, _ in seen]

    def stop(passes, bound):
        raise KeyboardInterrupt

    stopped = climb(problem, progress=stop)
    assert stopped.interrupted
    assert_array_equal(stopped.trace, ascent.trace[:2])


# Proposals outside the domain

OUTSIDE = {
    "negative": lambda v: -v - 1.0,
    "overflow": lambda v: 1e300 * v,
    "as of a million times the rows": lambda v: 1e6 * v,
    "infinite": lambda v: np.full_like(v, np.inf),
    "not a number": lambda v: np.nan * v,
    "nonsense": lambda v: 9.0 * v * np.random.default_rng(v.size).normal(size=v.size),
}


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("outside", OUTSIDE.values(), ids=OUTSIDE)
def test_proposals_outside_the_domain_are_refused(
    gate_name, make_problem, monkeypatch, outside, workers
):
    problem = make_problem(gate_name, seed=8)
    plain = climb(problem, size=40, accelerate=False, max_iter=6)
    monkeypatch.setattr(
        module, "squared_extrapolation", lambda a, b, c, *, longest: (outside(c), 4.0)
    )
    refused = climb(problem, size=40, workers=workers, max_iter=11)
    assert_array_equal(refused.trace, plain.trace)


def test_statistics_outside_the_domain_cannot_be_a_start(gate_name, make_problem):
    problem = make_problem(gate_name, seed=9)
    with pytest.raises(np.linalg.LinAlgError):
        cavi(problem.model, problem.source(), -1.0 * problem.start())


# Extrapolation


def test_a_step_of_length_one_is_two_sweeps(rng):
    start, once = rng.normal(size=(2, 6))
    twice = once - 5.0 * (once - start)
    ahead, length = squared_extrapolation(start, once, twice, longest=100.0)
    assert length == 1.0
    assert_allclose(ahead, twice)


@pytest.mark.parametrize("rate", [0.3, 0.9, 0.99])
def test_a_map_with_one_rate_is_solved_at_once(rng, rate):
    fixed, start = rng.normal(size=(2, 6))
    once = fixed + rate * (start - fixed)
    twice = fixed + rate * (once - fixed)
    ahead, length = squared_extrapolation(start, once, twice, longest=1e3)
    assert length == pytest.approx(1.0 / (1.0 - rate), rel=1e-6)
    assert_allclose(ahead, fixed, atol=1e-9)


def test_the_step_is_no_longer_than_allowed_even_on_a_straight_line(rng):
    start, once = rng.normal(size=(2, 6))
    ahead, length = squared_extrapolation(start, once, 2.0 * once - start, longest=16.0)
    assert length == pytest.approx(16.0)
    assert_allclose(ahead, start + 32.0 * (once - start), rtol=1e-6)
    still, _ = squared_extrapolation(start, start, start, longest=16.0)
    assert_array_equal(still, start)


def test_entries_count_relative_to_their_size(rng):
    """Large entries with one rate of convergence, small ones with another."""
    size = np.array([1e6, 1e6, 1.0, 1.0])
    start = size * (1.0 + 0.1 * rng.normal(size=4))
    first = size * rng.normal(size=4)
    change = -first * np.array([0.5, 0.5, 0.1, 0.1])
    _, length = squared_extrapolation(
        start, start + first, start + 2.0 * first + change, longest=1e3
    )
    weight = 1.0 / (np.abs(start + first) + 1e-3)
    ratio = (weight * first**2).sum() / (weight * change**2).sum()
    assert length == pytest.approx(np.sqrt(ratio), rel=1e-9)
