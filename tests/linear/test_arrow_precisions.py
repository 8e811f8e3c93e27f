"""An arrow is the dense matrix with the same entries."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayesvb.linear.arrow_precisions import ArrowPrecision
from bayesvb.linear.precisions import DensePrecision
from bayesvb.linear.structure import LIMITS

SAME = {"rtol": 1e-10, "atol": 1e-12}


def columns(precision):
    """The matrix, column by column."""
    return precision.times(np.eye(precision.n_coefficients))


def test_it_has_the_entries_of_the_dense_matrix(problem):
    (arrow, _), (dense, _) = problem.both
    assert_allclose(columns(arrow), dense.matrix, **SAME)
    assert_allclose(columns(problem.prior), problem.dense_prior.matrix, **SAME)
    assert_allclose(columns(arrow.scaled(0.3)), 0.3 * dense.matrix, **SAME)
    assert arrow.n_coefficients == dense.n_coefficients


def test_solutions_and_determinants_are_those_of_the_dense_matrix(problem):
    (arrow, _), (dense, _) = problem.both
    vectors = problem.rng.normal(size=(problem.n_experts, 4, arrow.n_coefficients))
    assert_allclose(arrow.solve(vectors), dense.solve(vectors), **SAME)
    assert_allclose(arrow.times(arrow.solve(vectors)), vectors, **SAME)
    assert_allclose(arrow.log_det, dense.log_det, **SAME)


def test_covariances_are_those_of_the_dense_matrix(problem):
    (arrow, _), (dense, _) = problem.both
    n_shared = arrow.n_shared
    assert_allclose(arrow.variances, dense.variances, **SAME)
    assert_allclose(arrow.shared.inverse, dense.inverse[:, :n_shared, :n_shared], **SAME)
    across = dense.inverse[:, n_shared:, :n_shared].reshape(2, problem.n_effects, -1, n_shared)
    assert_allclose(-arrow.through, np.swapaxes(across, -1, -2), **SAME)
    own = dense.inverse[:, n_shared:, n_shared:]
    own = own.reshape(2, *2 * (problem.n_effects, arrow.n_groups))
    assert_allclose(arrow.effect_covariances, np.einsum("kagbg->kabg", own), **SAME)
    columns = problem.rng.normal(size=(arrow.n_coefficients, 5))
    expected = np.einsum("an,kab,bn->kn", columns, dense.inverse, columns)
    assert_allclose(arrow.quadratic(columns), expected, **SAME)


def test_traces_are_those_of_the_dense_matrix(problem):
    (arrow, _), (dense, _) = problem.both
    assert_allclose(problem.prior.trace_with(arrow), problem.dense_prior.trace_with(dense), **SAME)
    other = problem.prior.plus(problem.design.gram(problem.weights[::-1]))
    expected = problem.dense_prior.plus(problem.dense_design.gram(problem.weights[::-1]))
    assert_allclose(arrow.trace_with(other), dense.trace_with(expected), **SAME)


def test_weights_of_products_are_expected_quadratic_forms(problem):
    """Their scalar product with packed sums is the trace of both matrices."""
    (arrow, design), (dense, other) = problem.both
    mean = problem.rng.normal(size=(2, 3, arrow.n_coefficients))
    scaled = np.array([0.5, 1.0, 2.0])[:, None] * mean
    found, expected = (one.second_moments(scaled, mean) for one in (arrow, dense))
    for weights in problem.rng.uniform(size=(3, 2, design.n_rows)):
        total = (found * design.gram(weights)).sum(axis=1)
        assert_allclose(total, (expected * other.gram(weights)).sum(axis=1), **SAME)
    second = np.swapaxes(scaled, 1, 2) @ mean + 3 * dense.inverse
    gram = columns(arrow.like(design.gram(problem.weights)))
    assert_allclose(
        (found * design.gram(problem.weights)).sum(axis=1),
        np.trace(second @ gram, axis1=1, axis2=2),
        **SAME,
    )


def test_packing_and_conditioning_lose_nothing(problem):
    (arrow, design), _ = problem.both
    assert_allclose(columns(arrow.like(arrow.packed())), columns(arrow), **SAME)
    gram = design.gram(problem.weights)
    assert_allclose(arrow.packed() - problem.prior.packed(), gram, **SAME)
    again = ArrowPrecision.from_conditional(arrow.shared.matrix, arrow.regression, arrow.within)
    assert_allclose(columns(again), columns(arrow), **SAME)


def test_terms_are_shared_coefficients_and_effects_of_all_groups(problem):
    prior, entries = problem.prior, problem.entries
    assert_allclose(prior.entries, entries)
    counts = prior.by_term(np.ones(prior.n_coefficients))
    assert_allclose(counts, [1.0] * prior.n_shared + [float(prior.n_groups)] * problem.n_effects)
    several = prior.diagonal(np.stack([entries, 2.0 * entries]))
    assert_allclose(several.entries, np.stack([entries, 2.0 * entries])[:, None])
    assert_allclose(columns(several)[1, 0], 2.0 * columns(prior), **SAME)


def test_effects_given_shared_coefficients_have_the_law_of_the_dense_matrix(problem):
    (arrow, _), (dense, _) = problem.both
    n = arrow.n_shared
    through = dense.inverse[:, n:, :n] @ np.linalg.inv(dense.inverse[:, :n, :n])
    rest = dense.inverse[:, n:, n:] - through @ dense.inverse[:, :n, n:]
    flat = np.swapaxes(arrow.regression, -1, -2).reshape(2, -1, n)
    assert_allclose(-flat, through, **SAME)
    own = rest.reshape(2, *2 * (problem.n_effects, arrow.n_groups))
    assert_allclose(arrow.within, np.einsum("kagbg->kabg", own), **SAME)
    vectors = problem.rng.normal(size=(2, 3, arrow.n_coefficients))
    left = vectors[..., n:] - vectors[..., :n] @ np.swapaxes(through, 1, 2)
    expected = np.einsum("kni,kij,knj->kn", left, np.linalg.inv(rest), left)
    assert_allclose(arrow.effects_quadratic(vectors), expected, **SAME)
    assert_allclose(arrow.effects_log_det, -np.linalg.slogdet(rest)[1], **SAME)


def test_drawn_effects_follow_the_shared_coefficients_and_have_their_covariance(problem):
    """Mean ``m_g - F_g (b - m)``, covariance ``s^2 D_g^-1``; independent between groups."""
    (arrow, _), _ = problem.both
    n, there, scale = 1500, np.array([1, 2]), 1.7
    mean = problem.rng.normal(size=(2, 1, arrow.n_coefficients))
    shared = np.broadcast_to(mean[..., : arrow.n_shared] + 0.5, (n, 2, 1, arrow.n_shared))
    keys = problem.rng.integers(0, 2**40, size=(n, 2, 1, 1)).astype(float)
    draw = arrow.draw_effects(mean, shared, keys, np.full((n, 2, 1), scale))
    found = draw(there)
    assert_allclose(draw(there[::-1]), found[..., ::-1])  # by the numbers of the groups
    effects = arrow.split(mean)[1][:, 0][..., there]
    expected = effects - 0.5 * arrow.regression[..., there].sum(axis=-2)
    covariance = scale**2 * arrow.within[..., there]
    for k in range(2):
        flat = found[:, k].reshape(n, -1)
        joint = np.zeros((problem.n_effects, 2, problem.n_effects, 2))
        for g in range(2):
            joint[:, g, :, g] = covariance[k, ..., g]
        joint = joint.reshape(flat.shape[1], -1)
        sd = np.sqrt(np.diag(joint))
        assert (np.abs(flat.mean(axis=0) - expected[k].ravel()) < 5.0 * sd / n**0.5).all()
        error = (np.cov(flat.T).reshape(joint.shape) - joint) / np.outer(sd, sd)
        assert np.abs(error).max() < 5.0 * (2.0 / n) ** 0.5


@pytest.mark.parametrize("structure", [0, 1])
def test_sums_of_no_data_are_outside_the_domain(problem, structure):
    precision, design = problem.both[structure]
    moved = precision.plus(-100.0 * design.gram(problem.weights))
    with pytest.raises(np.linalg.LinAlgError, match=r"positive definite|Positive"):
        moved.solve(np.ones((2, 1, moved.n_coefficients)))


def test_precisions_without_groups_have_no_such_effects(problem):
    assert DensePrecision.is_complete and not problem.prior.is_complete


def test_draws_of_complete_matrices_hold_all_coefficients(problem):
    (arrow, _), (dense, _) = problem.both
    complete = problem.prior.completed().plus(problem.design.gram(problem.weights))
    assert complete.is_complete and not arrow.is_complete
    assert_allclose(complete.shared.matrix, dense.matrix, **SAME)
    assert_allclose(complete.shared.inverse, dense.inverse, **SAME)
    for same in (complete.scaled(2.0), complete.take(np.array([1])), complete.like(arrow.packed())):
        assert same.is_complete
    vectors = problem.rng.normal(size=(5, 2, 1, dense.n_coefficients))
    assert_allclose(complete.times_drawn(vectors), dense.times_drawn(vectors), **SAME)
    shared = vectors[..., : arrow.n_shared]
    assert_allclose(arrow.times_drawn(shared), arrow.shared.times_drawn(shared), **SAME)


def test_changes_of_moments_are_those_of_the_dense_matrix(problem):
    (arrow, _), (dense, _) = problem.both
    rng, many = problem.rng, 3
    weights = rng.normal(size=(many, *problem.weights.shape))
    entries = rng.normal(size=(many, len(problem.entries)))
    sizes = [1] * arrow.n_shared + [arrow.n_groups] * problem.n_effects
    changes = (
        arrow.like(problem.design.gram(weights)).plus_diagonal(entries),
        dense.like(problem.dense_design.gram(weights)).plus_diagonal(
            np.repeat(entries, sizes, axis=1)
        ),
    )
    left, right = rng.normal(size=(2, many, 2, 1, dense.n_coefficients))
    both = np.concatenate([left, right], axis=-2), np.concatenate([right, left], axis=-2)
    found, expected = (
        one.moments_along(*both, change)
        for one, change in zip((arrow, dense), changes, strict=True)
    )
    sums = problem.design.gram(problem.weights), problem.dense_design.gram(problem.weights)
    assert_allclose(np.vecdot(found, sums[0]), np.vecdot(expected, sums[1]), rtol=1e-9, atol=1e-9)
    squares = dense.packed_squares(expected)
    summed = np.add.reduceat(squares, np.cumsum([0, *sizes[:-1]]), axis=-1)
    assert_allclose(arrow.packed_squares(found), summed, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("more", [1, 2])
def test_draws_hold_effects_up_to_the_limit_and_one_group_for_all_others(more):
    n_groups = LIMITS.groups + more
    blocks = np.ones((1, 1, n_groups))
    arrow = ArrowPrecision(np.eye(1), np.zeros((1, 1, n_groups)), blocks, False)
    assert arrow.completed().is_complete == (more == 1)
