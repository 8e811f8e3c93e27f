"""Effects of groups on weights without columns: the posterior and the responses of columns."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesvb as bvb
from bayesvb.data.sources import InMemorySource
from bayesvb.engines import ENGINES
from bayesvb.engines.cavi import cavi
from bayesvb.engines.settled_response import stepped
from bayesvb.linear.structure import LIMITS
from bayesvb.numerics.special import LOG_2PI
from bayesvb.numerics.streams import Streams
from bayesvb.results import leave_one_out
from bayesvb.sensitivity import covariance as engine
from bayesvb.sensitivity import operator
from bayesvb.sensitivity.solvers import _by_differences, choose_solver

GROUPS, TERMS = 7, 2
"""Groups, one of them of rows to come; terms of all rows."""

LEARNED = bvb.Priors(scales="learned")
"""Columns have no common part with it, as effects without columns have none."""

BOTH = ["y ~ x + (1 | g)", "y ~ x + (1 | g) | x + (x | g)"]
"""Formulas with effects on the lines and on the weights."""


def clustered(n_rows):
    """Rows of two lines, the second more frequent in some groups."""
    rng = np.random.default_rng(8)
    x, g = rng.normal(size=n_rows), rng.integers(0, GROUPS - 1, n_rows)
    y = rng.normal(size=n_rows) + 0.7 * rng.normal(size=GROUPS)[g]
    second = rng.logistic(size=n_rows) < x + rng.normal(size=GROUPS)[g]
    return pd.DataFrame({"x": x, "g": g, "w": rng.uniform(0.5, 2.0, n_rows), "y": y + 4.0 * second})


def model_of(text, data, most_columns, **options):
    """A density regression of which so many group effects may be columns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(vars(LIMITS), "columns", most_columns)
        model = bvb.DensityRegression(text, data, priors=LEARNED, **options)
    assert (model.design.gate_groups is None) == (most_columns > GROUPS)
    return model


@cache
def states(text, gate="softmax", tol=1e-12, n_components=2, n_rows=160):
    """The same mixture without and with columns, its rows, and statistics of the same ascent."""
    found = []
    for most in (3, 100):
        options = {"n_components": n_components, "gate": gate, "weights": "w"}
        model = model_of(text, clustered(n_rows), most, **options)
        core, block = model.core, model.source.whole()
        share = np.random.default_rng(1).dirichlet(np.ones(n_components), n_rows).T
        source = InMemorySource(tuple(block.split(70)))
        start = core.first_stats(core.partition_stats(block, share))
        found.append((core, source, cavi(core, source, start, tol=tol).stats))
    return found


def covariance_of_statistics(model, posterior, places):
    """Of all statistics, products of two columns each, in closed form."""
    law, size = posterior.experts, len(model.expectations(posterior))
    every = np.arange(places.shape[1])
    found = np.zeros((size, size))
    for at, own in zip(places, law.statistics_covariance(every), strict=True):
        found[np.ix_(at, at)] = own
    n_scales = len(model.counts)
    gate = np.arange(places.size, size - 2 * n_scales)
    found[np.ix_(gate, gate)] = posterior.gate.statistics_covariance()
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
@pytest.mark.parametrize("text", BOTH)
@pytest.mark.quick(gate=("softmax",), text=(BOTH[0],))
def test_posterior_and_passes_are_those_of_columns(text, gate):
    own, whole = states(text, gate, tol=1e-2, n_components=3)
    (model, source, stats), (columns, rows, sums) = own, whole
    q, p = model.update(stats), columns.update(sums)
    assert_allclose(q.gate.mean, p.gate.mean, atol=1e-7)
    assert_allclose(model.kl(q), columns.kl(p), rtol=1e-7)
    assert_allclose(model.squares(q), columns.squares(p), rtol=1e-7)
    found = source.map_reduce(lambda block: model.e_step(q, block))
    expected = rows.map_reduce(lambda block: columns.e_step(p, block))
    assert_allclose(found.bound, expected.bound, rtol=1e-7)
    for step in ("global_step", "gradient_stats"):
        there = model.update(getattr(model, step)(q, found.stats))
        same = columns.update(getattr(columns, step)(p, expected.stats))
        assert_allclose(there.gate.mean, same.gate.mean, atol=1e-7)
        assert_allclose(there.gate.log_det, same.gate.log_det, rtol=1e-7)


@pytest.mark.heavy
@pytest.mark.parametrize("gate", ["softmax", "stick-breaking"])
def test_the_derivative_of_a_pass_is_that_of_differences(gate):
    model, source, stats = states(BOTH[0], gate)[0]
    found = choose_solver(model, source, stats).whole()
    expected = _by_differences(model, source, stats)
    assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("gate", ["softmax", "stick-breaking"])
@pytest.mark.parametrize("text", ["y ~ x + (1 | g)", "y ~ x | x + (x | g)"])
@pytest.mark.quick(gate=("softmax",), text=("y ~ x + (1 | g)",))
def test_the_law_of_logits_is_the_linear_response_of_columns(text, gate):
    (model, source, stats), whole = states(text, gate, n_components=3)
    law = model.response_of_shared(stats, model.update(stats), source).law_of_logits()
    posterior = whole[0].update(whole[2])
    n_logits, n_terms = posterior.gate.mean.shape
    coordinates = whole[0].gate.coordinates(posterior.gate)
    first = whole[0].experts.coordinates(posterior.experts).size
    at = slice(first, first + n_logits * n_terms)
    lines = coordinates.parameters(np.eye(n_logits * n_terms)) - posterior.gate.mean
    root = lines.reshape(n_logits * n_terms, -1).T
    expected = root @ response_with_every_statistic(*whole)[at, at] @ root.T
    shift, scale = n_terms * np.arange(n_logits)[:, None], np.abs(expected).max()
    border = (shift + np.arange(TERMS)).ravel()
    assert_allclose(law.covariance[0], expected[np.ix_(border, border)], atol=1e-7 * scale)
    for group in range(GROUPS):
        effects = (shift + np.arange(TERMS + group, n_terms, GROUPS)).ravel()
        lean = law.operator.regression[0, ..., group]
        across = -lean @ law.covariance[0]
        assert_allclose(across, expected[np.ix_(effects, border)], atol=1e-7 * scale)
        joint = law.operator.within[0, ..., group] - across @ lean.T
        assert_allclose(joint, expected[np.ix_(effects, effects)], atol=1e-7 * scale)


@pytest.mark.heavy
@pytest.mark.parametrize("gate", ["softmax", "stick-breaking"])
def test_rows_of_few_groups_are_left_out_as_with_columns(gate, monkeypatch):
    monkeypatch.setattr(operator, "STEP", 2e-6)
    found = []
    for most in (3, 100):
        model = model_of(BOTH[0], clustered(90), most, n_components=2, gate=gate)
        fit = model.fit(seed=1, restarts=1, tol=1e-10, max_iter=5000, draws=30)
        fitted = leave_one_out.Fitted.of(fit)
        assert not fitted.needs_no_derivative and fitted.quick and fitted.affordable
        found.append(leave_one_out.leave_one_out(fitted, np.arange(90), row_passes=0.0))
    own, columns = found
    assert_array_equal(own.doubtful, columns.doubtful)
    assert_allclose(own.log_density, columns.log_density, atol=1e-4)
    assert_allclose(own.cdf, columns.cdf, atol=1e-4)
    assert (np.abs(own.log_density - own.seen) > 0.01).any()


def test_memberships_are_held_where_statistics_are_many(monkeypatch):
    model, source, stats = states(BOTH[0])[0]
    given = {"core": model, "source": source, "stats": stats, "engine": ENGINES["cavi"]}
    given |= {"streams": Streams(1).branch("rows"), "row_passes": 0.0}
    fitted = leave_one_out.Fitted(**given)
    assert not fitted.needs_no_derivative
    limits = replace(leave_one_out.REFITS, most_entries=stats.to_vector().size - 1)
    monkeypatch.setattr(leave_one_out, "REFITS", limits)
    again = leave_one_out.Fitted(**given)
    assert again.needs_no_derivative and again.quick and again.affordable


def test_expected_densities_are_linear_in_sums_by_group():
    model, source, stats = states(BOTH[1], tol=1e-2, n_components=3)[0]
    posterior, block = model.update(stats), source.whole()
    scalars = model.experts.row_scalars(block, 3)
    expectations = model.experts.expectations(posterior.experts)
    found = np.einsum("fn,kf->kn", scalars.features, expectations[scalars.entries])
    expected = model.experts.local(posterior.experts, block).expected_log_density
    assert_allclose(found - 0.5 * LOG_2PI, expected, atol=1e-10)


@pytest.mark.parametrize("text", ["y ~ x + (1 | g)", "y ~ x | x + (x | g)"])
@pytest.mark.quick(text=("y ~ x + (1 | g)",))
def test_where_the_bound_bends_upwards_is_told_with_a_way_up(text):
    model, source, _ = states(text, tol=1e-2)[0]
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
    model, source, stats = states(BOTH[0], gate)[0]
    shared = model.response_of_shared(stats, model.update(stats), source)
    direction = np.random.default_rng(2).normal(size=len(shared.covariance))
    moved = engine._Differences(model, source, stats).metric(1e-3 * shared.lifted(direction)[None])
    moved = stats.with_vector(moved[0] / 1e-3)
    expected = np.split(shared.metric(direction[None])[0], [shared.entries.size, -4])
    own, n_pairs = moved.experts, TERMS * (TERMS + 1) // 2
    parts = (own.weight, own.xx[:, :n_pairs], own.xy[..., :TERMS], own.yy)
    found = np.concatenate([part.ravel() for part in parts])
    assert_allclose(found, expected[0], atol=1e-4 * np.abs(found).max())
    parts = moved.gate.curvature[:, :n_pairs], moved.gate.linear[:, :TERMS]
    found = np.concatenate([part.ravel() for part in parts])
    assert_allclose(found, expected[1], atol=1e-4 * np.abs(found).max())
