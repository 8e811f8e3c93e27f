"""Columns that are sums of others."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesvb.numerics import rank
from bayesvb.numerics.rank import dependent_columns


def found_in(matrix):
    return dependent_columns(matrix, lowest=matrix.min(axis=0), highest=matrix.max(axis=0))


@given(
    seed=st.integers(0, 10_000),
    exponents=st.lists(st.integers(-150, 150), min_size=4, max_size=4),
    intercept=st.booleans(),
)
def test_independent_columns_of_any_scale_pass(seed, exponents, intercept):
    matrix = np.random.default_rng(seed).normal(size=(30, 4)) * 10.0 ** np.array(exponents)
    if intercept:
        matrix = np.column_stack([np.ones(30), matrix])
    assert found_in(matrix) == {}


@given(seed=st.integers(0, 10_000), place=st.integers(1, 5))
def test_a_sum_is_found_wherever_it_stands(seed, place):
    rng = np.random.default_rng(seed)
    free = rng.normal(size=(40, 5)) + rng.normal(size=5)
    total = free[:, :place] @ rng.uniform(0.5, 2, size=place)
    matrix = np.insert(free, place, total, axis=1)
    assert found_in(matrix) == {place: list(range(place))}


def test_two_sums_are_both_found():
    x, z = np.random.default_rng(0).normal(size=(2, 50))
    matrix = np.column_stack([x, 2 * x, z, x + z, x * z])
    assert found_in(matrix) == {1: [0], 3: [0, 2]}


def test_sums_over_several_blocks_of_rows(monkeypatch):
    monkeypatch.setattr(rank, "ROWS", 500)
    x, z = np.random.default_rng(0).normal(size=(2, 1007))
    assert found_in(np.column_stack([x, z, x - z])) == {2: [0, 1]}
    z[-1] += 1e-6
    assert found_in(np.column_stack([x, z, x - z + np.eye(len(x))[-1] * 1e-3])) == {}


@pytest.mark.parametrize("shift", [0.0, 1e3, 1e9, 1e12])
def test_a_shifted_column_is_no_multiple_of_the_intercept(shift):
    x = np.random.default_rng(0).normal(size=100)
    assert found_in(np.column_stack([np.ones(100), shift + x])) == {}


@pytest.mark.parametrize("shift", [0.0, 1e3, 1e6])
def test_a_multiple_of_a_shifted_column_is_found(shift):
    x = np.random.default_rng(0).normal(size=100) + shift
    assert found_in(np.column_stack([np.ones(100), x, 3 * x + 7])) == {2: [1]}


def test_a_column_of_zeros_is_no_sum():
    x = np.random.default_rng(0).normal(size=20)
    assert found_in(np.column_stack([np.zeros(20), x])) == {}
