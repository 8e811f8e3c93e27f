"""Quantiles and distinct values of numbers that come in blocks, against numpy's of all of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import rankdata

from bayesvb.numerics import order_statistics
from bayesvb.numerics.order_statistics import distinct_values, median, mid_ranks, quantiles

NUMBERS = st.lists(
    st.floats(-1e300, 1e300, allow_nan=False) | st.sampled_from([0.0, -0.0, 1.0, 5e-324]),
    min_size=1,
    max_size=60,
)
SHARES = [0.0, 0.1, 0.25, 0.5, 0.77, 1.0]


@given(values=NUMBERS)
def test_mid_ranks_are_those_of_scipy(values):
    assert_array_equal(mid_ranks(np.array(values)), rankdata(values))


def in_blocks(values, n_blocks=3):
    return lambda: iter(np.array_split(values, n_blocks))


@pytest.fixture(params=[1 << 20, 0], ids=["few values sorted", "none sorted"])
def gathered(request, monkeypatch):
    """Values that may be sorted: with none, intervals shrink until one double is left."""
    monkeypatch.setattr(order_statistics, "PER_PASS", request.param)


@given(NUMBERS)
def test_quantiles_are_those_of_all_values(values):
    x = np.array(values)
    expected = np.quantile(x, SHARES)
    size = np.abs(x).max()
    assert_allclose(
        quantiles(in_blocks(x), len(x), SHARES), expected, rtol=1e-13, atol=1e-15 * size
    )


@pytest.mark.parametrize("ties", [False, True])
def test_intervals_shrink_to_the_values_that_are_needed(rng, gathered, ties):
    x = rng.standard_cauchy(1000)
    x = np.round(x) if ties else x
    assert_allclose(quantiles(in_blocks(x), len(x), SHARES), np.quantile(x, SHARES), rtol=1e-13)


def test_passes_are_few(rng):
    x, passes = rng.normal(size=5000), []

    def read():
        passes.append(1)
        return iter(np.array_split(x, 4))

    quantiles(read, len(x), [0.1, 0.5])
    assert len(passes) == 3


@given(NUMBERS)
def test_distinct_values_are_those_of_all_values(values):
    x = np.array(values)
    found = distinct_values(in_blocks(x), len(x))
    assert_array_equal(found, np.unique(x))


def test_too_many_distinct_values_are_told(monkeypatch):
    x = np.arange(50.0)
    assert distinct_values(in_blocks(x), 49) is None
    monkeypatch.setattr(order_statistics, "PER_PASS", 5)
    assert distinct_values(in_blocks(x), 9) is None
    assert_array_equal(distinct_values(in_blocks(x), 50), x)


@pytest.mark.heavy
@given(NUMBERS, st.booleans())
def test_the_median_of_weighted_blocks_is_that_of_repeated_values(values, weighted):
    x = np.array(values)
    weight = np.arange(len(x)) % 3 + 1.0 if weighted else None
    counts = np.ones(len(x)) if weight is None else weight

    def read():
        blocks = np.array_split(np.arange(len(x)), 3)
        return ((x[own], None if weight is None else weight[own]) for own in blocks)

    expected = np.median(np.repeat(x, counts.astype(int)))
    with pytest.MonkeyPatch.context() as patch:
        few = median(read)
        patch.setattr(order_statistics, "PER_PASS", 0)
        patch.setattr(order_statistics, "BINS", 64)  # a fifth of the time
        none = median(read)
    assert_allclose([few, none], expected, rtol=1e-13, atol=1e-15 * np.abs(x).max())
