"""Rows that are few beside the statistics: the same derivative from fewer directions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesvb as bvb
from bayesvb.errors import DataError
from bayesvb.results.leave_one_out import REFITS, Fitted, group_sums, leave_one_out
from bayesvb.sensitivity import low_rank, row_space, solvers
from bayesvb.sensitivity.krylov import KrylovSensitivity
from bayesvb.sensitivity.low_rank import LowRankSensitivity
from bayesvb.sensitivity.row_directions import RowDirections
from bayesvb.sensitivity.row_sensitivity import RowSensitivity
from bayesvb.sensitivity.solvers import DenseSensitivity, n_answering

FORMULAS = {
    "constant weights": ("y ~ . - s - t", {}),
    "softmax": ("y ~ . - s - t | s", {"gate": "softmax"}),
    "sticks": ("y ~ . - s - t | s + t", {"gate": "stick-breaking"}),
    "rows that repeat": ("y ~ . - s - t | t", {"gate": "softmax"}),
    "two responses": ("y + z ~ . - s - t | s", {"gate": "stick-breaking"}),
    "fixed scales": ("y ~ . - s - t | s", {"priors": bvb.Priors(coefficient_sd=1.0)}),
}


def few_rows(n_rows=30, n_columns=20):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(n_rows, n_columns))
    data = pd.DataFrame(x, columns=[f"x{i}" for i in range(n_columns)])
    data["s"], data["t"] = rng.normal(size=n_rows), np.arange(n_rows) % 2.0
    data["y"] = x[:, 0] - x[:, 1] * np.sign(data["s"]) + 0.3 * rng.normal(size=n_rows)
    return data.assign(z=rng.normal(size=n_rows))


def fit_of(name, **options):
    formula, more = FORMULAS[name]
    data = few_rows()
    if "z" not in formula:
        data = data.drop(columns="z")
    model = bvb.DensityRegression(formula, data, n_components=2, **more, **options)
    return model.fit(seed=1, restarts=1, draws=25, covariance="mean-field")


def test_features_that_memory_does_not_hold_are_not_made(monkeypatch):
    fit = fit_of("softmax")
    n_entries = len(fit.stats.to_vector())
    assert n_answering(fit.core, fit.model.source, fit.stats) < n_entries / 2
    monkeypatch.setattr(solvers, "MOST_NUMBERS", 1000)
    monkeypatch.setattr(solvers, "few_directions", pytest.fail)
    assert n_answering(fit.core, fit.model.source, fit.stats) == n_entries
    assert not solvers.is_affordable(fit.core, fit.model.source, fit.stats)


def both_derivatives(fit, monkeypatch):
    """From directions, and in all entries."""
    source = fit.model.source
    low = solvers.choose_solver(fit.core, source, fit.stats)
    for module in (low_rank, solvers):
        monkeypatch.setattr(module, "SHARE", 0.0)
    high = solvers.choose_solver(fit.core, source, fit.stats)
    assert isinstance(low, LowRankSensitivity) and isinstance(high, DenseSensitivity)
    return low, high


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.quick(weighted=(True,))
@pytest.mark.quick(name=("softmax", "two responses", "fixed scales"))
def test_few_directions_have_the_same_answers(name, weighted, monkeypatch):
    weights = np.linspace(0.5, 1.5, 30) if weighted else None
    fit = fit_of(name, weights=weights)
    low, high = both_derivatives(fit, monkeypatch)
    assert_allclose(low.whole(), high.whole(), rtol=0, atol=1e-8 * np.abs(high.whole()).max())
    some = fit.core.row_derivatives(fit.q, fit.model.source.take(np.arange(30))).statistics()
    found, expected = low.solve(some), high.solve(some)
    # solving multiplies what differences leave, by up to 1e4 where scales are hardly known
    assert_allclose(found, expected, rtol=0, atol=1e-7 * np.abs(expected).max())
    there, back = some @ found.T, low.solve_transposed(some) @ some.T
    assert_allclose(back, there, rtol=0, atol=1e-10 * np.abs(there).max())


@pytest.mark.parametrize("name", ["softmax", "fixed scales"])
def test_the_prior_is_asked_for_the_entries_that_rows_leave_alone(name, monkeypatch):
    fit, asked = fit_of(name), []
    monkeypatch.setattr(type(fit.core), "prior_curvature", lambda *of: asked.append(of[-1].sum()))
    solvers.choose_solver(fit.core, fit.model.source, fit.stats)
    block = fit.model.source.take(np.arange(1))
    assert asked == [fit.core.row_derivatives(fit.q, block).n_more]
    assert asked[0] < 0.1 * len(fit.stats.to_vector())


@pytest.mark.parametrize("name", ["softmax", "two responses"])
def test_rows_left_out_are_the_same(name, monkeypatch):
    fit = fit_of(name)
    rows = np.arange(30)
    found = leave_one_out(Fitted.of(fit), rows, row_passes=0.0)
    for module in (low_rank, solvers):
        monkeypatch.setattr(module, "SHARE", 0.0)
    expected = leave_one_out(Fitted.of(fit), rows, row_passes=0.0)
    assert_allclose(found.log_density, expected.log_density, atol=1e-8)
    assert_allclose(found.cdf, expected.cdf, atol=1e-8)


def test_what_it_costs_is_the_number_of_directions():
    fit = fit_of("rows that repeat")
    low = solvers.choose_solver(fit.core, fit.model.source, fit.stats)
    n_rows, n_experts, n_logits, different = 30, 2, 2, 2
    size = n_experts * n_rows + 2 * n_logits * different
    assert n_answering(fit.core, fit.model.source, fit.stats) == size
    assert size <= low.directions.size < 0.2 * low.n_entries


SOLVERS = ("low_rank", "krylov", "rows")


def solver_of(name, fit, monkeypatch):
    """Solver of this name, whatever the size of the problem."""
    if name == "krylov":
        found = solvers.krylov_sensitivity(fit.core, fit.model.source, fit.stats)
        return replace(found, tolerance=1e-11)
    if name == "rows":
        monkeypatch.setattr(row_space, "MOST_FACTORISED", 10)
        monkeypatch.setattr(row_space, "ACCURATE", 1e-20)
        found = solvers.row_sensitivity(fit.core, fit.model.source, fit.stats, 100.0)
        return replace(found, accurate=1e-20)
    monkeypatch.setattr(low_rank, "SHARE", 100.0 if name == "low_rank" else 0.0)
    monkeypatch.setattr(solvers, "SHARE", 100.0 if name == "low_rank" else 0.0)
    return solvers.choose_solver(fit.core, fit.model.source, fit.stats)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", ["softmax", "fixed scales", "sticks"])
def test_every_solver_agrees_with_the_dense_one(name, solver, monkeypatch):
    fit = fit_of(name)
    dense = solver_of("dense", fit, monkeypatch)
    other = solver_of(solver, fit, monkeypatch)
    assert isinstance(dense, DenseSensitivity) and not isinstance(other, DenseSensitivity)
    block = fit.model.source.take(np.arange(30))
    added = fit.core.row_derivatives(fit.q, block).statistics()
    expected = dense.solve(added)
    # Solving multiplies what differences leave, by up to 1e4 where scales are hardly known.
    tolerance = 1e-7 * np.abs(expected).max()
    assert_allclose(other.solve(added), expected, rtol=0, atol=tolerance)
    assert_allclose(other.whole(), dense.whole(), atol=1e-8 * np.abs(dense.whole()).max())
    there, back = added @ expected.T, other.solve_transposed(added) @ added.T
    assert_allclose(back, there, rtol=0, atol=1e-7 * np.abs(there).max())


def test_conjugate_gradients_refuse_a_saddle_point(monkeypatch):
    fit = fit_of("fixed scales")
    found = solvers.krylov_sensitivity(fit.core, fit.model.source, fit.stats)
    bent = replace(found, curved=lambda change: 50.0 * found.curved(change))
    with pytest.raises(DataError, match="not at a maximum"):
        bent.solve(np.eye(bent.n_entries)[:3])


@pytest.mark.parametrize("kind", [KrylovSensitivity, RowSensitivity])
def test_very_many_statistics_are_solved_by_conjugate_gradients(kind, monkeypatch):
    fit = fit_of("softmax", priors=bvb.Priors(scale_rate=0.005))
    expected = leave_one_out(Fitted.of(fit), np.arange(30), row_passes=0.0)
    for module in (low_rank, solvers):
        monkeypatch.setattr(module, "SHARE", 0.0)
    monkeypatch.setattr(solvers, "MOST_FACTORISED", 10)
    if kind is RowSensitivity:
        monkeypatch.setattr(row_space, "MOST_FACTORISED", 10)
    one = Fitted.of(fit)
    found = leave_one_out(one, np.arange(30), row_passes=0.0)
    assert isinstance(one.deletion.derivative, kind)
    near = 0.01 if kind is RowSensitivity else 1e-4  # small indirect effects are linear there
    assert_allclose(found.log_density, expected.log_density, atol=near)
    monkeypatch.setitem(vars(REFITS), "linear", 0.0)
    solved = leave_one_out(one, np.arange(30), row_passes=0.0)
    assert_allclose(solved.log_density, expected.log_density, atol=1e-4)
    changes = one.jackknife.changes(-group_sums(one.deletion, np.arange(30)))
    plain = Fitted.of(fit)
    monkeypatch.setattr(solvers, "MOST_FACTORISED", 10_000)
    monkeypatch.setattr(row_space, "MOST_FACTORISED", 10_000)
    assert_allclose(
        changes, plain.jackknife.changes(-group_sums(plain.deletion, np.arange(30))), atol=1e-3
    )


def test_changes_that_are_kept_are_solved_with_as_changes_that_are_computed():
    rng = np.random.default_rng(0)
    n_entries, single = 6, np.array([1, 4])
    directions = RowDirections((), single, n_entries)
    covariance = np.cov(rng.normal(size=(n_entries, 20)))
    changes, bends = covariance[single], np.array([[0.3, 0.1], [0.1, -0.5]])
    kept = LowRankSensitivity(
        np.ones(n_entries, dtype=bool), directions, bends, changes[:, single], changes
    )
    computed = replace(kept, changes=lambda added: added @ covariance)
    added = rng.normal(size=(3, n_entries))
    assert_allclose(kept.solve(added), computed.solve(added), atol=1e-12)
    assert_allclose(kept.whole(), computed.whole(), atol=1e-12)
    expected = np.linalg.solve(np.eye(n_entries) - kept.whole(), added.T).T
    assert_allclose(kept.solve(added), expected, atol=1e-12)
