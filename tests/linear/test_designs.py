"""A design with groups is the one with a column for each effect of each group."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bayesvb.linear.arrow_precisions import ArrowPrecision
from bayesvb.linear.designs import DenseDesign, GroupRows
from bayesvb.numerics.linalg import products

SAME = {"rtol": 1e-10, "atol": 1e-12}


@pytest.fixture(params=["grouped", "dense"])
def design(request, problem):
    return problem.design if request.param == "grouped" else problem.dense_design


def test_rows_are_predicted_as_by_columns(problem):
    coefficients = problem.rng.normal(size=(2, 3, problem.prior.n_coefficients))
    found = problem.design.predict(coefficients)
    assert_allclose(found, coefficients @ problem.dense_design.x, **SAME)
    scale, observed = np.array([0.5, 2.0]), problem.rng.normal(size=problem.design.n_rows)
    expected = scale[:, None] * (found[:, 0] - observed)
    for one in (problem.design, problem.dense_design):
        assert_allclose(one.residuals(coefficients[:, 0], observed, scale), expected, **SAME)


def test_quadratic_forms_are_those_of_columns(problem):
    (arrow, design), (dense, other) = problem.both
    assert_allclose(design.quadratic(arrow), other.quadratic(dense), **SAME)
    with_pairs = DenseDesign(other.x, other.products())
    assert_allclose(with_pairs.quadratic(dense), other.quadratic(dense), **SAME)


def test_two_predictors_of_a_row_have_the_covariance_of_columns(problem):
    n_shared = len(problem.x)
    prior = ArrowPrecision.from_entries(
        np.tile(problem.entries[:n_shared], 2),
        np.tile(problem.entries[n_shared:], 2),
        problem.prior.n_groups,
    )
    place, values = problem.groups[:1], problem.groups[1:]

    def design(first, second):
        rows = [first * problem.x, second * problem.x]
        effects = [place, first * values, second * values]
        return prior.design(np.vstack(rows), np.vstack(effects))

    precision = prior.plus(design(1.0, 0.5).gram(problem.weights[:1]))
    dense = precision.times(np.eye(prior.n_coefficients))[0]
    both = np.stack([design(1.0, 0.0).columns, design(0.0, 1.0).columns])
    expected = np.einsum("ian,ab,jbn->nij", both, np.linalg.inv(dense), both)
    assert_allclose(problem.design.joint_quadratic(precision), expected, **SAME)


def test_sums_add_over_any_split_of_the_rows(problem, design):
    response = problem.rng.normal(size=(2, design.n_rows))
    some = problem.rng.permutation(design.n_rows)
    parts = [some[:7], some[7:25], some[25:]]
    whole = design.sums(problem.weights, response)
    split = [design.take(at).sums(problem.weights[:, at], response[:, at]) for at in parts]
    for one, *others in zip(whole, *split, strict=True):
        assert_allclose(sum(others), one, **SAME)


def test_sums_are_those_of_columns(problem):
    response = problem.rng.normal(size=(2, problem.design.n_rows))
    weight, gram, cross, squares = problem.design.sums(problem.weights, response)
    x, weighted = problem.dense_design.x, problem.weights[:, None] * response
    matrix = problem.prior.like(gram).times(np.eye(problem.prior.n_coefficients))
    assert_allclose(matrix, (problem.weights[:, None] * x) @ x.T, **SAME)
    assert_allclose(weight, problem.weights.sum(axis=1), **SAME)
    assert_allclose(cross, weighted @ x.T, **SAME)
    assert_allclose(squares, (weighted * response).sum(axis=2), **SAME)


def test_sums_of_rows_one_by_one_are_the_sums(problem, design):
    weights = problem.rng.uniform(size=(2, 3, design.n_rows))
    assert_allclose(design.gram_by_row(weights).sum(axis=0), design.gram(weights), **SAME)
    assert_allclose(design.cross_by_row(weights).sum(axis=0), design.cross(weights), **SAME)


def test_products_that_rows_lack_are_left_out(problem, design):
    present, found = design.present_products()
    every = design.products()
    assert_array_equal(every[present], found)
    assert not every[~present].any()
    assert found.shape == (present.sum(), design.n_rows)
    assert len(problem.dense_design.products()) == len(products(problem.dense_design.x))


def test_drawn_effects_are_asked_for_groups_that_are_there(problem):
    few = problem.design.take(np.array([3, 5, 3]))
    shared = problem.rng.normal(size=(4, 2, len(problem.x)))
    every = problem.rng.normal(size=(4, 2, problem.n_effects, problem.prior.n_groups))
    asked = []

    def effects(there):
        asked.append(there)
        return every[..., there]

    found = few.predict_drawn(shared, few.groups.drawn(effects))
    whole = np.concatenate([shared, every.reshape(4, 2, -1)], axis=-1)
    assert_allclose(found, few.predict(whole), **SAME)
    assert_array_equal(asked[0], np.unique(problem.groups[0, [3, 5]]).astype(int))
    assert_allclose(few.predict_drawn(whole), found, **SAME)
    with pytest.raises(ValueError, match="draws do not contain group effects"):
        few.predict_drawn(shared)
    assert_allclose(DenseDesign(problem.x).predict_drawn(shared), shared @ problem.x, **SAME)


def test_sums_and_effects_of_groups():
    rows = GroupRows.from_matrix(np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 1.0]]))
    assert_array_equal(rows.place, [1, 0, 1])
    assert_array_equal(rows.sums(np.array([[1.0, 2.0, 4.0]]), 3), [[2.0, 5.0, 0.0]])
    assert_array_equal(rows.linear(np.array([[10.0, 20.0, 30.0]])), [20.0, 10.0, 20.0])
    none = GroupRows(rows.place, rows.values[:0])
    assert_array_equal(none.linear(np.empty((2, 0, 3))), np.zeros((2, 3)))
