"""Moments of blocks put together, against those of whole columns."""

from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from bayesvb.data import column_moments
from bayesvb.data.column_moments import ColumnMoments


def columns(rng, n_rows):
    return rng.normal(size=(n_rows, 3)) * [1.0, 1e-150, 1e140] + [1e6, 0.0, 0.0]


@pytest.mark.parametrize("weighted", [False, True])
@given(cuts=st.lists(st.integers(0, 90), max_size=5), seed=st.integers(0, 2**32 - 1))
def test_moments_of_parts_make_those_of_the_whole(weighted, cuts, seed):
    rng = np.random.default_rng(seed)
    x = columns(rng, 90)
    weight = rng.integers(0, 3, 90).astype(float) if weighted else None
    pieces = np.split(np.arange(90), sorted(cuts))
    each = (
        ColumnMoments.of(x[p], None if weight is None else weight[p], products=True) for p in pieces
    )
    found, expected = reduce(add, each), ColumnMoments.of(x, weight, products=True)
    for name, values in vars(expected).items():
        size = expected.deviation if name == "triangle" else 1.0  # entries of a column are alike
        rounding = 1e-8 if name == "triangle" else 0.0
        assert_allclose(getattr(found, name) / size, values / size, 1e-9, rounding, err_msg=name)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_triangle_has_the_products_of_deviations(rng, weighted):
    x = rng.normal(size=(50, 3)) @ [[1.0, 2.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 5.0]] + 1e3
    weight = rng.integers(0, 3, 50).astype(float) if weighted else np.ones(50)
    triangle = ColumnMoments.of(x, weight, products=True).triangle
    away = x - np.average(x, axis=0, weights=weight)
    assert_allclose(triangle.T @ triangle, (weight * away.T) @ away, atol=1e-10)
    assert_allclose(triangle, np.triu(triangle), atol=0.0)
    assert ColumnMoments.of(x, weight).triangle is None


def test_the_triangle_keeps_the_digits_that_products_lose(rng):
    x = rng.uniform(-5.0, 5.0, 400)
    powers = (2000.0 + x)[:, None] ** [1.0, 2.0, 3.0]  # a cube leaves a millionth of itself
    triangle = ColumnMoments.of(powers, products=True).triangle
    rest = np.linalg.qr(np.vander(x, 4, increasing=True), mode="r")[3, 3]
    assert triangle[2, 2] == pytest.approx(abs(rest), rel=1e-6)


def test_moments_are_means_and_standard_deviations(rng):
    x = columns(rng, 500)
    found = ColumnMoments.of(x)
    assert_allclose(found.mean, x.mean(axis=0), rtol=1e-12, atol=0.0)
    centre, scale = found.scales(centred=True)
    assert_allclose(centre, found.mean)
    sizes = np.abs(x).max(axis=0)
    assert_allclose(scale, sizes * (x / sizes).std(axis=0), rtol=1e-9)
    assert_allclose(
        found.scales(centred=False)[1], sizes * np.sqrt(((x / sizes) ** 2).mean(axis=0))
    )


def test_rows_in_memory_are_put_together_block_by_block(rng, monkeypatch):
    x = columns(rng, 50)
    monkeypatch.setattr(column_moments, "BLOCK_ROWS", 20)
    found = ColumnMoments.of(x)
    expected = ColumnMoments.of(x[:20]) + ColumnMoments.of(x[20:40]) + ColumnMoments.of(x[40:])
    assert all(
        np.array_equal(getattr(found, name), value) for name, value in vars(expected).items()
    )


def test_columns_without_spread_keep_the_scale_one():
    found = ColumnMoments.of(np.full((7, 1), 0.1)) + ColumnMoments.of(np.full((8, 1), 0.1))
    assert found.scales(centred=True)[1].tolist() == [1.0]
    assert ColumnMoments.of(np.empty((0, 2))).scales(centred=True)[1].tolist() == [1.0, 1.0]
