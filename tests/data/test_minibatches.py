"""Minibatches: all rows once, at random as far as they are in memory together."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from bayesvb.data.blocks import Block
from bayesvb.data.sources import AbstractSource, InMemorySource, RemainingRows

N_ROWS = 200


@dataclass(frozen=True)
class Generated(AbstractSource):
    """Blocks that are made whenever they are gone over."""

    make: Callable[[], object]

    def iterate(self):
        yield from self.make()

    @property
    def n_rows(self):
        return N_ROWS

    @property
    def total_weight(self):
        return float(N_ROWS)


def in_memory(block, size, workers=1):
    return InMemorySource(tuple(block.split(size)), workers=workers)


SOURCES = {
    "one block": lambda block: in_memory(block, N_ROWS, 3),
    "many blocks": lambda block: in_memory(block, 7),
    "generated": lambda block: Generated(lambda: block.split(7), workers=3),
    "one block generated": lambda block: Generated(lambda: [block]),
    "rows left": lambda block: RemainingRows(
        in_memory(Block.joined([block, block]), 30), np.arange(2 * N_ROWS) < N_ROWS
    ),
}


@pytest.fixture(params=[False, True], ids=["plain", "weighted"])
def whole(request, rng):
    """All rows as one block."""
    weight = rng.gamma(1.0, size=N_ROWS) if request.param else None
    shared = rng.normal(size=(3, N_ROWS))
    return Block({"mean": shared, "gating": shared}, rng.normal(size=(2, N_ROWS)), weight)


@pytest.fixture(params=SOURCES)
def source(request, whole):
    return SOURCES[request.param](whole)


def assert_same_rows(found, expected):
    assert_array_equal(found.designs["mean"], expected.designs["mean"])
    assert_array_equal(found.response, expected.response)
    assert (found.weight is None) == (expected.weight is None)
    if expected.weight is not None:
        assert_array_equal(found.weight, expected.weight)


@pytest.mark.parametrize("n_rows", [1, 7, 40, 99])
def test_minibatches_are_all_rows_once_nearly_as_many_each_time(source, whole, n_rows):
    parts = list(source.minibatches(n_rows, np.random.default_rng(1)))
    blocks = [Block.joined(list(part.iterate())) for part in parts]
    found = Block.joined(blocks)
    order = np.lexsort(found.response)
    expected = whole.take(np.lexsort(whole.response))
    assert_same_rows(found.take(order), expected)
    sizes = np.array([block.n_rows for block in blocks])
    assert all(n_rows <= size < 3 * n_rows or len(sizes) == 1 for size in sizes)
    assert all(part.workers == source.workers for part in parts)
    again = source.minibatches(n_rows, np.random.default_rng(1))
    for one, block in zip(again, blocks, strict=True):
        assert_same_rows(Block.joined(list(one.iterate())), block)


def test_a_minibatch_of_all_rows_is_the_source_itself(source):
    assert list(source.minibatches(N_ROWS, np.random.default_rng(1))) == [source]


def test_minibatches_of_rows_in_memory_are_drawn_from_all_of_them(whole):
    source = in_memory(whole, 7)
    first = next(source.minibatches(50, np.random.default_rng(1)))
    drawn = Block.joined(list(first.iterate())).response[0]
    at = np.searchsorted(np.sort(whole.response[0]), drawn)
    places = np.argsort(whole.response[0])[at]
    assert places.max() > 150 and places.min() < 50 and (np.diff(places) < 0).any()


def test_rows_of_blocks_that_are_made_anew_are_shuffled_with_their_neighbours(whole):
    source = Generated(lambda: whole.split(50))
    first = next(source.minibatches(25, np.random.default_rng(2)))
    drawn = Block.joined(list(first.iterate())).response[0]
    places = np.flatnonzero(np.isin(whole.response[0], drawn))
    assert places.min() < 50 and places.max() > 150


def test_rows_of_more_blocks_than_are_in_memory_are_shuffled_within_them(whole, monkeypatch):
    monkeypatch.setattr("bayesvb.data.sources.MIXED_ROWS", 50)
    source = Generated(lambda: whole.split(50))
    for number, part in enumerate(source.minibatches(25, np.random.default_rng(2))):
        drawn = Block.joined(list(part.iterate())).response[0]
        own = whole.part(50 * (number // 2), 50 * (number // 2) + 50).response[0]
        places = np.flatnonzero(np.isin(own, drawn))
        assert len(places) == 25 and places.max() - places.min() > 25
