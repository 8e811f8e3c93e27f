"""Columns of terms in an orthonormal basis, less what their margins explain."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayesvb.data.orthogonal_terms import OrthogonalTerm, orthogonal_basis

TERMS = (OrthogonalTerm((3, 4), ()), OrthogonalTerm((5, 6), (1, 3, 4)))


@pytest.fixture
def root(rng):
    return rng.normal(size=(30, 7)) / np.sqrt(30.0)


def test_columns_are_orthonormal_and_free_of_their_margins(root):
    made = root @ orthogonal_basis(root, TERMS, np.zeros(7))
    for term in TERMS:
        own = made[:, term.columns]
        assert_allclose(own.T @ own, np.eye(2), atol=1e-13)
        assert_allclose(made[:, term.margins].T @ own, 0.0, atol=1e-13)


def test_columns_of_other_terms_stay_as_they_are(root):
    basis = orthogonal_basis(root, TERMS, np.zeros(7))
    assert np.array_equal(basis[:, :3], np.eye(7)[:, :3])
    assert np.array_equal(basis[2], np.eye(7)[2])  # no margin of any term


def test_other_codings_of_a_term_have_the_same_projection(root, rng):
    turned = root.copy()
    turned[:, [3, 4]] = root[:, [3, 4]] @ rng.normal(size=(2, 2))
    turned[:, [5, 6]] = root[:, [5, 6]] @ rng.normal(size=(2, 2)) + root[:, [1, 4]]
    first, second = (
        (one @ orthogonal_basis(one, TERMS, np.zeros(7)))[:, [5, 6]] for one in (root, turned)
    )
    assert_allclose(second @ second.T, first @ first.T, atol=1e-12)


def test_a_column_that_is_explained_keeps_its_unit(root):
    root[:, 6] = root[:, 5] - 2.0 * root[:, 3]
    basis = orthogonal_basis(root, TERMS, np.full(7, 1e-12))
    assert np.abs(root @ basis[:, 6]).max() < 1e-13
    assert basis[6, 6] == 1.0
    assert np.linalg.matrix_rank(basis) == 7


def test_columns_of_different_rows_stay_apart(rng):
    levels = np.eye(4)[rng.integers(0, 4, 50)]
    columns = np.hstack([levels, levels * rng.normal(5.0, 1.0, (50, 1))])
    root = np.linalg.qr(columns, mode="r")
    terms = [OrthogonalTerm((0, 1, 2, 3), ()), OrthogonalTerm((4, 5, 6, 7), (0, 1, 2, 3))]
    made = columns @ orthogonal_basis(root, terms, np.zeros(8))
    assert ((made[:, :4] != 0.0) == (levels > 0.0)).all()
    assert (made[:, 4:][levels == 0.0] == 0.0).all()


def test_columns_without_rows_keep_their_unit_and_change_no_other(root):
    wide = np.insert(root, [5, 7], 0.0, axis=1)
    terms = (OrthogonalTerm((3, 4, 5), ()), OrthogonalTerm((6, 7, 8), (1, 3, 4, 5)))
    basis = orthogonal_basis(np.vstack([wide, np.zeros((4, 9))]), terms, np.full(9, 1e-12))
    assert np.array_equal(basis[:, [5, 8]], np.eye(9)[:, [5, 8]])
    kept = [0, 1, 2, 3, 4, 6, 7]
    assert_allclose(
        basis[np.ix_(kept, kept)], orthogonal_basis(root, TERMS, np.zeros(7)), atol=1e-14
    )
