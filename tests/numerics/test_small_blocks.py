"""Inverses and roots of many small matrices against those of each."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayesvb.numerics.small_blocks import inverse_of_blocks, roots_of_blocks


@pytest.mark.parametrize("n_terms", [1, 2, 4])
def test_blocks_have_the_inverse_and_root_of_each(n_terms):
    rng = np.random.default_rng(n_terms)
    half = rng.normal(size=(3, 50, n_terms, n_terms + 1))
    each = half @ np.swapaxes(half, -1, -2) + 0.1 * np.eye(n_terms)
    blocks = np.moveaxis(each, 1, -1)
    inverse, log_det = inverse_of_blocks(blocks)
    assert_allclose(np.moveaxis(inverse, -1, 1), np.linalg.inv(each), rtol=1e-8, atol=1e-10)
    assert_allclose(log_det, np.linalg.slogdet(each).logabsdet.sum(axis=-1), rtol=1e-10)
    assert_allclose(np.moveaxis(roots_of_blocks(blocks), -1, 1), np.linalg.cholesky(each))


def test_what_is_not_positive_definite_is_refused():
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        inverse_of_blocks(np.array([[[1.0, 1.0], [2.0, 0.0]], [[2.0, 0.0], [1.0, 1.0]]]))
