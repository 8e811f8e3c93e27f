"""Inverses of stacks of matrices that are diagonal but for a border."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bayesvb.numerics.bordered_stacks import (
    FEWEST_MATRICES,
    border_of,
    border_of_packed,
    bordered_inverse,
    inverse_products,
)
from bayesvb.numerics.linalg import inverse_and_log_det, pack


def precisions(seed, n_border=3, n_groups=24, n_matrices=2 * FEWEST_MATRICES):
    """Those of a few terms and an effect of groups, each without one row, in an order by chance."""
    rng = np.random.default_rng(seed)
    place, x = rng.integers(0, n_groups, 200), rng.normal(size=(n_border, 200))
    design = rng.permutation(np.vstack([x, place == np.arange(n_groups)[:, None]]))
    rows = design[:, :n_matrices].T
    whole = np.eye(len(design)) + design @ design.T
    return whole - rows[:, :, None] * rows[:, None, :]


@pytest.mark.parametrize("n_border", [1, 3])
def test_inverses_and_determinants_are_those_of_any_matrix(n_border):
    matrix = precisions(n_border, n_border)
    border = border_of(matrix)
    assert len(border) == n_border
    for shaped in (matrix, matrix.reshape(2, -1, *matrix.shape[1:])):
        for found in (
            inverse_and_log_det(shaped),
            bordered_inverse(shaped, border, inverse_and_log_det),
        ):
            assert_allclose(found[0], np.linalg.inv(shaped), atol=1e-12)
            assert_allclose(found[1], np.linalg.slogdet(shaped)[1], rtol=1e-12)


def test_a_border_is_found_only_where_all_matrices_have_it():
    matrix = precisions(0)
    border = border_of(matrix)
    rest = np.setdiff1d(np.arange(matrix.shape[-1]), border)
    among = matrix[:, rest[:, None], rest]
    assert_array_equal(among, among * np.eye(len(rest)))
    one = matrix.copy()
    one[5, rest[0], rest[1]] = one[5, rest[1], rest[0]] = 1e-3
    assert border_of(one) is None
    assert_allclose(inverse_and_log_det(one)[0], np.linalg.inv(one), atol=1e-12)
    assert border_of(matrix[: FEWEST_MATRICES - 1]) is None
    assert border_of(matrix + 1e-9) is None


def test_a_border_takes_part_in_a_few_matrices_only():
    """Terms that no row of some matrices has are linked where others have them."""
    matrix = precisions(4)
    border = border_of(matrix)
    matrix[0, border[0], :] = matrix[0, :, border[0]] = 0.0
    matrix[0, border[0], border[0]] = 2.0
    assert_array_equal(border_of(matrix), border)
    assert_allclose(inverse_and_log_det(matrix)[0], np.linalg.inv(matrix), atol=1e-12)


@pytest.mark.parametrize("of_border", [True, False])
def test_matrices_that_are_not_positive_definite_are_refused(of_border):
    matrix = precisions(1)
    border = border_of(matrix)
    rest = np.setdiff1d(np.arange(matrix.shape[-1]), border)
    at = (border if of_border else rest)[0]
    matrix[3, at, at] = -1.0
    with pytest.raises(np.linalg.LinAlgError, match="positive"):
        inverse_and_log_det(matrix)


def test_diagonal_matrices_have_no_border():
    """Prior precisions of a network of many experts and columns are such."""
    each = np.linspace(0.5, 2.0, 20 * 24).reshape(20, 24)
    matrix = each[:, :, None] * np.eye(24)
    assert border_of(matrix) is None
    inverse, log_det = inverse_and_log_det(matrix)
    assert_allclose(inverse, np.eye(24) / each[:, :, None], rtol=1e-14)
    assert_allclose(log_det, np.log(each).sum(axis=1), rtol=1e-14)


def test_products_with_inverses_are_those_of_whole_inverses():
    matrix, rng = precisions(5), np.random.default_rng(5)
    each = matrix.reshape(2, -1, *matrix.shape[1:])
    added = rng.uniform(0.1, 2.0, (2, 1, matrix.shape[-1]))
    vectors = rng.normal(size=(*each.shape[:2], 4, matrix.shape[-1]))
    found = inverse_products(pack(each), added, vectors, border_of_packed(pack(each)))
    whole = np.linalg.inv(each + added[..., None] * np.eye(matrix.shape[-1]))
    assert_allclose(found, vectors @ whole @ np.swapaxes(vectors, -1, -2), rtol=1e-10, atol=1e-12)


def test_packed_matrices_have_the_border_that_they_have_whole():
    matrix = precisions(6)
    assert_array_equal(border_of_packed(pack(matrix)), border_of(matrix))
    assert border_of_packed(pack(matrix + 1e-9)) is None


@pytest.mark.parametrize("of_border", [True, False])
def test_products_are_refused_of_matrices_that_are_not_positive_definite(of_border):
    matrix = precisions(7)
    border = border_of(matrix)
    rest = np.setdiff1d(np.arange(matrix.shape[-1]), border)
    at = border[0] if of_border else rest[0]
    matrix[3, at, at] -= 2.0 * matrix[3, at, at]
    vectors, added = np.ones((len(matrix), 1, matrix.shape[-1])), np.zeros(matrix.shape[-1])
    with pytest.raises(np.linalg.LinAlgError):
        inverse_products(pack(matrix), added[None], vectors, border)
