import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from bayesvb.numerics.linalg import (
    inverse_and_log_det,
    lower_pairs,
    pack,
    products,
    quadratic_at,
    quadratic_weights,
    second_moments,
    shrunken_covariance,
    sparse_products,
    times,
    times_each,
    unpack,
)

SIZES = st.integers(1, 9)


def symmetric(rng, *shape):
    matrix = rng.normal(size=(*shape, shape[-1]))
    return matrix + np.swapaxes(matrix, -1, -2)


def positive_definite(rng, *shape):
    root = rng.normal(size=(*shape, 2 * shape[-1]))
    return root @ np.swapaxes(root, -1, -2) / shape[-1] + 0.1 * np.eye(shape[-1])


@given(n_terms=SIZES, n_rows=st.integers(0, 20), seed=st.integers(0, 99))
def test_sums_of_products_are_packed_cross_products(n_terms, n_rows, seed):
    rng = np.random.default_rng(seed)
    x, weight = rng.normal(size=(n_terms, n_rows)), rng.uniform(size=(3, n_rows))
    assert products(x).shape == (n_terms * (n_terms + 1) // 2, n_rows)
    found = unpack(weight @ products(x).T)
    assert_allclose(found, np.einsum("kn,in,jn->kij", weight, x, x), atol=1e-12)


@pytest.mark.parametrize("n_terms", [1, 19, 22, 40])
@pytest.mark.parametrize("n_matrices", [1, 3])
def test_moments_and_quadratic_forms_are_the_same_whichever_way_is_faster(n_terms, n_matrices):
    rng = np.random.default_rng(n_terms)
    x, weight = rng.normal(size=(n_terms, 30)), rng.normal(size=(n_matrices, 30))
    found = unpack(second_moments(weight, x))
    assert_allclose(found, np.einsum("kn,in,jn->kij", weight, x, x), atol=1e-11)
    matrix = symmetric(rng, n_matrices, n_terms)
    expected = np.einsum("kij,in,jn->kn", matrix, x, x)
    assert_allclose(quadratic_at(matrix, x), expected, atol=1e-10)
    by_row = symmetric(rng, 30, n_matrices, n_terms)
    expected = np.einsum("nkij,in,jn->kn", by_row, x, x)
    assert_allclose(quadratic_at(by_row, x), expected, atol=1e-10)


def test_so_they_are_where_nearly_all_terms_of_a_row_are_zero(rng):
    groups = (rng.integers(0, 98, 90) == np.arange(98)[:, None]).astype(float)
    x = np.vstack([np.ones(90), groups, rng.normal(size=90)])
    weight, matrix = rng.normal(size=(2, 90)), symmetric(rng, 2, len(x))
    found = unpack(second_moments(weight, x))
    assert_allclose(found, np.einsum("kn,in,jn->kij", weight, x, x), atol=1e-11)
    expected = np.einsum("kij,in,jn->kn", matrix, x, x)
    assert_allclose(quadratic_at(matrix, x), expected, atol=1e-10)
    assert_allclose(sparse_products(x).toarray().T, products(x), atol=1e-12)


def test_sparse_products_are_made_once_and_only_where_they_are_few(rng):
    x = np.repeat(np.eye(20), 2, axis=1)
    x[0, :9], x[1, 0] = 0.5, 0.0
    kept = sparse_products(x)
    assert kept is sparse_products(x)
    assert kept is not sparse_products(x.copy())
    assert_allclose(kept.toarray().T, products(x))
    assert sparse_products(rng.normal(size=(20, 5))) is None
    assert sparse_products(np.zeros((20, 5))) is None
    assert sparse_products(np.eye(3)) is None


@given(n_terms=SIZES, seed=st.integers(0, 99))
def test_quadratic_weights_times_products_are_quadratic_forms(n_terms, seed):
    rng = np.random.default_rng(seed)
    x, matrix = rng.normal(size=(n_terms, 7)), symmetric(rng, 2, 4, n_terms)
    kept = matrix.copy()
    found = quadratic_weights(matrix) @ products(x)
    expected = np.einsum("in,abij,jn->abn", x, matrix, x)
    assert_allclose(found, expected, rtol=1e-12, atol=1e-12 * n_terms**2)
    assert_array_equal(matrix, kept)


@given(n_terms=SIZES, seed=st.integers(0, 99))
def test_packing_loses_nothing(n_terms, seed):
    rng = np.random.default_rng(seed)
    matrix = symmetric(rng, 3, n_terms)
    assert_array_equal(unpack(pack(matrix)), matrix)
    packed = rng.normal(size=(2, 3, n_terms * (n_terms + 1) // 2))
    assert_array_equal(pack(unpack(packed)), packed)


def test_sizes_are_recovered_from_packed_lengths():
    for n_terms in (1, 2, 50, 300):
        assert unpack(np.zeros(len(lower_pairs(n_terms)[0]))).shape == (n_terms, n_terms)


@pytest.mark.parametrize("n_terms", [1, 2, 6])
def test_inverse_and_log_determinant_agree_with_dense_algebra(rng, n_terms):
    matrix = positive_definite(rng, 4, n_terms)
    inverse, log_det = inverse_and_log_det(matrix)
    identity = np.broadcast_to(np.eye(n_terms), matrix.shape)
    assert_allclose(inverse @ matrix, identity, atol=1e-9)
    assert_array_equal(inverse, np.swapaxes(inverse, -1, -2))
    assert_allclose(log_det, np.log(np.linalg.det(matrix)), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("n_terms", [1, 2, 3, 6])
def test_many_matrices_are_inverted_together_as_each_is(rng, n_terms):
    matrix = positive_definite(rng, 300, n_terms).reshape(100, 3, n_terms, n_terms)
    inverse, log_det = inverse_and_log_det(matrix)
    each = [inverse_and_log_det(one) for one in matrix.reshape(300, n_terms, n_terms)]
    alone = np.reshape([one for one, _ in each], matrix.shape)
    assert_allclose(inverse, alone, rtol=1e-9, atol=1e-9 * np.abs(alone).max())
    assert_allclose(log_det, np.reshape([one for _, one in each], (100, 3)), rtol=1e-10)
    matrix[7, 1] *= -1.0
    with pytest.raises(np.linalg.LinAlgError):
        inverse_and_log_det(matrix)


def test_log_determinant_does_not_overflow():
    _, log_det = inverse_and_log_det(1e-20 * np.eye(40))
    assert_allclose(log_det, 40 * np.log(1e-20))


def test_a_matrix_that_is_not_positive_definite_is_refused(rng):
    matrix = positive_definite(rng, 3, 2)
    matrix[1] = [[1.0, 2.0], [2.0, 1.0]]
    with pytest.raises(np.linalg.LinAlgError):
        inverse_and_log_det(matrix)


@pytest.mark.parametrize(
    ("matrices", "vectors"), [((), ()), ((), (5,)), ((5,), (5,)), ((5,), ()), ((3, 1), (3, 4))]
)
def test_times_broadcasts_leading_axes(rng, matrices, vectors):
    matrix, vector = rng.normal(size=(*matrices, 3, 3)), rng.normal(size=(*vectors, 3))
    assert_allclose(times(matrix, vector), np.einsum("...ij,...j->...i", matrix, vector))


@pytest.mark.parametrize(
    ("matrices", "vectors"), [((), ()), ((), (5,)), ((5,), (5,)), ((5,), ()), ((3, 1), (3, 4))]
)
@pytest.mark.parametrize("n_draws", [0, 1, 7])
def test_many_vectors_are_multiplied_as_each_is(rng, matrices, vectors, n_draws):
    matrix, each = rng.normal(size=(*matrices, 3, 3)), rng.normal(size=(n_draws, *vectors, 3))
    found = times_each(matrix, each)
    assert found.shape == (n_draws, *np.broadcast_shapes(matrices, vectors), 3)
    assert found.flags.c_contiguous
    for one, vector in zip(found, each, strict=True):
        assert_allclose(one, times(matrix, vector), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("n_terms", [1, 2, 16, 40])
@pytest.mark.parametrize("batch", [(), (3,), (2, 0), (2, 2)])
def test_inverse_and_log_det_are_numpys(n_terms, batch, rng):
    root = rng.normal(size=(*batch, n_terms, 2 * n_terms))
    matrix = root @ np.swapaxes(root, -1, -2)
    inverse, log_det = inverse_and_log_det(matrix)
    assert_array_equal(inverse, np.swapaxes(inverse, -1, -2))
    assert_allclose(inverse, np.linalg.inv(matrix), rtol=1e-7, atol=1e-9)
    assert_allclose(log_det, np.linalg.slogdet(matrix)[1], rtol=1e-12)


@pytest.mark.parametrize("n_terms", [3, 16])
def test_an_indefinite_matrix_has_no_inverse_here(n_terms):
    matrix = np.diag(np.r_[np.ones(n_terms - 1), -1.0])
    with pytest.raises(np.linalg.LinAlgError):
        inverse_and_log_det(np.stack([np.eye(n_terms), matrix]))


def test_matrices_may_stand_in_memory_in_any_order(rng):
    matrix = positive_definite(rng, 2, 3, 4)
    for turned in (matrix.swapaxes(0, 1), np.asfortranarray(matrix), matrix[:, ::-1]):
        inverse, _ = inverse_and_log_det(turned)
        assert_allclose(inverse @ turned, np.broadcast_to(np.eye(4), turned.shape), atol=1e-10)


@pytest.mark.parametrize("n_draws", [2, 3, 200])
def test_a_shrunken_covariance_has_a_part_of_each_covariance_and_is_definite(n_draws):
    draws = np.random.default_rng(1).normal(size=(n_draws, 5))
    found = shrunken_covariance(draws)
    share = n_draws / (n_draws + 5)
    assert np.linalg.eigvalsh(found).min() > 0.0
    assert_allclose(found[0, 1], share * np.cov(draws.T)[0, 1])
