"""Columns of groups, taken apart from the others: the same statistics, and the same response."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesvb as bvb
from bayesvb.data.blocks import Block
from bayesvb.data.sources import InMemorySource
from bayesvb.engines import linear_response as engine
from bayesvb.engines.cavi import cavi
from bayesvb.engines.settled_response import stepped
from bayesvb.experts.mixed_elimination import MixedElimination
from bayesvb.factors.bordered_normal_gamma import BorderedNormalGamma
from bayesvb.models import groups_apart
from bayesvb.models.group_columns import GroupedColumns
from bayesvb.numerics.special import LOG_2PI
from bayesvb.results import leave_one_out

GROUPS, TERMS = 7, 2
"""Groups, one of them of rows to come; terms of all rows."""


@pytest.fixture(autouse=True)
def few_groups_are_many(monkeypatch):
    monkeypatch.setattr(groups_apart, "FEWEST_GROUPS", GROUPS)


def state(n_effects, tol=1e-12, gate="stick-breaking", n_rows=160):
    """A mixture with columns for groups, its rows, and statistics at its maximum."""
    rng = np.random.default_rng(8)
    data = pd.DataFrame({
        "x": rng.normal(size=n_rows), "g": rng.integers(0, GROUPS - 1, n_rows),
        "w": rng.uniform(0.5, 2.0, n_rows),
    })  # fmt: skip
    data["y"] = rng.normal(size=n_rows) + 0.7 * rng.normal(size=GROUPS)[data.g]
    text = "y ~ x + (x | g) | x" if n_effects == 2 else "y ~ x + (1 | g) | x"
    model = bvb.DensityRegression(text, data, n_components=2, gate=gate, weights="w")
    core, block = model.core, model.source.whole()
    share = rng.dirichlet(np.ones(2), n_rows).T
    source = InMemorySource(tuple(block.split(70)))
    start = core.first_stats(core.partition_stats(block, share))
    return core, source, cavi(core, source, start, tol=tol).stats


def covariance_of_statistics(model, posterior, places):
    """Of all statistics, products of two columns each, in closed form."""
    law, size = posterior.experts, len(model.expectations(posterior))
    n_experts, n_responses, n_terms = law.mean.shape
    none = (np.zeros((n_experts, n, m, 1)) for n, m in ((n_responses, 1), (1, n_terms), (1, 1)))
    bordered = BorderedNormalGamma(law, *none, np.zeros(n_experts))
    found = np.zeros((size, size))
    for at, own in zip(places, MixedElimination(bordered).border_covariance(), strict=True):
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
    bend = rows.curvature(source.weights()) + model.prior_curvature(posterior)
    spread = covariance_of_statistics(model, posterior, rows.scalars[0].entries)
    tilts = model.coordinates(posterior).perturbations()
    return tilts @ spread @ np.linalg.solve(np.eye(len(bend)) - bend @ spread, tilts.T)


@pytest.mark.parametrize("gate", ["softmax", "stick-breaking"])
@pytest.mark.parametrize("n_effects", [1, 2])
def test_linear_response_is_that_of_the_products_of_all_columns(n_effects, gate):
    model, source, stats = state(n_effects, gate=gate)
    found = engine.linear_response(model, source, stats)
    expected = response_with_every_statistic(model, source, stats)
    assert found.failure is None and found.n_iter == 1
    assert_allclose(found.covariance, expected, atol=1e-9 * expected.max())
    assert expected.max() > 1.5


def test_it_is_that_of_differences_of_passes(monkeypatch):
    model, source, stats = state(1)
    found = engine.linear_response(model, source, stats).covariance
    monkeypatch.setattr(type(model), "response_of_columns", lambda *_: None)
    expected = engine.linear_response(model, source, stats)
    assert expected.n_iter > 50
    assert_allclose(found, expected.covariance, atol=1e-3 * expected.covariance.max())


@pytest.mark.parametrize("n_effects", [1, 2])
def test_statistics_come_apart_and_together(n_effects):
    model, source, stats = state(n_effects, tol=1e-4)
    apart = model.groups_apart(stats, source)
    joined = apart.columns.joined(apart.columns.split(stats.experts))
    assert_array_equal(joined.to_vector(), stats.experts.to_vector())
    assert_array_equal(apart.with_columns(apart.stats.to_vector()), stats.to_vector())
    own, whole = apart.model.update(apart.stats), model.update(stats)
    assert_allclose(own.experts.border.rate, whole.experts.rate, rtol=1e-12)
    assert_allclose(own.experts.border.mean, whole.experts.mean[..., :TERMS], atol=1e-10)
    found = apart.source.map_reduce(lambda block: apart.model.e_step(own, block))
    expected = source.map_reduce(lambda block: model.e_step(whole, block))
    assert_allclose(found.bound - apart.model.kl(own), expected.bound - model.kl(whole), rtol=1e-10)
    sums = apart.columns.joined(found.stats.experts)
    assert_allclose(sums.to_vector(), expected.stats.experts.to_vector(), atol=1e-10)


@pytest.mark.parametrize("text", ["y ~ x + (1 | g) | x", "y ~ x + (x | g) | 1"])
def test_rows_are_left_out_as_with_columns(text, monkeypatch):
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"x": rng.normal(size=90), "g": rng.integers(0, GROUPS - 1, 90)})
    data["y"] = np.where(rng.uniform(size=90) < 0.5, 2.0, -1.0) + rng.normal(size=90) * 0.6
    data["y"] += 0.5 * rng.normal(size=GROUPS)[data.g]
    fit = bvb.DensityRegression(text, data, n_components=2).fit(seed=1, restarts=2, draws=30)
    every, fitted = np.arange(90), leave_one_out.Fitted.of(fit)
    expected = leave_one_out.leave_one_out(fitted, every)
    assert not fitted.without_columns.groups_apart
    monkeypatch.setattr(leave_one_out, "FEWER", 1.0)
    monkeypatch.setattr(leave_one_out, "ROWS_A_STATISTIC", 1.0)
    again = leave_one_out.Fitted.of(fit)
    found = leave_one_out.leave_one_out(again, every)
    assert again.without_columns.groups_apart
    assert_array_equal(found.refitted, expected.refitted)
    ascents = np.where(found.refitted, 1e-3, 2e-9)  # these end by a tolerance
    assert (np.abs(found.log_density - expected.log_density) < ascents).all()
    assert (np.abs(found.cdf - expected.cdf) < ascents).all()
    assert (np.abs(found.log_density - found.seen) > 0.01).any()


@pytest.mark.parametrize("n_effects", [1, 2])
def test_expected_densities_are_linear_in_sums_by_group(n_effects):
    model, source, stats = state(n_effects, tol=1e-3)
    apart = model.groups_apart(stats, source)
    posterior, block = apart.model.update(apart.stats), apart.source.whole()
    scalars = apart.model.experts.row_scalars(block, 2)
    expectations = apart.model.experts.expectations(posterior.experts)
    found = np.einsum("fn,kf->kn", scalars.features, expectations[scalars.entries])
    expected = apart.model.experts.local(posterior.experts, block).expected_log_density
    assert_allclose(found - 0.5 * LOG_2PI, expected, atol=1e-10)


def test_where_the_bound_bends_upwards_is_told_with_a_way_up():
    model, source, _ = state(1, tol=1e-4)
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


def test_a_term_of_which_rows_have_several_columns_stays():
    x = np.array([[1.0, 1.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 1.0]])
    source = InMemorySource((Block({"mean": x}, np.zeros((1, 3))),))
    assert GroupedColumns.of([np.array([2, 3])], source) is None
    found = GroupedColumns.of([np.array([1, 2]), np.array([2, 3])], source)
    assert_array_equal(found.own, [[1, 2]])
    assert_array_equal(found.border, [0, 3])
    assert_array_equal(found.place, [0, 1, 0])


def test_terms_with_other_groups_are_columns_of_all_rows():
    x = np.array([[1.0, 0, 0], [0, 1.0, 1.0], [1.0, 1.0, 0], [0, 0, 1.0], [2.0, 0, 0], [0, 3.0, 0]])
    source = InMemorySource((Block({"mean": x}, np.zeros((1, 3))),))
    found = GroupedColumns.of([np.array([0, 1]), np.array([2, 3]), np.array([4, 5])], source)
    assert_array_equal(found.own, [[0, 1], [4, 5]])
    assert_array_equal(found.border, [2, 3])


def test_few_groups_stay_with_the_others(monkeypatch):
    model, source, stats = state(1, tol=1e-3)
    monkeypatch.setattr(groups_apart, "FEWEST_GROUPS", GROUPS + 1)
    assert model.groups_apart(stats, source) is None
    monkeypatch.setattr(groups_apart, "FEWEST_GROUPS", GROUPS)
    monkeypatch.setattr(groups_apart, "MOST_SHARED", 10)
    assert model.groups_apart(stats, source) is None
