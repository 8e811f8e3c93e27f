"""What every source promises: the same rows in the same order, and sums that do not depend on how
they are gone over. A source of another kind gets a line in ``SOURCES``.
"""

import ast
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import Float
from numpy.testing import assert_allclose, assert_array_equal

import bayesvb as bvb
from bayesvb.data.blocks import BLOCK_ROWS, Block
from bayesvb.data.sources import AbstractSource, InMemorySource, RemainingRows
from bayesvb.data.statistics import SufficientStats
from bayesvb.engines import restarts
from bayesvb.engines import settled_response as settled_module
from bayesvb.engines.cavi import Cavi, cavi
from bayesvb.engines.folds import FOLDS, assigned, folds, held_out_density
from bayesvb.engines.restarts import Budget, search
from bayesvb.engines.settled_response import settled_response
from bayesvb.numerics.streams import Streams

N_ROWS = 200


@dataclass(frozen=True)
class Generated(AbstractSource):
    """Blocks that are made anew whenever the rows are gone over, and forgotten."""

    make: Callable[[], Iterator[Block]]
    counted: tuple[int, float]

    def iterate(self) -> Iterator[Block]:
        yield from self.make()

    @property
    def n_rows(self) -> int:
        return self.counted[0]

    @property
    def total_weight(self) -> float:
        return self.counted[1]


def copied(block):
    """The block's rows in arrays of their own."""
    return block.take(np.arange(block.n_rows))


def generated(block, size, workers=1):
    weight = block.n_rows if block.weight is None else block.weight.sum()
    counted = block.n_rows, float(weight)
    return Generated(lambda: map(copied, block.split(size)), counted, workers=workers)


def in_memory(block, size, workers=1):
    return InMemorySource(tuple(block.split(size)), workers=workers)


def remaining(block, size, workers=1):
    """The rows, from a source that has every row twice."""
    twice = np.repeat(np.arange(block.n_rows), 2)
    source = generated(block.take(twice), 2 * size, workers)
    return RemainingRows(source, np.arange(len(twice)) % 2 == 0, workers=workers)


SOURCES = {
    "one block": lambda block, workers: in_memory(block, block.n_rows, workers),
    "many blocks": lambda block, workers: in_memory(block, 7, workers),
    "cut": lambda block, workers: InMemorySource.of(block, workers=workers),
    "each changed": lambda block, workers: in_memory(block, 7, workers).each(copied),
    "rows left in memory": lambda block, workers: in_memory(
        Block.joined([block, block]), 33, workers
    ).without(np.arange(block.n_rows, 2 * block.n_rows)),
    "generated": lambda block, workers: generated(block, 7, workers),
    "one block generated": lambda block, workers: generated(block, block.n_rows, workers),
    "rows left of generated": lambda block, workers: remaining(block, 7, workers),
}


@dataclass(frozen=True)
class Cross(SufficientStats):
    xx: Float[np.ndarray, "a a"]
    xy: Float[np.ndarray, "a b"]


def cross(block):
    x = block.designs["mean"]
    return Cross(block.weighted(x) @ x.T, block.weighted(x) @ block.response.T)


def rows(rng, n_rows, *, weighted=False):
    shared = rng.normal(size=(3, n_rows))
    designs = {"mean": shared, "gating": shared, "other": rng.normal(size=(2, n_rows))}
    weight = rng.gamma(1.0, size=n_rows) if weighted else None
    return Block(designs, rng.normal(size=(2, n_rows)), weight)


def assert_same_rows(found, expected):
    assert found.designs.keys() == expected.designs.keys()
    for name, matrix in expected.designs.items():
        assert_array_equal(found.designs[name], matrix)
    assert_array_equal(found.response, expected.response)
    assert (found.weight is None) == (expected.weight is None)
    if expected.weight is not None:
        assert_array_equal(found.weight, expected.weight)


@pytest.fixture(params=[False, True], ids=["plain", "weighted"])
def whole(request, rng):
    """All rows as one block."""
    return rows(rng, N_ROWS, weighted=request.param)


@pytest.fixture(params=SOURCES)
def make(request):
    """Source of a block's rows."""
    return SOURCES[request.param]


@pytest.fixture(params=[1, 3], ids=["one thread", "three threads"])
def source(request, make, whole):
    made = make(whole, request.param)
    assert made.workers == request.param
    return made


# -- rows ----------------------------------------------------------------------------------------


def test_each_pass_goes_over_the_same_rows_in_the_same_order(source, whole):
    for _ in range(2):
        assert_same_rows(Block.joined(list(source.iterate())), whole)


def test_rows_and_weights_are_counted(source, whole):
    assert source.n_rows == N_ROWS
    expected = N_ROWS if whole.weight is None else whole.weight.sum()
    assert source.total_weight == pytest.approx(expected, rel=1e-14)


def test_weights_are_those_of_the_rows(source, whole):
    if whole.weight is None:
        assert source.weights() is None
    else:
        assert_array_equal(source.weights(), whole.weight)


def test_rows_without_weights_count_once_beside_rows_with_weights(rng):
    blocks = rows(rng, 4), rows(rng, 3, weighted=True)
    expected = np.concatenate([np.ones(4), blocks[1].weight])
    source = InMemorySource(blocks)
    assert_array_equal(source.weights(), expected)
    assert_array_equal(source.take(np.arange(7)).weight, expected)
    assert source.total_weight == pytest.approx(expected.sum())


@pytest.mark.parametrize("n_rows", [1, 40, N_ROWS - 1])
def test_a_sample_is_drawn_without_replacement_from_all_rows_in_their_order(source, whole, n_rows):
    one, other = np.random.default_rng(5), np.random.default_rng(5)
    expected = np.sort(one.choice(N_ROWS, n_rows, replace=False))
    assert_same_rows(source.sample(n_rows, other), whole.take(expected))
    assert one.random() == other.random()


@pytest.mark.parametrize("n_rows", [N_ROWS, N_ROWS + 1])
def test_a_sample_of_all_rows_draws_nothing(source, whole, n_rows):
    one, other = np.random.default_rng(5), np.random.default_rng(5)
    assert_same_rows(source.sample(n_rows, other), whole)
    assert one.random() == other.random()


@pytest.mark.parametrize(
    "positions",
    [[0], [7], [N_ROWS - 1], [3, 4, 5, 20, 150], [150, 3, 20, 3], list(range(N_ROWS - 1, -1, -1))],
    ids=["first", "first of a block", "last", "ascending", "any order, twice", "backwards"],
)
def test_rows_at_positions_come_in_the_order_in_which_they_are_asked_for(source, whole, positions):
    assert_same_rows(source.take(np.array(positions)), whole.take(np.array(positions)))


def test_designs_that_are_one_array_stay_one_array(source):
    for found in (source.take(np.array([5, 90])), source.thinned(20), source.empty()):
        assert found.designs["mean"] is found.designs["gating"]


@pytest.mark.parametrize("left_out", [[0], [7, 8, 9, 10, 11, 12, 13], [199, 0, 77]])
def test_rows_are_left_out_and_the_others_stay_in_order(source, whole, left_out):
    rest = source.without(np.array(left_out))
    kept = np.delete(np.arange(N_ROWS), left_out)
    assert_same_rows(Block.joined(list(rest.iterate())), whole.take(kept))
    assert rest.n_rows == len(kept) and rest.workers == source.workers
    expected = len(kept) if whole.weight is None else whole.weight[kept].sum()
    assert rest.total_weight == pytest.approx(expected, rel=1e-14)
    assert all(block.n_rows for block in rest.iterate())


def test_an_empty_block_has_the_shapes_of_the_others_and_sums_to_zeros(source, whole):
    empty = source.empty()
    assert_same_rows(empty, whole.part(0, 0))
    assert_array_equal(cross(empty).to_vector(), 0.0 * cross(whole).to_vector())


@pytest.mark.parametrize("n_rows", [1, 20, 66, N_ROWS, 10 * N_ROWS])
def test_thinned_rows_are_at_even_distances_within_each_block(source, whole, n_rows):
    step = max(N_ROWS // n_rows, 1)
    first, expected = 0, []
    for block in source.iterate():
        expected += range(first, first + block.n_rows, step)
        first += block.n_rows
    assert_same_rows(source.thinned(n_rows), whole.take(np.array(expected)))


# -- work per row --------------------------------------------------------------------------------


def test_values_of_rows_are_in_the_order_of_the_rows(source, whole):
    assert_array_equal(source.map_rows(lambda block: block.response[0]), whole.response[0])
    found = source.map_rows(lambda block: 2.0 * block.designs["mean"])
    assert_array_equal(found, 2.0 * whole.designs["mean"])


def test_any_number_of_workers_gives_the_same_bits(make, whole):
    one = make(whole, 1)
    for other in (make(whole, 2), make(whole, 3), one.with_workers(4)):
        assert_array_equal(other.map_reduce(cross).to_vector(), one.map_reduce(cross).to_vector())


def test_sums_are_those_of_one_block_to_rounding(source, whole):
    found = source.map_reduce(cross).to_vector()
    assert_allclose(found, cross(whole).to_vector(), rtol=0.0, atol=1e-11)


@given(n_rows=st.integers(1, 300), size=st.integers(1, 310), weighted=st.booleans())
def test_any_block_size_gives_the_same_sums_to_rounding(n_rows, size, weighted):
    block = rows(np.random.default_rng(n_rows), n_rows, weighted=weighted)
    for kind in (in_memory, generated):
        found = kind(block, size).map_reduce(cross)
        assert_allclose(found.to_vector(), cross(block).to_vector(), rtol=0.0, atol=1e-11)


@dataclass(frozen=True)
class Order(SufficientStats):
    """Digits written one behind the other: adding them in another order gives another number."""

    digits: tuple[int, ...]

    def __add__(self, other):
        return Order(self.digits + other.digits)


@pytest.mark.parametrize("kind", [in_memory, generated])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_results_are_added_in_block_order_even_if_the_first_comes_last(kind, workers):
    numbered = Block({}, np.arange(40.0)[None])
    second_has_run = threading.Event()

    def number(part):
        here = int(part.response[0, 0])
        if here == 0 and workers > 1:
            assert second_has_run.wait(10.0)
        if here == 1:
            second_has_run.set()
        return Order((here,))

    assert kind(numbered, 1, workers).map_reduce(number).digits == tuple(range(40))


@pytest.mark.parametrize("kind", [in_memory, generated])
def test_only_a_few_blocks_are_in_flight(rng, kind):
    """Blocks not yet asked for are not computed while the first one is still running."""
    numbered = replace(rows(rng, 100), response=np.arange(100.0)[None])
    started: list[int] = []
    gate = threading.Event()

    def slow_first(part):
        started.append(1)
        if part.response[0, 0] == 0.0:
            gate.wait(0.3)
        return cross(part)

    watcher = threading.Timer(0.15, lambda: (seen.append(len(started)), gate.set()))
    seen: list[int] = []
    watcher.start()
    kind(numbered, 1, 2).map_reduce(slow_first)
    watcher.join()
    assert seen[0] <= 4 * 2 < len(started) == 100


def test_a_few_rows_end_the_pass_over_blocks_that_are_made():
    """One row, or none, costs the blocks up to it and no more."""
    made: list[float] = []

    def blocks():
        for block in Block({}, np.arange(40.0)[None]).split(4):
            made.append(block.response[0, 0])
            yield block

    source = Generated(blocks, (40, 40.0))
    for positions, expected in (([], [0]), ([0], [0]), ([3], [0]), ([5, 1], [0, 4])):
        made.clear()
        source.take(np.array(positions, dtype=int))
        assert made == expected


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_in_a_block_reaches_the_caller(rng, workers):
    def refuse(part):
        raise np.linalg.LinAlgError("no")

    with pytest.raises(np.linalg.LinAlgError, match="no"):
        in_memory(rows(rng, 10), 2, workers).map_reduce(refuse)


@pytest.mark.parametrize("workers", [1, 2])
def test_the_error_state_of_the_caller_holds_in_threads(rng, workers):
    def overflow(part):
        return Cross(np.float64(1e300) * np.full((1, 1), 1e300), np.zeros((1, 1)))

    with np.errstate(over="ignore"):
        total = in_memory(rows(rng, 10), 2, workers).map_reduce(overflow)
    assert total.xx == np.inf


def test_a_block_is_cut_into_the_size_that_is_fastest(rng):
    block = Block({}, rng.normal(size=(1, 2 * BLOCK_ROWS + 5)))
    source = InMemorySource.of(block, workers=2)
    assert [part.n_rows for part in source.iterate()] == [BLOCK_ROWS, BLOCK_ROWS, 5]
    assert source.workers == 2


# -- fits ----------------------------------------------------------------------------------------


def made_anew(source):
    """The blocks of a source in memory, as records of their own at each pass."""
    return Generated(lambda: map(replace, source.iterate()), (source.n_rows, source.total_weight))


@pytest.fixture(scope="module")
def density(regimes):
    """A regression, and its rows in four blocks and as blocks that are made anew."""
    model = bvb.DensityRegression("y ~ x + z | gating(x)", regimes, n_components=2)
    source = in_memory(Block.joined(list(model.source.iterate())), 41)
    return model.core, source, made_anew(source)


@pytest.mark.parametrize("workers", [1, 2])
def test_an_ascent_over_blocks_that_are_made_anew_has_the_bits_of_one_in_memory(density, workers):
    core, stored, anew = density

    def ascent(source):
        sample = source.sample(30, np.random.default_rng(2))
        cut = float(np.median(sample.response))

        def divide(block):
            high = np.where(block.response[0] > cut, 0.8, 0.2)
            return core.partition_stats(block, np.stack([high, 1.0 - high]))

        return cavi(core, source, core.first_stats(source.map_reduce(divide)), tol=1e-10)

    one, other = ascent(stored), ascent(anew.with_workers(workers))
    assert one.converged and one.n_iter == other.n_iter
    assert_array_equal(one.trace, other.trace)
    assert_array_equal(one.stats.to_vector(), other.stats.to_vector())


def test_restarts_screening_and_intervals_have_the_same_bits_over_any_kind_of_source(
    density, monkeypatch
):
    monkeypatch.setattr(restarts, "MANY_ROWS", 100)
    monkeypatch.setattr(settled_module, "MANY_ROWS", 100)
    core, *sources = density
    found = [
        search(core, source, Cavi(), restarts=3, budget=Budget(), streams=Streams(4, 3))
        for source in sources
    ]
    assert [run.n_rows for run in found[1].runs] == 3 * [50]
    assert_array_equal(found[0].final.stats.to_vector(), found[1].final.stats.to_vector())
    one, other = (
        settled_response(
            core,
            source,
            search.final.stats,
            np.random.default_rng(1),
            Cavi(),
            Streams(1).branch("response"),
        ).response
        for source, search in zip(sources, found, strict=True)
    )
    assert one.failure is None
    assert_array_equal(one.covariance, other.covariance)


def test_folds_of_any_source_are_those_of_the_rows_in_memory(regimes):
    model = bvb.ConditionalMixtureNetwork("y ~ x + z", regimes, n_experts=2)
    stored = in_memory(Block.joined(list(model.source.iterate())), 41)
    anew = made_anew(stored)
    assert_array_equal(assigned(anew), assigned(stored))
    for (one, here), (other, there) in zip(folds(stored), folds(anew), strict=True):
        assert_array_equal(one, other)
        assert_same_rows(*(Block.joined(list(rest.iterate())) for rest in (here, there)))
    high = stored.map_rows(lambda block: np.where(block.response[0] > 0.0, 0.8, 0.2))
    partition = np.stack([high, 1.0 - high])
    stats = model.core.first_stats(
        model.core.partition_stats(stored.take(np.arange(stored.n_rows)), partition)
    )
    place = Streams(1).branch("restart", 0)
    one, other = (
        held_out_density(model.core, source, stats, Cavi(), place) for source in (stored, anew)
    )
    assert len(one) == len(regimes) > FOLDS
    assert_allclose(one, other, rtol=0.0, atol=1e-7)


# -- who may know of blocks ----------------------------------------------------------------------


def knows_of_blocks(node: ast.AST) -> bool:
    """Whether the expression asks for the blocks of a source, or joins blocks."""
    if not isinstance(node, ast.Attribute):
        return False
    joins = isinstance(node.value, ast.Name) and node.value.id == "Block" and node.attr == "joined"
    return joins or node.attr == "blocks"


def places(text: str) -> list[int]:
    """Lines that know of blocks."""
    if not re.search(r"\b(blocks|joined)\b", text):
        return []
    return [node.lineno for node in ast.walk(ast.parse(text)) if knows_of_blocks(node)]


def test_no_code_outside_the_folder_of_data_indexes_or_joins_blocks(root):
    paths = [
        path for top in ("bayesvb", "reports", "datasets") for path in (root / top).rglob("*.py")
    ]
    outside = [path for path in paths if root / "bayesvb/data" not in path.parents]
    assert len(outside) > 100
    found = {path: places(path.read_text(encoding="utf-8")) for path in outside}
    assert {str(path.relative_to(root)): lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("model.source.blocks[0]", True),
        ("for block in fit.model.source.blocks: pass", True),
        ("whole = Block.joined(pieces)", True),
        ("from bayesvb.data.blocks import Block", False),
        ("for block in source.iterate(): pass", False),
        ("', '.join(names)", False),
    ],
)
def test_the_rule_catches_each_way_to_know_of_blocks(text, found):
    assert bool(places(text)) == found


@pytest.mark.parametrize("weighted", [False, True])
def test_a_sample_that_stands_for_all_weighs_as_much(weighted):
    rng = np.random.default_rng(4)
    weight = rng.uniform(0.5, 3.0, size=90) if weighted else None
    block = Block({"mean": np.ones((1, 90))}, rng.normal(size=(1, 90)), weight)
    source = InMemorySource.of(block, workers=2)
    some = source.standing_for_all(30, np.random.default_rng(1))
    alike = source.sample(30, np.random.default_rng(1))
    assert (some.n_rows, some.workers) == (30, 2)
    assert some.total_weight == pytest.approx(source.total_weight)
    found = some.take(np.arange(30))
    assert_array_equal(found.response, alike.response)
    before = np.ones(30) if alike.weight is None else alike.weight
    assert_allclose(found.weight / before, source.total_weight / before.sum())
