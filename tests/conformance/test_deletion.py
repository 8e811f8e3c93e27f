"""Derivatives of rows and of passes, and posteriors without rows, for every gate."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import bayesvb as bvb
from bayesvb.data.sources import InMemorySource
from bayesvb.engines.cavi import cavi
from bayesvb.engines.refits import PASSES, settled_by_newton, without_one
from bayesvb.sensitivity import operator
from bayesvb.sensitivity.deletion import Deletion
from bayesvb.sensitivity.operator import change_along
from bayesvb.sensitivity.solvers import _by_differences, choose_solver, full_step

pytestmark = pytest.mark.quick(
    gate_name=("softmax", "softmax-bouchard", "dirichlet"), weighted=(True,)
)

DERIVED = "softmax-bouchard"
"""The gate without derivatives of its own: differences take their place."""


def moved(problem, sweeps=3):
    """Statistics on the way, far from any optimum."""
    stats = problem.start()
    for _ in range(sweeps):
        posterior = problem.model.update(stats)
        found = problem.model.e_step(posterior, problem.block).stats
        stats = problem.model.global_step(posterior, found)
    return stats


def rows_of(problem, stats, block=None):
    return problem.model.row_derivatives(problem.model.update(stats), block or problem.block)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("experts", [1, 3])
def test_the_derivative_of_a_pass_is_that_of_differences(
    make_problem, gate_name, experts, weighted
):
    problem = make_problem(gate_name, seed=1, experts=experts, responses=2, weighted=weighted)
    source, stats = problem.source(30), moved(problem)
    found = choose_solver(problem.model, source, stats).whole()
    expected = _by_differences(problem.model, source, stats)
    assert_allclose(found, expected, rtol=1e-4, atol=1e-6 * np.abs(expected).max() + 1e-9)


def test_what_the_rows_add_is_what_a_pass_adds(make_problem, gate_name):
    problem = make_problem(gate_name, seed=2, weighted=False)
    stats = moved(problem)
    rows = rows_of(problem, stats)
    if rows is None:
        assert gate_name == DERIVED
        return
    posterior = problem.model.update(stats)
    sums = problem.model.e_step(posterior, problem.block).stats
    whole = full_step(problem.model, posterior, sums)
    each = rows.statistics()
    assert_allclose(each.sum(axis=0), whole, rtol=1e-9, atol=1e-9)
    parts = [rows_of(problem, stats, part) for part in problem.block.split(17)]
    assert_allclose(np.concatenate([part.statistics() for part in parts]), each, atol=1e-12)


def test_curvatures_add_over_any_split_and_are_symmetric(make_problem, gate_name):
    problem = make_problem(gate_name, seed=3, weighted=True)
    stats = moved(problem)
    whole = rows_of(problem, stats)
    if whole is None:
        return
    curvature = whole.curvature(problem.block.weight)
    assert_allclose(curvature, curvature.T, rtol=0, atol=1e-9 * np.abs(curvature).max())
    parts = [
        rows_of(problem, stats, part).curvature(part.weight) for part in problem.block.split(23)
    ]
    assert_allclose(sum(parts), curvature, rtol=1e-9, atol=1e-9)


def without(problem, stats, number):
    """Posterior of an ascent that goes on without one copy of a row."""
    rest = without_one(problem.source(), int(number))
    ended = cavi(problem.model, rest, stats, tol=1e-13, max_iter=3000)
    return problem.model.update(ended.stats)


def test_newton_steps_end_where_the_ascent_without_the_row_does(make_problem, gate_name):
    problem = make_problem(gate_name, seed=9, experts=2, rows=120)
    model, source = problem.model, problem.source()
    stats = cavi(model, source, problem.start(), tol=1e-13, max_iter=5000).stats
    deletion = Deletion.of(model, source, stats, np.random.default_rng(1))
    for number in (3, 40, 77):
        settled, passes = settled_by_newton(deletion, without_one(source, number), stats)
        assert settled is not None
        assert passes <= PASSES
        one = source.take(np.array([number]))
        found = model.row_predictions(model.update(settled), one)
        expected = model.row_predictions(without(problem, stats, number), one)
        assert_allclose(found, expected, atol=1e-3)


def test_newton_steps_from_no_maximum_are_given_up(make_problem):
    problem = make_problem("softmax", seed=9, experts=3, rows=120)
    model, source, stats = problem.model, problem.source(), moved(problem, sweeps=1)
    deletion = Deletion.of(model, source, stats, np.random.default_rng(1))
    settled, passes = settled_by_newton(deletion, without_one(source, 3), stats)
    assert settled is None
    assert passes <= PASSES


@pytest.mark.parametrize("weighted", [False, True])
def test_with_one_component_leaving_out_is_exact(make_problem, gate_name, weighted):
    problem = make_problem(gate_name, seed=4, experts=1, weighted=weighted)
    found, expected = both(problem, 1e-13, range(0, 80, 9))
    assert_allclose(found, expected, atol=1e-7)


def test_leaving_out_is_near_the_ascent_without_the_row(make_problem, gate_name):
    problem = make_problem(gate_name, seed=7, experts=2, rows=120)
    found, expected = both(problem, 1e-13, range(0, 120, 10))
    alone = lost(problem, range(0, 120, 10))
    error = np.sqrt(np.mean((found - expected) ** 2))
    assert error < 0.02
    assert error < 0.5 * np.sqrt(np.mean((alone - expected) ** 2))


def both(problem, tol, rows):
    """Log densities of rows without them, by linear response and by ascents."""
    model, source = problem.model, problem.source()
    stats = cavi(model, source, problem.start(), tol=tol, max_iter=5000).stats
    rows = np.array([n for n in rows if weight_of(problem, n) > 0.0])
    deletion = Deletion.of(model, source, stats, np.random.default_rng(1))
    found = []
    for n in rows:
        block = source.take(np.array([n]))
        direct = -deletion.of_rows(block) * min(weight_of(problem, n), 1.0)
        change = deletion.solve(direct)
        found.append(deletion.under(direct, change, block, model.row_predictions)[0, 0])
    expected = [
        model.row_predictions(without(problem, stats, n), source.take(np.array([n])))[0, 0]
        for n in rows
    ]
    return np.array(found), np.array(expected)


def lost(problem, rows):
    """The same with the row taken out of the statistics and nothing answering."""
    model, source = problem.model, problem.source()
    stats = cavi(model, source, problem.start(), tol=1e-13, max_iter=5000).stats
    deletion = Deletion.of(model, source, stats, np.random.default_rng(1))
    block = source.take(np.array(list(rows)))
    direct = -deletion.of_rows(block)
    return deletion.under(direct, direct, block, model.row_predictions)[0]


def weight_of(problem, number):
    return 1.0 if problem.block.weight is None else float(problem.block.weight[number])


def test_one_posterior_for_each_row_is_each_posterior_for_its_row(make_problem, gate_name):
    problem = make_problem(gate_name, seed=6, responses=2)
    model, stats = problem.model, moved(problem)
    assert model.posterior_by_row
    few = problem.block.take(np.arange(5))
    centre = stats.to_vector()
    vectors = centre * (1.0 + 0.01 * np.random.default_rng(2).random((5, centre.size)))
    together = model.row_predictions(model.update(stats.with_vector(vectors)), few)
    for n in range(5):
        own = model.update(stats.with_vector(vectors[n]))
        assert_allclose(together[:, [n]], model.row_predictions(own, few.part(n, n + 1)), rtol=1e-9)


def test_statistics_of_no_data_shorten_the_answer(make_problem, gate_name):
    problem = make_problem(gate_name, seed=7, experts=2)
    stats, block = moved(problem), problem.block.take(np.arange(3))
    deletion = Deletion.of(problem.model, problem.source(), stats, np.random.default_rng(1))
    direct = -deletion.of_rows(block)
    evaluate = problem.model.row_predictions
    far = direct - 1e9 * np.abs(direct)  # far outside the domain
    found = deletion.under(direct, far, block, evaluate)
    assert_allclose(found, deletion.under(direct, direct, block, evaluate))
    assert np.isnan(deletion.under(far, far, block, evaluate)).all()


def test_one_copy_of_a_row_is_left_out(make_problem):
    problem = make_problem("softmax", seed=8, weighted=True)
    weight = problem.block.weight
    number = int(np.flatnonzero(weight == 3.0)[0])
    rest = without_one(problem.source(), int(number))
    assert isinstance(rest, InMemorySource)
    assert rest.total_weight == weight.sum() - 1.0
    single = int(np.flatnonzero(weight == 1.0)[0])
    assert without_one(problem.source(), single).n_rows == len(weight) - 1


def test_the_derivative_of_a_pass_leaves_out_products_of_two_groups(monkeypatch):
    rng = np.random.default_rng(5)
    group = np.repeat(np.arange(12), 6)
    data = {"g": group, "x": rng.normal(size=72), "y": rng.normal(size=72) + group % 3}
    model = bvb.DensityRegression("y ~ x + (1 | g) | x", data, n_components=2)
    fit = model.fit(seed=1, restarts=1, draws=30, covariance="mean-field")
    every = choose_solver(fit.core, model.source, fit.stats)
    monkeypatch.setattr("bayesvb.sensitivity.solvers.FEW_ENTRIES", 10)
    found = choose_solver(fit.core, model.source, fit.stats)
    assert found.answering.sum() < 0.6 * every.answering.sum() == 0.6 * found.n_entries
    size = np.abs(every.rows).max()
    assert_allclose(found.whole(), every.whole(), rtol=0, atol=1e-9 * size)
    deletions = [Deletion(fit.core, model.source, fit.stats, one) for one in (every, found)]
    added = rng.normal(size=(3, found.n_entries))
    both = [deletion.solve(added) for deletion in deletions]
    assert_allclose(both[1], both[0], rtol=0, atol=1e-9 * np.abs(both[0]).max())
    slopes = rng.normal(size=(2, found.n_entries))
    for deletion, answer in zip(deletions, both, strict=True):
        there, back = slopes @ answer.T, deletion.derivative.solve_transposed(slopes) @ added.T
        assert_allclose(back, there, rtol=0, atol=1e-10 * np.abs(there).max())


@pytest.mark.parametrize("responses", [1, 2])
def test_the_closed_form_of_how_expectations_change_is_that_of_differences(make_problem, responses):
    problem = make_problem("softmax", seed=3, experts=2, responses=responses)
    model, stats = problem.model, moved(problem)
    posterior = model.update(stats)
    known = rows_of(problem, stats)
    some = np.arange(known.factors[0].shape[1])[::-2]
    found = model.factor_covariance(posterior, 0, some)
    for own, change in zip(known.factors[0], found, strict=True):
        for number, row in zip(some, change, strict=True):
            step = np.zeros(known.n_entries)
            step[own[number]] = 1e-4
            expected = change_along(model, stats, step)[own] / 1e-4
            assert_allclose(row, expected, rtol=1e-6, atol=1e-7 * np.abs(found).max())


@pytest.mark.parametrize("experts", [1, 3])
def test_changes_of_expectations_along_directions_are_differences(
    make_problem, gate_name, experts, rng, monkeypatch
):
    problem = make_problem(gate_name, seed=3, experts=experts, responses=2)
    model, stats = problem.model, moved(problem)
    centre = stats.to_vector()
    directions = rng.normal(size=(5, len(centre))) * np.maximum(np.abs(centre), 1.0)
    expected = [change_along(model, stats, 1e-5 * one) / 1e-5 for one in directions]
    monkeypatch.setattr(operator, "AT_ONCE", 2 * len(centre))  # the last by itself
    found = operator.expectations_along(model, stats, model.update(stats), directions)
    assert_allclose(found, expected, rtol=1e-6, atol=1e-7 * np.abs(expected).max())
    assert found.shape == operator.changes_along(model, stats, found).shape
    assert not len(operator.changes_along(model, stats, found[:0]))


@pytest.mark.parametrize("sides", [(1.0,), (-1.0,), (1.0, -1.0)])
def test_where_one_side_is_of_no_data_the_other_tells_the_derivative(
    make_problem, monkeypatch, sides
):
    problem = make_problem("softmax", seed=1)
    source, stats = problem.source(30), moved(problem)
    expected = _by_differences(problem.model, source, stats)
    centre, entry, plain = stats.to_vector(), 3, type(problem.model).update

    def update(model, moved):
        if np.sign(moved.to_vector()[entry] - centre[entry]) in sides:
            raise np.linalg.LinAlgError("of no data")
        return plain(model, moved)

    monkeypatch.setattr(type(problem.model), "update", update)
    found = _by_differences(problem.model, source, stats)
    scale = np.abs(expected).max()
    others = np.delete(np.arange(len(centre)), entry)
    assert_allclose(found[:, others], expected[:, others], atol=1e-9 * scale)
    own = expected[:, entry] if len(sides) == 1 else np.zeros(len(centre))
    assert_allclose(found[:, entry], own, atol=1e-4 * scale)
