import os
import threading
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import Float
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_info

from bayesvb.blocks import Block, Source, single_threaded_blas
from bayesvb.engines.starts import features
from bayesvb.linalg import products
from bayesvb.stats import Stats


@dataclass(frozen=True)
class Cross(Stats):
    xx: Float[np.ndarray, "a a"]
    xy: Float[np.ndarray, "a b"]


def cross(block):
    x = block.designs["mean"]
    return Cross(block.weighted(x) @ x.T, block.weighted(x) @ block.response.T)


def rows(rng, n_rows, *, weighted=False):
    designs = {"mean": rng.normal(size=(3, n_rows)), "gating": rng.normal(size=(2, n_rows))}
    weight = rng.gamma(1.0, size=n_rows) if weighted else None
    return Block(designs, rng.normal(size=(1, n_rows)), weight)


def source(block, size, workers=1):
    return Source(tuple(block.split(size)), workers)


@given(n_rows=st.integers(0, 40), size=st.integers(1, 50), weighted=st.booleans())
def test_blocks_cover_all_rows_in_order(n_rows, size, weighted):
    block = rows(np.random.default_rng(n_rows), n_rows, weighted=weighted)
    parts = list(block.split(size))
    assert all(part.n_rows <= size for part in parts)
    for name, design in block.designs.items():
        assert_array_equal(np.concatenate([p.designs[name] for p in parts], axis=1), design)
    assert_array_equal(np.concatenate([p.response for p in parts], axis=1), block.response)
    if weighted:
        assert_array_equal(np.concatenate([p.weight for p in parts]), block.weight)
    assert source(block, size).n_rows == block.n_rows == n_rows


def test_kept_products_are_those_of_the_rows_and_no_features(rng):
    block = rows(rng, 10)
    twins = Block(block.designs | {"twin": block.designs["mean"]}, block.response)
    kept = twins.with_products()
    for part in (kept, kept.part(2, 7), kept.take(np.array([8, 1])), kept.with_products()):
        for name in twins.designs:
            assert_array_equal(part.products(name), products(part.designs[name]))
    assert kept.products("twin") is kept.products("mean") is not block.products("mean")
    assert len(kept.with_products().designs) == len(kept.designs) == 6
    assert_array_equal(features(kept), features(twins))


def test_designs_that_are_one_array_stay_one(rng):
    block = rows(rng, 10)
    one = Block({"mean": block.designs["mean"], "gating": block.designs["mean"]}, block.response)
    two = Block(
        {"mean": block.designs["mean"], "gating": 1.0 * block.designs["mean"]}, one.response
    )

    def changed(block):
        kept = block.with_products()
        parts = list(kept.split(4))
        return kept, parts[1], kept.take(np.array([8, 1])), Block.joined(parts)

    for same, other in zip(changed(one), changed(two), strict=True):
        assert same.designs["mean"] is same.designs["gating"]
        assert same.products("mean") is same.products("gating")
        assert other.designs["mean"] is not other.designs["gating"]
        for name in one.designs:
            assert_array_equal(same.designs[name], other.designs[name])
            assert_array_equal(same.products(name), other.products(name))


def test_a_part_is_a_view(rng):
    block = rows(rng, 10, weighted=True)
    part = block.part(2, 5)
    assert np.shares_memory(part.designs["gating"], block.designs["gating"])
    assert np.shares_memory(part.response, block.response)
    assert np.shares_memory(part.weight, block.weight)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_taken_from_joined_blocks_are_those_of_the_whole(rng, weighted):
    block = rows(rng, 20, weighted=weighted)
    joined = Block.joined(list(block.split(6)))
    chosen = rng.permutation(20)[:9]
    for one, other in ((joined, block), (joined.take(chosen), block.take(chosen))):
        assert one.designs.keys() == other.designs.keys()
        assert_array_equal(one.designs["mean"], other.designs["mean"])
        assert_array_equal(one.response, other.response)
        assert (one.weight is None) == (not weighted)
        assert_array_equal(one.weight, other.weight)
    assert_array_equal(joined.take(chosen).designs["gating"], block.designs["gating"][:, chosen])
    assert_array_equal(joined.take(chosen).response, block.response[:, chosen])


def test_weights_multiply_and_count(rng):
    block = rows(rng, 12, weighted=True)
    values = rng.normal(size=(4, 12))
    assert_array_equal(block.weighted(values), values * block.weight)
    assert_allclose(source(block, 5).total_weight, block.weight.sum())
    plain = rows(rng, 12)
    assert_array_equal(plain.weighted(values), values)
    assert source(plain, 5).total_weight == 12.0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", [1, 7, 64, 999, 1000])
def test_any_block_size_gives_the_same_sums_to_rounding(rng, size, weighted):
    block = rows(rng, 1000, weighted=weighted)
    whole, found = cross(block), source(block, size).map_reduce(cross)
    assert_allclose(found.to_vector(), whole.to_vector(), rtol=0.0, atol=1e-11)


@pytest.mark.parametrize("size", [1, 13, 250])
def test_any_number_of_workers_gives_the_same_bits(rng, size):
    block = rows(rng, 600)
    one, two, three = (source(block, size, workers).map_reduce(cross) for workers in (1, 2, 3))
    assert_array_equal(one.to_vector(), two.to_vector())
    assert_array_equal(one.to_vector(), three.to_vector())


@dataclass(frozen=True)
class Order(Stats):
    """Digits written one behind the other: adding them in another order gives another number."""

    digits: tuple[int, ...]

    def __add__(self, other):
        return Order(self.digits + other.digits)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_results_are_added_in_block_order_even_if_the_first_comes_last(rng, workers):
    parts = tuple(rows(rng, 40).split(1))
    numbers = {id(part): n for n, part in enumerate(parts)}
    second_has_run = threading.Event()

    def number(part):
        here = numbers[id(part)]
        if here == 0 and workers > 1:
            assert second_has_run.wait(10.0)
        if here == 1:
            second_has_run.set()
        return Order((here,))

    assert Source(parts, workers).map_reduce(number).digits == tuple(range(40))


def test_only_a_few_blocks_are_in_flight(rng):
    """Blocks not yet asked for are not computed while the first one is still running."""
    parts = tuple(rows(rng, 100).split(1))
    started: list[int] = []
    gate = threading.Event()

    def slow_first(part):
        started.append(1)
        if part is parts[0]:
            gate.wait(0.3)
        return cross(part)

    watcher = threading.Timer(0.15, lambda: (seen.append(len(started)), gate.set()))
    seen: list[int] = []
    watcher.start()
    Source(parts, 2).map_reduce(slow_first)
    watcher.join()
    assert seen[0] <= 4 * 2 < len(started) == 100


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_in_a_block_reaches_the_caller(rng, workers):
    def refuse(part):
        raise np.linalg.LinAlgError("no")

    with pytest.raises(np.linalg.LinAlgError, match="no"):
        source(rows(rng, 10), 2, workers).map_reduce(refuse)


@pytest.mark.parametrize("workers", [1, 2])
def test_the_error_state_of_the_caller_holds_in_threads(rng, workers):
    def overflow(part):
        return Cross(np.float64(1e300) * np.full((1, 1), 1e300), np.zeros((1, 1)))

    with np.errstate(over="ignore"):
        total = source(rows(rng, 10), 2, workers).map_reduce(overflow)
    assert total.xx == np.inf


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one core has one thread in any case")
def test_blas_keeps_to_one_thread_inside_and_gets_its_threads_back():
    def threads():
        return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]

    before = threads()
    with single_threaded_blas():
        assert set(threads()) == {1}
    assert threads() == before
