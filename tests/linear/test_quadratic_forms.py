"""Covariances of quadratic forms: by moments of normal variables, and some rows of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayesvb.linear.quadratic_forms import (
    Forms,
    VectorForms,
    pairs_times,
    squares_times,
    sum_pairs,
)

N_ROWS = 6


def forms():
    """Two vectors of two variables each that share one, with a square and a noise variable."""
    rng = np.random.default_rng(3)
    vectors = [
        VectorForms(
            own=rng.normal(size=(N_ROWS + 1, 2)),
            common=rng.normal(size=(N_ROWS + 1, 1)),
            slopes=rng.normal(size=(1, N_ROWS + 1)),
            noise=rng.normal(size=(N_ROWS + 1, 1)),
            rows=np.arange(N_ROWS),
            squares=np.ones((1, 1)),
            statistics=rng.normal(size=(2, 4)),
        )
        for _ in range(2)
    ]
    return Forms(vectors=tuple(vectors), noise=np.array([[0.7]]))


def values(part, variables):
    """First scalars of all vectors at values of the variables: those of the rows are stacked."""
    own, common, noise = variables[:, :4].reshape(-1, 2, 2), variables[:, 4:5], variables[:, 5:]
    found = []
    for k, vector in enumerate(part.vectors):
        predictor = own[:, k] @ vector.own.T + common @ vector.common.T
        found.append(vector.slopes[0] * predictor - 0.5 * predictor**2 + noise @ vector.noise.T)
    return np.concatenate(found, axis=1)


def test_covariances_are_those_of_normal_variables():
    part, n = forms(), 2 * (N_ROWS + 1)
    # Gauss-Hermite nodes integrate products of two squares exactly.
    nodes, weights = np.polynomial.hermite_e.hermegauss(3)
    grid = np.stack(np.meshgrid(*[nodes] * 6, indexing="ij"), axis=-1).reshape(-1, 6)
    weight = np.prod(np.stack(np.meshgrid(*[weights] * 6, indexing="ij"), axis=-1), axis=-1).ravel()
    weight /= weight.sum()
    exact = values(part, grid * np.sqrt(np.diag(part.covariance)))
    centred = exact - weight @ exact
    expected = centred.T @ (weight[:, None] * centred)
    firsts = np.split(np.eye(n), 2)
    linear = [v.slopes[0][:, None] * own for v, own in zip(part.vectors, firsts, strict=True)]
    loadings = part.loaded(firsts, linear)
    found = loadings.T @ part.covariance @ loadings
    found += np.concatenate(part.squares_times(firsts))
    assert_allclose(found, expected, rtol=0, atol=1e-11 * np.abs(expected).max())
    spread = np.concatenate([v.deviations(part.noise)[0] for v in part.vectors])
    assert_allclose(spread**2, np.diag(expected).reshape(2, -1)[:, :N_ROWS].ravel())
    predictors, noises = part.predicted(np.eye(6))
    moved = [
        v.slopes[0][:, None] * u + e
        for v, u, e in zip(part.vectors, predictors, noises, strict=True)
    ]
    assert_allclose(np.concatenate(moved), loadings.T)


def test_forms_of_some_rows_have_the_same_products():
    part, kept = forms(), np.arange(N_ROWS) % 2 == 0
    some = part.restricted([kept, np.ones(N_ROWS, dtype=bool)])
    columns = [np.eye(len(vector.own)) for vector in part.vectors]
    rows = np.append(kept, True)
    whole = part.squares_times([columns[0], np.zeros((N_ROWS + 1, N_ROWS + 1))])
    found = some.squares_times([columns[0][rows], np.zeros((N_ROWS + 1, N_ROWS + 1))])
    assert_allclose(found[0][:, rows], whole[0][rows][:, rows])
    assert_allclose(found[1][:, rows], whole[1][:, rows])
    single = some.astype(np.float32).squares_times(
        [c.astype(np.float32)[: len(v.own)] for c, v in zip(columns, some.vectors, strict=True)]
    )
    assert single[0].dtype == np.float32


@pytest.mark.parametrize("n_columns", [1, 20])
def test_sums_over_pairs_are_products_with_squared_covariances(n_columns):
    rng = np.random.default_rng(1)
    loadings, columns = rng.normal(size=(40, 5)), rng.normal(size=(40, n_columns))
    found = pairs_times(loadings, sum_pairs(loadings, columns))
    assert_allclose(found, squares_times(loadings, loadings, columns), atol=1e-10)
