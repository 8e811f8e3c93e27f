"""Stacks of small matrices against LAPACK, one matrix at a time."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayesvb.numerics.linalg import pack, unpack
from bayesvb.numerics.packed_matrices import (
    add_outer,
    diagonal_numbers,
    log_det,
    solve,
    solve_and_invert,
)

SIZES = range(1, 9)


def stack(rng, size, shape=(3, 5)):
    """Positive definite matrices of condition up to about 1e4, and right sides."""
    root = rng.normal(size=(*shape, size, size + 2))
    scale = 10.0 ** rng.uniform(-1.0, 1.0, size=(*shape, size, 1))
    matrix = scale * (root @ np.swapaxes(root, -1, -2)) * np.swapaxes(scale, -1, -2)
    return matrix, rng.normal(size=(*shape, size))


def last_first(array):
    return np.ascontiguousarray(np.moveaxis(array, -1, 0))


def bordered(matrix, right):
    """Triangle of the matrix, the right side, and a number that must not matter."""
    border = np.concatenate([right, np.full((*right.shape[:-1], 1), np.nan)], axis=-1)
    return last_first(np.concatenate([pack(matrix), border], axis=-1))


@pytest.mark.parametrize("size", SIZES)
def test_inverse_solution_and_determinant_are_those_of_lapack(size, rng):
    matrix, right = stack(rng, size)
    triangle = bordered(matrix, right)
    pivots = solve_and_invert(triangle, size)
    pairs = size * (size + 1) // 2
    inverse = np.linalg.inv(matrix)
    scale = np.sqrt(np.einsum("...ii,...jj->...ij", inverse, inverse))
    found = unpack(np.moveaxis(triangle[:pairs], 0, -1))
    assert_allclose(found / scale, inverse / scale, atol=1e-10)
    solution = np.linalg.solve(matrix, right[..., None])[..., 0]
    assert_allclose(np.moveaxis(triangle[pairs:-1], 0, -1), solution, rtol=1e-8, atol=1e-10)
    assert_allclose(log_det(pivots), np.linalg.slogdet(matrix)[1], rtol=1e-11, atol=1e-11)
    assert np.isnan(triangle[-1]).all()


@pytest.mark.parametrize("size", SIZES)
def test_a_triangle_without_border_is_inverted(size, rng):
    matrix, right = stack(rng, size)
    alone, with_border = last_first(pack(matrix)), bordered(matrix, right)
    assert_allclose(solve_and_invert(alone, size), solve_and_invert(with_border, size), rtol=1e-14)
    assert_allclose(alone, with_border[: len(alone)], rtol=1e-14)


@pytest.mark.parametrize("size", SIZES)
def test_the_solution_alone(size, rng):
    matrix, right = stack(rng, size)
    triangle = bordered(matrix, right)
    pivots = solve(triangle, size)
    solution = np.linalg.solve(matrix, right[..., None])[..., 0]
    pairs = size * (size + 1) // 2
    assert_allclose(np.moveaxis(triangle[pairs:-1], 0, -1), solution, rtol=1e-8, atol=1e-10)
    assert_allclose(log_det(pivots), np.linalg.slogdet(matrix)[1], rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("size", SIZES)
def test_second_moments_of_a_vector_with_a_one(size, rng):
    covariance, mean = stack(rng, size)
    triangle = bordered(covariance, mean)
    add_outer(triangle, size)
    ones = np.concatenate([mean, np.ones((*mean.shape[:-1], 1))], axis=-1)
    expected = ones[..., :, None] * ones[..., None, :]
    expected[..., :size, :size] += covariance
    assert_allclose(unpack(np.moveaxis(triangle, 0, -1)), expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("eliminate", [solve, solve_and_invert])
def test_a_matrix_that_is_not_positive_definite_is_refused(eliminate):
    indefinite = np.array([[1.0, 1.0], [2.0, 0.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0], [0.0, 0.0]])
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        eliminate(indefinite, 2)


def test_diagonal_numbers_pick_the_diagonal(rng):
    matrix, _ = stack(rng, 4)
    assert_allclose(pack(matrix)[..., diagonal_numbers(4)], np.diagonal(matrix, axis1=-2, axis2=-1))
