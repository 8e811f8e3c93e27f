"""Columns of groups, taken apart from the others: the same statistics, and the same response."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesvb as bvb
from bayesvb.data.blocks import Block
from bayesvb.data.sources import InMemorySource
from bayesvb.engines.cavi import cavi
from bayesvb.engines.settled_response import stepped
from bayesvb.models import groups_apart, scaled_mixture
from bayesvb.models.group_columns import GroupedColumns
from bayesvb.numerics.special import LOG_2PI
from bayesvb.results import leave_one_out
from bayesvb.sensitivity import covariance as engine
from bayesvb.sensitivity import operator
from bayesvb.sensitivity import solvers as derivative_module
from bayesvb.sensitivity.solvers import _by_differences, choose_solver

GROUPS, TERMS = 7, 2
"""Groups, one of them of rows to come; terms of all rows."""


@pytest.fixture(autouse=True)
def few_groups_are_many(monkeypatch):
    monkeypatch.setattr(groups_apart, "FEWEST_GROUPS", GROUPS)


LEARNED = bvb.Priors(scales="learned")
"""Coefficients around common ones are not taken apart by group."""

TEXTS = {1: "y ~ x + (1 | g) | x", 2: "y ~ x + (x | g) | x"}
"""Effects of groups in the components alone, by their number."""


def state(text=TEXTS[1], tol=1e-12, gate="stick-breaking", n_rows=160, n_components=2, apart=0.0):
    """A mixture with columns for groups, its rows, and statistics at its maximum.

    Of two lines that are so far apart, the second more frequent in some groups.
    """
    rng = np.random.default_rng(8)
    data = pd.DataFrame({
        "x": rng.normal(size=n_rows), "g": rng.integers(0, GROUPS - 1, n_rows),
        "w": rng.uniform(0.5, 2.0, n_rows),
    })  # fmt: skip
    data["y"] = rng.normal(size=n_rows) + 0.7 * rng.normal(size=GROUPS)[data.g]
    second = rng.logistic(size=n_rows) < data.x + rng.normal(size=GROUPS)[data.g]
    data["y"] += apart * second
    model = bvb.DensityRegression(
        text, data, n_components=n_components, gate=gate, weights="w", priors=LEARNED
    )
    core, block = model.core, model.source.whole()
    share = rng.dirichlet(np.ones(n_components), n_rows).T
    source = InMemorySource(tuple(block.split(70)))
    start = core.first_stats(core.partition_stats(block, share))
    return core, source, cavi(core, source, start, tol=tol).stats


def covariance_of_statistics(model, posterior, places):
    """Of all statistics, products of two columns each, in closed form."""
    law, size = posterior.experts, len(model.expectations(posterior))
    every = np.arange(places.shape[1])
    found = np.zeros((size, size))
    for at, own in zip(places, law.statistics_covariance(every), strict=True):
        found[np.ix_(at, at)] = own
    n_scales = len(model.counts)
    gate = np.arange(places.size, size - 2 * n_scales)
    found[np.ix_(gate, gate)] = model.gate.statistics_covariance(posterior.gate)
    squares = np.eye(size)
    pairs = posterior.gate.mean.shape[-1] * (posterior.gate.mean.shape[-1] + 1) // 2
    for scale, term in np.argwhere(model.of_experts.membership > 0.0):
        squares[size - 2 * n_scales + scale, places[:, 1 + term * (term + 3) // 2]] = 1.0
    for scale, term in np.argwhere(model.of_gate.membership > 0.0):
        row = size - 2 * n_scales + len(model.of_experts.start) + scale
        logits = pairs * np.arange(len(posterior.gate.mean))
        squares[row, places.size + logits + term * (term + 3) // 2] = 1.0
    squares[np.arange(-2 * n_scales, -n_scales), np.arange(-2 * n_scales, -n_scales)] = 0.0
    found = squares @ found @ squares.T
    law = posterior.scales
    found[-n_scales:, -n_scales:] = np.diag(0.25 * law.shape / law.rate**2)
    return found


def response_with_every_statistic(model, source, stats):
    """Linear response by one system of the products of all columns."""
    posterior = model.update(stats)
    rows = model.row_derivatives(posterior, source.whole())
    bend = rows.curvature(source.weights())
    bend = bend + model.prior_curvature(posterior, np.ones(len(bend), dtype=bool))
    spread = covariance_of_statistics(model, posterior, rows.factors[0])
    tilts = model.coordinates(posterior).perturbations()
    return tilts @ spread @ np.linalg.solve(np.eye(len(bend)) - bend @ spread, tilts.T)


@pytest.mark.parametrize("gate", ["softmax", "stick-breaking"])
@pytest.mark.parametrize("n_effects", [1, 2])
@pytest.mark.quick(n_effects=(2,))
def test_linear_response_is_that_of_the_products_of_all_columns(n_effects, gate):
    model, source, stats = state(TEXTS[n_effects], gate=gate)
    found = engine.linear_response(model, source, stats)
    expected = response_with_every_statistic(model, source, stats)
    assert found.failure is None and found.n_iter == 1
    assert_allclose(found.covariance, expected, atol=1e-9 * expected.max())
    assert expected.max() > 1.5


@pytest.mark.parametrize("gate", ["softmax", "stick-breaking"])
@pytest.mark.parametrize(
    ("text", "n_components"),
    [
        ("y ~ x + (1 | g)", 2),
        ("y ~ x + (1 | g)", 3),
        ("y ~ x + (x | g)", 2),
        ("y ~ x + (x | g) | x + (1 | g)", 2),
        ("y ~ x + (1 | g) | x + (x | g)", 2),
        ("y ~ x | x + (1 | g)", 3),
    ],
)
@pytest.mark.parametrize("distance", [0.0, 4.0])
@pytest.mark.quick(distance=(4.0,), gate=("stick-breaking",))
def test_so_it_is_with_groups_in_the_weights(text, n_components, gate, distance):
    options = {"gate": gate, "n_components": n_components, "apart": distance}
    model, source, stats = state(text, **options)
    apart = groups_apart.GroupsApart.of(model, stats, source)
    assert apart.columns.gate is not None
    found = engine.linear_response(model, source, stats)
    expected = response_with_every_statistic(model, source, stats)
    assert found.failure is None and found.n_iter == 1
    assert_allclose(found.covariance, expected, atol=1e-8 * expected.max())
    assert expected.max() > 1.5


@pytest.mark.parametrize("text", [TEXTS[1], "y ~ x + (1 | g)"])
@pytest.mark.quick(text=("y ~ x + (1 | g)",))
def test_it_is_that_of_differences_of_passes(text, monkeypatch):
    model, source, stats = state(text)
    found = engine.linear_response(model, source, stats).covariance
    monkeypatch.setattr(type(model), "response_of_columns", lambda *_: None)
    monkeypatch.setattr(engine, "_by_row", lambda *_: None)
    expected = engine.linear_response(model, source, stats)
    assert expected.n_iter > 50
    assert_allclose(found, expected.covariance, atol=1e-3 * expected.covariance.max())


@pytest.mark.parametrize("n_effects", [1, 2])
def test_statistics_come_apart_and_together(n_effects):
    model, source, stats = state(TEXTS[n_effects], tol=1e-4)
    apart = model.groups_apart(stats, source)
    joined = apart.columns.joined(apart.columns.split(stats.experts))
    assert_array_equal(joined.to_vector(), stats.experts.to_vector())
    assert_array_equal(apart.with_columns(apart.stats.to_vector()), stats.to_vector())
    own, whole = apart.model.update(apart.stats), model.update(stats)
    assert_allclose(own.experts.rate, whole.experts.rate, rtol=1e-12)
    assert_allclose(own.experts.shared.mean, whole.experts.mean[..., :TERMS], atol=1e-10)
    found = apart.source.map_reduce(lambda block: apart.model.e_step(own, block))
    expected = source.map_reduce(lambda block: model.e_step(whole, block))
    assert_allclose(found.bound - apart.model.kl(own), expected.bound - model.kl(whole), rtol=1e-10)
    sums = apart.columns.joined(found.stats.experts)
    assert_allclose(sums.to_vector(), expected.stats.experts.to_vector(), atol=1e-10)


@pytest.mark.parametrize("gate", ["softmax", "stick-breaking"])
@pytest.mark.parametrize("text", ["y ~ x + (1 | g)", "y ~ x + (1 | g) | x + (x | g)"])
@pytest.mark.quick(gate=("softmax",))
def test_the_posterior_of_the_weights_is_that_of_columns(text, gate):
    model, source, stats = state(text, tol=1e-4, gate=gate)
    apart = groups_apart.GroupsApart.of(model, stats, source)
    assert_array_equal(apart.with_columns(apart.stats.to_vector()), stats.to_vector())
    own, whole = apart.model.update(apart.stats), model.update(stats)
    columns = apart.columns.gate
    assert_allclose(own.gate.mean, whole.gate.mean[:, columns.order], atol=1e-10)
    assert_allclose(apart.model.kl(own), model.kl(whole), rtol=1e-10)
    assert_allclose(apart.model.squares(own), model.squares(whole), rtol=1e-10)
    for block, rows in zip(apart.source.iterate(), source.iterate(), strict=True):
        share = apart.model.responsibilities(own, block)
        assert_allclose(share, model.responsibilities(whole, rows), atol=1e-10)
        weights = apart.model.mean_weights(own, block)
        assert_allclose(weights, model.mean_weights(whole, rows), atol=1e-10)


@pytest.mark.parametrize("gate", ["softmax", "stick-breaking"])
@pytest.mark.parametrize("text", ["y ~ x + (1 | g)", "y ~ x + (1 | g) | x + (x | g)"])
@pytest.mark.quick(gate=("softmax",))
def test_passes_and_steps_of_the_weights_are_those_of_columns(text, gate):
    model, source, stats = state(text, tol=1e-2, gate=gate, n_components=3)
    apart = groups_apart.GroupsApart.of(model, stats, source)
    own, whole = apart.model.update(apart.stats), model.update(stats)
    found = apart.source.map_reduce(lambda block: apart.model.e_step(own, block))
    expected = source.map_reduce(lambda block: model.e_step(whole, block))
    assert_allclose(found.bound, expected.bound, rtol=1e-10)
    for step in ("global_step", "gradient_stats"):
        there = getattr(apart.model, step)(own, found.stats)
        joined = replace(
            there,
            experts=apart.columns.joined(there.experts),
            gate=apart.columns.joined_logits(there.gate),
        )
        columns = getattr(model, step)(whole, expected.stats).to_vector()
        assert_allclose(joined.to_vector(), columns, atol=1e-9 * np.abs(columns).max())
    assert there.gate.to_vector().size < stats.gate.to_vector().size or "(x | g)" in text
    moments = apart.stats.gate.with_vector(apart.model.gate.expectations(own.gate))
    moments = apart.columns.joined_logits(moments).to_vector()
    every = model.gate.expectations(whole.gate)
    assert_allclose(moments[moments != 0.0], every[moments != 0.0], atol=1e-10)


@pytest.mark.parametrize("gate", ["softmax", "stick-breaking"])
@pytest.mark.quick(gate=("stick-breaking",))
def test_the_derivative_of_a_pass_with_weights_by_group_is_that_of_differences(gate):
    model, source, stats = state("y ~ x + (1 | g)", gate=gate, apart=4.0)
    apart = groups_apart.GroupsApart.of(model, stats, source)
    found = choose_solver(apart.model, apart.source, apart.stats).whole()
    expected = _by_differences(apart.model, apart.source, apart.stats)
    assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("text", "gate"),
    [
        ("y ~ x + (1 | g) | x", "softmax"),
        ("y ~ x + (x | g) | 1", "softmax"),
        ("y ~ x + (1 | g)", "softmax"),
        ("y ~ x + (1 | g)", "stick-breaking"),
        ("y ~ x + (x | g) | x + (1 | g)", "stick-breaking"),
    ],
)
@pytest.mark.quick(text=("y ~ x + (1 | g)",), gate=("stick-breaking",))
def test_rows_are_left_out_as_with_columns(text, gate, monkeypatch):
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"x": rng.normal(size=90), "g": rng.integers(0, GROUPS - 1, 90)})
    data["y"] = np.where(rng.uniform(size=90) < 0.5, 2.0, -1.0) + rng.normal(size=90) * 0.6
    data["y"] += 0.5 * rng.normal(size=GROUPS)[data.g]
    model = bvb.DensityRegression(text, data, n_components=2, gate=gate, priors=LEARNED)
    fit = model.fit(seed=1, restarts=2, draws=30)
    monkeypatch.setattr(operator, "STEP", 2e-6)  # beside columns there are no differences
    every, fitted = np.arange(90), leave_one_out.Fitted.of(fit)
    expected = leave_one_out.leave_one_out(fitted, every)
    assert not fitted.without_columns.groups_apart
    monkeypatch.setattr(leave_one_out, "FEWER", 1.0)
    monkeypatch.setattr(leave_one_out, "ROWS_A_STATISTIC", 1.0)
    again = leave_one_out.Fitted.of(fit)
    found = leave_one_out.leave_one_out(again, every)
    assert again.without_columns.groups_apart
    assert_array_equal(found.refitted, expected.refitted)
    # Ascents without rows end 1e-4 nats of the bound below their ends, wherever that is.
    ascents = np.where(found.refitted, 1e-2, 2e-9)
    assert (np.abs(found.log_density - expected.log_density) < ascents).all()
    assert (np.abs(found.cdf - expected.cdf) < ascents).all()
    assert (np.abs(found.log_density - found.seen) > 0.01).any()


def test_what_memory_does_not_hold_of_groups_apart_is_left_to_draws(monkeypatch):
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"x": rng.normal(size=90), "g": rng.integers(0, GROUPS - 1, 90)})
    data["y"] = data.x + rng.normal(size=90) + rng.normal(size=GROUPS)[data.g]
    model = bvb.DensityRegression("y ~ x + (1 | g)", data, n_components=2, priors=LEARNED)
    fit = model.fit(seed=1, restarts=1)
    monkeypatch.setattr(leave_one_out, "FEWER", 1.0)
    monkeypatch.setattr(leave_one_out, "ROWS_A_STATISTIC", 1.0)
    monkeypatch.setattr(derivative_module, "MOST_NUMBERS", 1000)
    assert leave_one_out.Fitted.of(fit).without_columns.groups_apart
    assert "Pareto k" in str(fit)


@pytest.mark.parametrize("gate", ["softmax", "stick-breaking"])
@pytest.mark.parametrize("text", ["y ~ x + (1 | g)", "y ~ x | x + (x | g)"])
@pytest.mark.quick(gate=("softmax",))
def test_the_law_of_logits_is_the_linear_response_of_columns(text, gate):
    model, source, stats = state(text, gate=gate, n_components=3, apart=4.0)
    posterior = model.update(stats)
    apart = groups_apart.GroupsApart.of(model, stats, source)
    own = apart.model.update(apart.stats)
    law = apart.model.response_of_shared(apart.stats, own, apart.source).law_of_logits()
    coordinates, (n_logits, n_terms) = (
        model.gate.coordinates(posterior.gate),
        posterior.gate.mean.shape,
    )
    first = model.experts.coordinates(posterior.experts).size
    at = slice(first, first + n_logits * n_terms)
    lines = coordinates.parameters(np.eye(n_logits * n_terms)) - posterior.gate.mean
    root = lines.reshape(n_logits * n_terms, -1).T
    expected = root @ engine.linear_response(model, source, stats).covariance[at, at] @ root.T
    columns, shift = apart.columns.gate, n_terms * np.arange(n_logits)[:, None]
    border = (shift + columns.border).ravel()
    scale = np.abs(expected).max()
    assert_allclose(law.covariance[0], expected[np.ix_(border, border)], atol=1e-8 * scale)
    for group in range(GROUPS):
        effects = (shift + columns.own[:, group]).ravel()
        lean = law.operator.regression[0, ..., group]
        across = -lean @ law.covariance[0]
        assert_allclose(across, expected[np.ix_(effects, border)], atol=1e-8 * scale)
        whole = law.operator.within[0, ..., group] - across @ lean.T
        assert_allclose(whole, expected[np.ix_(effects, effects)], atol=1e-8 * scale)


@pytest.mark.parametrize("n_effects", [1, 2])
def test_expected_densities_are_linear_in_sums_by_group(n_effects):
    model, source, stats = state(TEXTS[n_effects], tol=1e-3)
    apart = model.groups_apart(stats, source)
    posterior, block = apart.model.update(apart.stats), apart.source.whole()
    scalars = apart.model.experts.row_scalars(block, 2)
    expectations = apart.model.experts.expectations(posterior.experts)
    found = np.einsum("fn,kf->kn", scalars.features, expectations[scalars.entries])
    expected = apart.model.experts.local(posterior.experts, block).expected_log_density
    assert_allclose(found - 0.5 * LOG_2PI, expected, atol=1e-10)


@pytest.mark.parametrize("text", [TEXTS[1], "y ~ x + (1 | g)", "y ~ x | x + (x | g)"])
@pytest.mark.quick(text=("y ~ x + (1 | g)",))
def test_where_the_bound_bends_upwards_is_told_with_a_way_up(text):
    model, source, _ = state(text, tol=1e-4)
    alike = source.map_reduce(
        lambda block: model.partition_stats(block, np.full((2, block.n_rows), 0.5))
    )
    saddle = cavi(model, source, model.first_stats(alike), tol=1e-12).stats
    response, way = engine.response_or_direction(model, source, saddle)
    assert response.failure is not None and len(way) == len(saddle.to_vector())
    higher = stepped(model, source, saddle, way)
    bounds = []
    for one in (saddle, higher):
        q = model.update(one)
        bounds.append(source.map_reduce(lambda block, q=q: model.e_step(q, block)).bound)
        bounds[-1] -= model.kl(q)
    assert bounds[1] > bounds[0] + 1e-6


@pytest.mark.parametrize("gate", ["softmax", "stick-breaking"])
@pytest.mark.quick(gate=("softmax",))
def test_a_change_of_what_rows_share_is_told_in_all_statistics(gate):
    model, source, stats = state("y ~ x + (1 | g)", gate=gate)
    apart = groups_apart.GroupsApart.of(model, stats, source)
    posterior = apart.model.update(apart.stats)
    shared = apart.model.response_of_shared(apart.stats, posterior, apart.source)
    direction = np.random.default_rng(2).normal(size=len(shared.covariance))
    way = apart.with_columns(shared.lifted(direction))[None]
    moved = engine._Differences(model, source, stats).metric(1e-3 * way)[0] / 1e-3
    moved = stats.with_vector(moved)
    expected = np.split(shared.metric(direction[None])[0], [shared.entries.size, -4])
    split = apart.columns.split(moved.experts)
    (n_experts, n_terms), n_pairs = split.xy[:, 0].shape, TERMS * (TERMS + 1) // 2
    own = (split.weight, split.xx[:, :n_pairs], split.xy[..., :TERMS], split.yy)
    own = np.concatenate([part.ravel() for part in own])
    assert n_terms == TERMS + GROUPS and n_experts == 2
    assert_allclose(own, expected[0], atol=1e-4 * np.abs(own).max())
    gates = apart.columns.split_logits(moved.gate)
    parts = gates.curvature[:, :n_pairs], gates.linear[:, :TERMS]
    own = np.concatenate([part.ravel() for part in parts])
    assert_allclose(own, expected[1], atol=1e-4 * np.abs(own).max())


def test_a_term_of_which_rows_have_several_columns_stays():
    x = np.array([[1.0, 1.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    source = InMemorySource((Block({"mean": x}, np.zeros((1, 3))),))
    assert GroupedColumns.of([np.array([2, 3])], source) is None
    found = GroupedColumns.of([np.array([1, 2]), np.array([2, 3])], source)
    assert_array_equal(found.experts.own, [[1, 2]])
    assert_array_equal(found.experts.border, [0, 3])
    assert_array_equal(found.place, [0, 1, 0])


def test_terms_with_other_groups_are_columns_of_all_rows():
    x = np.array([[1.0, 0, 0], [0, 1.0, 1.0], [1.0, 1.0, 0], [0, 0, 1.0], [2.0, 0, 0], [0, 3.0, 0]])
    source = InMemorySource((Block({"mean": x}, np.zeros((1, 3))),))
    found = GroupedColumns.of([np.array([0, 1]), np.array([2, 3]), np.array([4, 5])], source)
    assert_array_equal(found.experts.own, [[0, 1], [4, 5]])
    assert_array_equal(found.experts.border, [2, 3])


def test_few_groups_stay_with_the_others(monkeypatch):
    model, source, stats = state(tol=1e-3)
    monkeypatch.setattr(groups_apart, "FEWEST_GROUPS", GROUPS + 1)
    assert model.groups_apart(stats, source) is None
    monkeypatch.setattr(groups_apart, "FEWEST_GROUPS", GROUPS)
    monkeypatch.setattr(scaled_mixture, "MOST_SHARED", 10)
    assert model.groups_apart(stats, source) is None


def test_beside_more_statistics_than_rows_are_left_out_with_there_is_a_linear_response(monkeypatch):
    model, source, stats = state("y ~ x + (1 | g)")
    expected = engine.linear_response(model, source, stats)
    monkeypatch.setattr(scaled_mixture, "MOST_SHARED", 10)
    assert model.groups_apart(stats, source) is None
    found = engine.linear_response(model, source, stats)
    assert found.n_iter == 1
    assert_array_equal(found.covariance, expected.covariance)


def test_directions_that_memory_does_not_hold_are_not_made(monkeypatch):
    model, source, stats = state(tol=1e-4)
    coordinates = model.coordinates(model.update(stats))
    assert coordinates.size == len(coordinates.perturbations())
    numbers = coordinates.size * stats.to_vector().size
    monkeypatch.setattr(type(model), "response_of_columns", lambda *_: None)
    monkeypatch.setattr(engine, "MOST_NUMBERS", numbers)
    assert engine.linear_response(model, source, stats).failure is None
    monkeypatch.setattr(engine, "MOST_NUMBERS", numbers - 1)
    monkeypatch.setattr(type(coordinates), "perturbations", pytest.fail)
    assert "too many columns" in engine.linear_response(model, source, stats).failure
