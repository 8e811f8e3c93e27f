"""Sums over rows with few terms are those of matrix products."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayesvb.numerics.linalg import quadratic_at, second_moments, unpack
from bayesvb.numerics.sparse_terms import MOST_SLOTS, SparseTerms


def indicators(rng, n_groups, n_rows=90):
    """Rows of an indicator for each group; the first has none of them."""
    return (rng.integers(1, n_groups, n_rows) == np.arange(n_groups)[:, None]).astype(float)


def designs(rng):
    """Groups, groups with slopes among dense terms, crossed groups, and only few groups."""
    x = rng.normal(size=(3, 90))
    groups = indicators(rng, 30)
    yield groups
    yield np.vstack([x[:1], groups, x[1:], groups * x[1]])
    yield np.vstack([x, groups, indicators(rng, 25), indicators(rng, 20) * x[0]])


@pytest.mark.parametrize("seed", range(4))
def test_sums_and_forms_are_those_of_matrix_products(seed):
    rng = np.random.default_rng(seed)
    for x in designs(rng):
        found = SparseTerms.of(x)
        assert found is not None
        weights, form = rng.normal(size=(2, 90)), rng.normal(size=(2, len(x), len(x)))
        form = form + np.swapaxes(form, 1, 2)
        moments = np.einsum("kn,in,jn->kij", weights, x, x)
        assert_allclose(found.second_moments(weights), moments, atol=1e-11)
        assert_allclose(unpack(second_moments(weights, x)), moments, atol=1e-11)
        squares = np.einsum("kij,in,jn->kn", form, x, x)
        assert_allclose(found.quadratic(form), squares, atol=1e-10)
        assert_allclose(quadratic_at(form, x), squares, atol=1e-10)


def test_matrices_without_many_zeros_or_with_few_rows_are_left_alone():
    rng = np.random.default_rng(0)
    groups = indicators(rng, 40)
    assert SparseTerms.of(rng.normal(size=(40, 90))) is None
    assert SparseTerms.of(groups[:, :50]) is None
    assert SparseTerms.of(groups[:12]) is None
    crowded = np.vstack([indicators(rng, 15) for _ in range(MOST_SLOTS + 1)])
    assert SparseTerms.of(crowded) is None
