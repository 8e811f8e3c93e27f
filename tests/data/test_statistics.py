from dataclasses import dataclass

import numpy as np
import pytest
from jaxtyping import Float
from numpy.testing import assert_array_equal

from bayesvb.data.statistics import LocalStep, SufficientStats


@dataclass(frozen=True)
class Inner(SufficientStats):
    cross: Float[np.ndarray, "a b"]
    weight: Float[np.ndarray, " a"]


@dataclass(frozen=True)
class Outer(SufficientStats):
    first: Float[np.ndarray, "a b c"]
    inner: Inner
    last: Float[np.ndarray, ""]


@dataclass(frozen=True)
class Nothing(SufficientStats):
    empty: Float[np.ndarray, "0 a"]
    inner: Inner


@dataclass(frozen=True)
class Pair(SufficientStats):
    inner: Inner
    nothing: SufficientStats


def record(rng):
    inner = Inner(rng.normal(size=(2, 3)), rng.normal(size=2))
    return Outer(rng.normal(size=(2, 1, 4)), inner, np.array(rng.normal()))


def leaves(stats):
    return dict(stats.leaves())


def assert_same(one, other):
    assert type(one) is type(other)
    mine, theirs = leaves(one), leaves(other)
    assert list(mine) == list(theirs)
    for name, leaf in mine.items():
        assert np.shape(leaf) == np.shape(theirs[name])
        assert_array_equal(leaf, theirs[name])


def test_records_add_leaf_by_leaf(rng):
    one, other = record(rng), record(rng)
    for name, leaf in leaves(one + other).items():
        assert_array_equal(leaf, leaves(one)[name] + leaves(other)[name])


@pytest.mark.parametrize("factor", [0.0, -1.5, 3.0])
def test_records_scale_leaf_by_leaf_from_both_sides(rng, factor):
    stats = record(rng)
    assert_same(factor * stats, stats * factor)
    for name, leaf in leaves(factor * stats).items():
        assert_array_equal(leaf, factor * leaves(stats)[name])


def test_leaves_are_named_by_their_path(rng):
    assert list(leaves(record(rng))) == ["first", "inner.cross", "inner.weight", "last"]


def test_a_vector_round_trip_changes_nothing(rng):
    stats = record(rng)
    vector = stats.to_vector()
    assert vector.shape == (2 * 4 + 6 + 2 + 1,)
    assert_same(record(rng).with_vector(vector), stats)
    assert_array_equal(stats.with_vector(vector + 1.0).to_vector(), vector + 1.0)


def test_many_vectors_round_trip_together(rng):
    vectors = rng.normal(size=(5, len(record(rng).to_vector())))
    assert_array_equal(record(rng).with_vector(vectors).to_vectors(), vectors)


def test_a_vector_round_trip_takes_leaves_without_entries(rng):
    stats = Nothing(np.zeros((0, 3)), record(rng).inner)
    assert_same(stats.with_vector(stats.to_vector()), stats)


def test_the_base_is_the_record_without_entries(rng):
    nothing, inner = SufficientStats(), record(rng).inner
    assert list(nothing.leaves()) == []
    assert nothing.to_vector().shape == (0,)
    assert nothing.to_vector().dtype == float
    assert 2.0 * nothing + nothing == nothing.with_vector(np.empty(0)) == nothing
    step = LocalStep(-1.5, Pair(inner, nothing))
    assert_array_equal(step.stats.to_vector(), inner.to_vector())
    assert_same(step.stats.with_vector(inner.to_vector()), step.stats)
    assert_same((step + step).stats.inner, inner + inner)


def test_a_record_is_a_point_of_a_vector_space(rng):
    one, other = record(rng), record(rng)
    assert_array_equal((one + other).to_vector(), one.to_vector() + other.to_vector())
    assert_array_equal((2.5 * one).to_vector(), 2.5 * one.to_vector())


def test_a_sweep_adds_its_bound_and_its_sums(rng):
    one, other = record(rng), record(rng)
    total = LocalStep(-1.5, one) + LocalStep(4.0, other)
    assert total.bound == 2.5
    assert_same(total.stats, one + other)


def test_records_are_not_changed_by_arithmetic(rng):
    stats = record(rng)
    before = stats.to_vector()
    _ = stats + stats, 3.0 * stats, stats.with_vector(before * 2.0)
    assert_array_equal(stats.to_vector(), before)
