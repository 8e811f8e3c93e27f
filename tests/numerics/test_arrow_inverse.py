"""Inverses of matrices that are diagonal but for a border."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bayesvb.numerics.arrow_inverse import arrow_inverse, independent_terms
from bayesvb.numerics.linalg import inverse_and_log_det


def precisions(seed, n_effects, n_groups=110, n_matrices=2):
    """Those of three terms and effects of groups, in an order by chance."""
    rng = np.random.default_rng(seed)
    place, x = rng.integers(0, n_groups, 600), rng.normal(size=(2, 600))
    own = (place == np.arange(n_groups)[:, None]).astype(float)
    design = np.vstack([np.ones(600), x, *(own * z for z in (np.ones(600), *x)[:n_effects])])
    design = rng.permutation(design)
    weights = rng.uniform(size=(n_matrices, 600))
    return np.eye(len(design)) + np.einsum("kn,in,jn->kij", weights, design, design)


@pytest.mark.parametrize("n_effects", [1, 2, 3])
def test_inverses_and_determinants_are_those_of_any_matrix(n_effects):
    matrix = precisions(n_effects, n_effects)
    inverse, log_det = inverse_and_log_det(matrix)
    assert_allclose(inverse, np.linalg.inv(matrix), atol=1e-11)
    assert_allclose(log_det, np.linalg.slogdet(matrix)[1], rtol=1e-12)
    assert_allclose(inverse, np.swapaxes(inverse, 1, 2), atol=1e-14)


def test_independent_terms_are_those_of_one_effect():
    matrix = precisions(0, 2)
    alone = independent_terms(matrix)
    assert len(alone) >= 110
    among = matrix[:, alone[:, None], alone]
    assert_array_equal(among, among * np.eye(len(alone)))
    assert independent_terms(matrix[:, :60, :60]) is None
    assert independent_terms(matrix + 1e-9) is None


@pytest.mark.parametrize("place", [0, -1])
def test_matrices_that_are_not_positive_definite_are_refused(place):
    matrix = precisions(1, 1, n_matrices=1)
    alone = independent_terms(matrix)
    rest = np.setdiff1d(np.arange(len(matrix[0])), alone)
    bad = matrix.copy()
    at = (alone, rest)[place][0]
    bad[:, at, at] = -1.0
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        inverse_and_log_det(bad)
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        arrow_inverse(bad[0], alone)
