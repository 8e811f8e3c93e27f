"""Dense precisions: batches, known factors, and the linear algebra of single matrices."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from bayesvb.linear.precisions import DensePrecision
from bayesvb.numerics.linalg import pack


def matrices(rng, *batch):
    root = rng.normal(size=(*batch, 3, 6))
    return root @ np.swapaxes(root, -1, -2)


def test_vectors_broadcast_over_matrices():
    rng = np.random.default_rng(0)
    matrix, vectors = matrices(rng, 2), rng.normal(size=(2, 4, 3))
    found = DensePrecision(matrix).solve(vectors)
    assert_allclose(found[1, 2], np.linalg.solve(matrix[1], vectors[1, 2]), rtol=1e-10)
    shared = DensePrecision(matrix[0])
    assert_allclose(shared.times(vectors), np.einsum("ab,knb->kna", matrix[0], vectors))
    assert shared.plus(pack(matrix)).matrix.shape == (2, 3, 3)


def test_known_factors_are_not_made_again():
    matrix = np.diag([1.0, 2.0])
    marked = DensePrecision(matrix, (np.full((2, 2), 7.0), np.asarray(3.0)))
    assert marked.inverse[0, 1] == 7.0 and marked.log_det == 3.0
    made = marked.diagonal(np.array([2.0, 0.5]))
    assert_array_equal(made.inverse, np.diag([0.5, 2.0]))
    assert made.shared is made and made.n_coefficients == 2


def test_diagonals_of_rows_broadcast_over_what_a_row_has_several_of():
    each = DensePrecision(np.eye(2)).diagonal(np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert each.matrix.shape == (2, 1, 2, 2)
    assert_array_equal(each.entries[:, 0], [[1.0, 2.0], [3.0, 4.0]])
    assert_array_equal(each.by_term(np.arange(2.0)), [0.0, 1.0])


def test_moments_and_traces():
    rng = np.random.default_rng(1)
    one, other = (DensePrecision(matrices(rng)) for _ in range(2))
    expected = np.trace(one.matrix @ np.linalg.inv(other.matrix))
    assert_allclose(one.trace_with(other), expected, rtol=1e-10)
    mean = rng.normal(size=(2, 3))
    second = mean.T @ mean + 2.0 * np.linalg.inv(one.matrix)
    found = one.second_moments(mean, mean) @ pack(other.matrix)
    assert_allclose(found, np.trace(second @ other.matrix), rtol=1e-10)
    assert_allclose(one.variances, np.diag(np.linalg.inv(one.matrix)), rtol=1e-10)


def test_changes_of_moments_are_derivatives_in_the_matrix_and_in_the_means():
    rng = np.random.default_rng(2)
    one, step = DensePrecision(matrices(rng)), 1e-5
    change, (mean, move) = DensePrecision(matrices(rng)), rng.normal(size=(2, 2, 3))
    ends = (
        DensePrecision(one.matrix + side * change.matrix).second_moments(mean + side * move, mean)
        for side in (step, -step)
    )
    expected = np.subtract(*ends) / (2.0 * step)
    # Both the first vectors and the covariance of each pair change.
    found = one.moments_along(move, mean, change) + one.moments_along(0.0 * move, mean, change)
    assert_allclose(found, expected, rtol=1e-6)
