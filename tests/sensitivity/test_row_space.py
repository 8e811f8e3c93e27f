"""The space of rows: covariances without statistics, the dense solution, saddle points, choice."""

import weakref
from dataclasses import replace
from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import block_diag

import bayesvb as bvb
from bayesvb.results.leave_one_out import group_sums
from bayesvb.sensitivity import covariance, row_space, solvers
from bayesvb.sensitivity.covariance import linear_response
from bayesvb.sensitivity.deletion import Deletion
from bayesvb.sensitivity.jackknife import Jackknife
from bayesvb.sensitivity.lanczos import ConvexBound
from bayesvb.sensitivity.operator import expectations_along
from bayesvb.sensitivity.row_sensitivity import RowSensitivity
from bayesvb.sensitivity.row_space import NoMaximum, RowSpace, Scalars, scalar_order

CASES = {
    "softmax": ("y ~ a + b | s", 3, {}),
    "sticks": ("y ~ a + b | s", 2, {"gate": "stick-breaking"}),
    "constant weights": ("y ~ a + b", 2, {"gate": "dirichlet"}),
    "fixed scales": ("y ~ a + b | s", 2, {"priors": bvb.Priors(scales="fixed")}),
    "learned scales": ("y ~ a + b | s", 3, {"priors": bvb.Priors(scales="learned")}),
    "classes": ("w ~ a + b | s", 2, {"family": "bernoulli"}),
    "counts": ("n ~ a | s", 2, {"family": "poisson"}),
    "one component": ("n ~ a + b", 1, {"family": "poisson"}),
}
QUICK = ("softmax", "sticks", "constant weights", "classes", "one component")


@cache
def fit_of(name):
    """A fit of few rows with case weights, not at a maximum in all cases."""
    formula, n_components, options = CASES[name]
    rng = np.random.default_rng(5)
    data = pd.DataFrame(rng.normal(size=(30, 3)), columns=["a", "b", "s"])
    data["y"] = data["a"] - data["b"] * np.sign(data["s"]) + 0.3 * rng.normal(size=30)
    data["w"], data["n"] = (data["y"] > 0).astype(int), rng.poisson(np.exp(0.5 * data["a"]))
    weights = np.linspace(0.5, 1.5, 30)
    model = bvb.DensityRegression(
        formula, data, n_components=n_components, weights=weights, **options
    )
    return model.fit(seed=1, restarts=1, draws=25, covariance="mean-field")


def rows_of(fit):
    """Row space of a fit, and what it is made of."""
    core, block = fit.core, fit.model.source.take(np.arange(30))
    posterior = core.update(fit.stats)
    known = core.row_derivatives(posterior, block)
    return RowSpace.from_rows(core, posterior, block, known), known


def sensitivity_of(fit, space, known):
    """Solver in a row space of a fit."""
    along = partial(expectations_along, fit.core, fit.stats, fit.core.update(fit.stats))
    return RowSensitivity(np.ones(known.n_entries, dtype=bool), along, space, known)


def features(space, known):
    """``B``: what each scalar adds to the statistics, in the order of the flattened scalars."""
    rows = np.zeros((30, len(known.gradient), known.n_entries))
    each = [(one.features, entries) for one in known.scalars for entries in one.entries]
    for number, scalar in enumerate(scalar_order(space.parts)):
        values, entries = each[scalar]
        rows[:, number, entries] = values.T
    prior = np.eye(known.n_entries)[known.n_entries - known.n_more :]
    return np.concatenate([rows.reshape(-1, known.n_entries), prior])


def flat(scalars):
    rows = scalars.rows.reshape(-1, scalars.rows.shape[2])
    return np.concatenate([rows, scalars.squares, scalars.precisions])


def dense_parts(space):
    """``L``, ``Gamma`` and ``Q`` as matrices."""
    loadings = flat(space.loadings(np.eye(space.n_variables)))
    gamma = block_diag(*(part.covariance for part in space.parts), np.eye(len(space.scale)))
    size = 30 * space.n_quadratic + len(space.scale)
    product = space.quadratic(space.squares_times(np.eye(size)))
    squares = np.zeros((30, space.hessian.shape[1], size))
    squares[:, : space.n_quadratic] = product.rows
    found = flat(Scalars(squares, product.squares, product.precisions))
    whole, n_blocks = np.zeros((len(found),) * 2), len(space.scale)
    kept = np.arange(30 * space.hessian.shape[1]).reshape(30, -1)[:, : space.n_quadratic]
    whole[:, np.append(kept, len(found) - 2 * n_blocks + np.arange(n_blocks))] = found
    return loadings, gamma, whole


@pytest.mark.parametrize("name", CASES)
@pytest.mark.quick(name=QUICK)
def test_covariances_of_scalars_are_those_of_the_statistics(name):
    fit = fit_of(name)
    space, known = rows_of(fit)
    of_rows = features(space, known)
    loadings, gamma, squares = dense_parts(space)
    posterior = fit.core.update(fit.stats)
    metric = expectations_along(fit.core, fit.stats, posterior, of_rows)
    expected = metric @ of_rows.T
    found = loadings @ gamma @ loadings.T + squares
    rows = np.array([3, 7])
    some = np.random.default_rng(1).normal(size=(space.hessian.shape[1], 2))
    of_some = np.zeros((30, len(some), 2))
    of_some[rows, :, np.arange(2)] = some.T
    loaded, product = space.loaded_rows(rows, some), space.squares_rows(rows, some)
    assert_allclose(loaded, loadings[: 30 * len(some)].T @ of_some.reshape(-1, 2), atol=1e-9)
    expected_product = squares[:, : 30 * len(some)] @ of_some.reshape(-1, 2)
    none = space.zeros(len(some), 2)
    assert_allclose(flat(space.moved(none, product)), expected_product, atol=1e-9)
    assert_allclose(found, expected, rtol=0, atol=1e-11 * np.abs(expected).max())
    coordinates = fit.core.coordinates(posterior)
    stand_ins = coordinates.stand_ins(space.parts, space.scale) @ gamma @ loadings.T
    assert_allclose(stand_ins, coordinates.perturbations() @ metric.T, atol=1e-9)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.quick(name=QUICK)
def test_linear_response_is_that_of_the_dense_solver(name, monkeypatch):
    monkeypatch.setattr(row_space, "ACCURATE", 1e-10)
    fit, source = fit_of(name), fit_of(name).model.source
    coordinates = fit.core.coordinates(fit.core.update(fit.stats))
    dense, tilts = solvers.choose_solver(fit.core, source, fit.stats), coordinates.perturbations()
    along = expectations_along(fit.core, fit.stats, fit.core.update(fit.stats), tilts)
    expected = along @ dense.solve(tilts).T
    rows = sensitivity_of(fit, *rows_of(fit))
    space = rows.space.restricted()
    stand_ins = coordinates.stand_ins(space.parts, space.scale)
    information, products = space.information()
    size = space.n_variables
    solved = products - space.squares_times(
        space.bent_quadratic(space.moved(space.loadings(np.eye(size)), products))
    )
    assert_allclose(solved, 0.0, atol=1e-4 * np.abs(products).max())
    assert_allclose(information, information.T, rtol=0, atol=0)
    found = stand_ins @ rows.covariance() @ stand_ins.T
    assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("name", CASES)
@pytest.mark.quick(name=QUICK)
def test_changes_of_the_own_part_are_along_the_changes_of_the_statistics(name, monkeypatch):
    monkeypatch.setattr(row_space, "ACCURATE", 1e-20)
    monkeypatch.setattr(row_space, "NEGLIGIBLE", -1.0)
    rows, weight = np.array([4, 17, 21]), np.array([-1.0, 0.5, -2.0])
    space, known = rows_of(fit_of(name))
    solver = replace(sensitivity_of(fit_of(name), space, known), accurate=1e-20)
    squares = dense_parts(space)[2]
    curvature = flat(space.bent(space.scalars(np.eye(len(squares)))))
    of_squares = squares @ np.linalg.solve(np.eye(len(squares)) - curvature @ squares, curvature)
    gradient = np.zeros((len(known.gradient), 30, 3))
    gradient[:, rows, np.arange(3)] = known.gradient[solver._order][:, rows]
    scalars = np.zeros((len(squares), 3))
    scalars[: 30 * len(gradient)] = gradient.transpose(1, 0, 2).reshape(-1, 3)
    own = known.statistics()[rows]
    metric = solver.metric_of(own)
    first, second, indirect = solver.own_changes(rows, weight)
    assert_allclose(first + second, weight * np.vecdot(metric, own))
    left_out = weight * np.vecdot(scalars, of_squares @ squares @ scalars, axis=0)
    expected = np.vecdot(metric, solver.indirect(rows, weight))
    assert_allclose(indirect + left_out, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


def test_scalars_are_freed_before_the_next_variables_are_solved_for(monkeypatch):
    made, loadings = [], RowSpace.loadings

    def counted(self, variables):
        assert all(rows() is None for rows in made)
        scalars = loadings(self, variables)
        made.append(weakref.ref(scalars.rows))
        return scalars

    monkeypatch.setattr(RowSpace, "loadings", counted)
    monkeypatch.setattr(row_space, "COLUMNS_AT_ONCE", 4)
    space, _ = rows_of(fit_of("constant weights"))
    space.information()
    assert len(made) > 1


def test_what_changes_nothing_is_solved_for_at_once():
    space, _ = rows_of(fit_of("softmax"))
    nothing = space.zeros(space.hessian.shape[1], 2)
    solution, product = space.solve(nothing, np.zeros(2))
    assert not solution.any() and not product.any()


@pytest.mark.parametrize(("name", "factor"), [("softmax", 1.5), ("softmax", 5.0), ("classes", 2.0)])
def test_a_saddle_point_shows_where_the_elbo_bends_upwards(name, factor):
    fit = fit_of(name)
    space, known = rows_of(fit)
    rows = sensitivity_of(fit, replace(space, hessian=factor * space.hessian), known)
    with pytest.raises(ConvexBound) as error:
        rows.covariance()
    direction = error.value.direction
    metric = rows.metric_of(direction[None])[0]
    assert_allclose(direction @ metric, 1.0)
    assert_allclose(metric @ rows.whole() @ direction, error.value.slope, rtol=0.02)
    assert error.value.slope > 1.0


def test_second_moments_without_a_maximum_are_refused():
    space, _ = rows_of(fit_of("softmax"))
    with pytest.raises(NoMaximum):
        replace(space, hessian=500.0 * np.abs(space.hessian)).information()


def test_rows_in_no_component_but_one_are_left_out():
    space = rows_of(fit_of("softmax"))[0].restricted()
    n_rows = [len(vector.rows) for vector in space.parts[0].with_rows]
    assert min(n_rows) < 30 and space.parts[0].n_blocks > 0


def test_rows_are_chosen_where_statistics_are_more(monkeypatch):
    fit = fit_of("softmax")
    arguments = fit.core, fit.model.source, fit.stats
    assert row_space.count_scalars(*arguments, 2.0) is None
    expected = linear_response(*arguments)
    monkeypatch.setattr(row_space, "MOST_FACTORISED", 10)
    assert row_space.count_scalars(*arguments, 1.0) is None
    monkeypatch.setattr(covariance, "LONGER", 100.0)
    found = linear_response(*arguments)
    assert found.n_iter == 1 < expected.n_iter and found.failure is None
    assert_allclose(found.covariance, expected.covariance, atol=1e-5)


def both_jackknives(name, monkeypatch):
    """With the dense solver, and in the space of rows."""
    fit, rng = fit_of(name), np.random.default_rng(0)
    dense = Jackknife(Deletion.of(fit.core, fit.model.source, fit.stats, rng))
    monkeypatch.setattr(row_space, "MOST_FACTORISED", 10)
    monkeypatch.setattr(row_space, "ACCURATE", 1e-20)
    solver = solvers.row_sensitivity(fit.core, fit.model.source, fit.stats, 100.0)
    deletion = replace(dense.deletion, derivative=replace(solver, accurate=1e-20))
    return dense, Jackknife(deletion)


@pytest.mark.parametrize("name", [name for name in CASES if name != "one component"])
@pytest.mark.quick(name=QUICK)
def test_changes_without_rows_are_those_of_the_dense_solver(name, monkeypatch):
    dense, by_rows = both_jackknives(name, monkeypatch)
    assert dense.linear_without_rows() is None
    expected = dense.linear([-group_sums(dense.deletion, np.arange(30))])
    found = by_rows.linear_without_rows()
    assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["softmax", "constant weights", "learned scales", "classes"])
@pytest.mark.quick(name="softmax")
def test_answers_to_responses_are_those_of_the_dense_solver(name, monkeypatch):
    dense, by_rows = both_jackknives(name, monkeypatch)
    rows, step = np.array([2, 11, 29]), 0.01
    block = dense.deletion.source.take(rows)
    ends = [
        (replace(block, response=block.response + sign * step), np.arange(1.0, 4.0) / (sign * step))
        for sign in (1.0, -1.0)
    ]
    expected = dense.deletion.solve_difference(rows, ends)
    found = by_rows.deletion.solve_difference(rows, ends)
    assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
