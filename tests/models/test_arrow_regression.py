"""Regressions with groups eliminated are those with all columns."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayesvb.linear.arrow_precisions import ArrowPrecision
from bayesvb.linear.designs import DenseDesign, GroupedDesign, GroupRows
from bayesvb.models.arrow_regression import (
    CorrelatedEffects,
    EffectsGivenScales,
    RegressionSums,
)


def problem(n_effects, n_groups=5, n_rows=40, seed=0):
    """Columns of all rows, then effects of groups, the last of which has no row; a response."""
    rng = np.random.default_rng(seed)
    g = rng.integers(0, n_groups - 1, n_rows)
    x = rng.normal(size=(n_rows, 3))
    one = np.zeros((n_rows, n_groups))
    one[np.arange(n_rows), g] = 1.0
    effects = [one, one * x[:, :1], one * x[:, 1:2]][:n_effects]
    design = np.hstack([x, *effects])
    blocks = [3 + n_groups * a + np.arange(n_groups) for a in range(n_effects)]
    y = rng.normal(size=n_rows)
    sums = RegressionSums.from_columns(
        design.T @ design, design.T @ y, float(n_rows), y @ y, blocks
    )
    by_term = rng.uniform(0.5, 2.0, (2, 3 + n_effects))
    precision = np.repeat(by_term, [1] * 3 + [n_groups] * n_effects, axis=1)
    return sums, design, y, precision


def by_group(n_effects, design, y, precision):
    """The same regressions by the numbers of groups; the design as one of groups."""
    g = np.argmax(design[:, 3:8], axis=1)
    values = np.stack([design[:, 3 + 5 * a : 8 + 5 * a].sum(axis=1) for a in range(n_effects)])
    rows = GroupedDesign(design[:, :3].T, GroupRows(g, values), 5)
    gram = ArrowPrecision.from_entries(np.ones(3), np.ones(n_effects), 5).like(
        rows.gram(np.ones(len(y)))
    )
    sums = RegressionSums(gram, rows.cross(y), float(len(y)), y @ y)
    return sums.regressions(precision[:, [0, 1, 2, *range(3, design.shape[1], 5)]]), rows


@pytest.mark.parametrize("n_effects", [0, 1, 2, 3])
def test_eliminated_effects_change_no_number(n_effects):
    sums, x, y, precision = problem(n_effects)
    assert sums.gram.group_blocks.shape[1:] == ((n_effects, 5) if n_effects else (0, 0))
    known = [(sums.regressions(precision), DenseDesign(x.T))]
    if n_effects:
        known.append(by_group(n_effects, x, y, precision))
    for found, design in known:
        location, spread = found.lines(design)
        for value, prior in enumerate(precision):
            whole = x.T @ x + np.diag(prior)
            mean = np.linalg.solve(whole, x.T @ y)
            assert_allclose(found.residual[value], y @ y - mean @ (x.T @ y), rtol=1e-10)
            assert_allclose(found.operator.log_det[value], np.linalg.slogdet(whole)[1], rtol=1e-12)
            expected = 0.5 * (np.log(prior).sum() - np.linalg.slogdet(whole)[1])
            assert_allclose(found.log_volume[value], expected, rtol=1e-10)
            assert_allclose(location[value], x @ mean, atol=1e-10)
            assert_allclose(spread[value], np.diag(x @ np.linalg.solve(whole, x.T)), rtol=1e-9)


def test_effects_that_draws_do_not_hold_have_the_law_of_those_that_they_do():
    _, x, y, precision = problem(2)
    found, _ = by_group(2, x, y, precision)
    gram, n = found.sums.gram, 20_000
    index, keys = np.arange(n) % 2, np.random.default_rng(1).integers(0, 2**40, n).astype(float)
    sigma = np.where(index == 0, 0.5, 2.0)
    shared, log_q = found.draws(index, sigma, np.random.default_rng(0))
    assert shared.shape == (n, 3)
    law = EffectsGivenScales(*gram.parts, xy=found.sums.xy)
    axes = (slice(None), None, None)
    sds = precision[index][:, [3, 8]] ** -0.5
    effects = law.draw_effects(
        np.zeros((1, 1, 13)), shared[axes], keys[axes][..., None], sigma[axes], sds
    )
    each = effects(np.array([4, 1]))[:, 0]
    for value, prior in enumerate(precision):
        whole = np.linalg.inv(x.T @ x + np.diag(prior))
        at = [0, 1, 2, 7, 4, 12, 9]  # shared, then both effects of the groups 4 and 1
        own = np.concatenate([shared, each.reshape(n, -1)], axis=1)[index == value]
        shift = own - (whole @ x.T @ y)[at]
        covariance = whole[np.ix_(at, at)] * (0.5, 2.0)[value] ** 2
        standard = np.linalg.solve(np.linalg.cholesky(covariance), shift.T).T
        error = 5.0 / np.sqrt(n / 2)
        assert_allclose(standard.T @ standard / len(standard), np.eye(7), atol=1.5 * error)
        assert_allclose(standard.mean(axis=0), 0.0, atol=error)
        marginal = np.linalg.slogdet(covariance[:3, :3])[1] + 3.0 * np.log(2.0 * np.pi)
        expected = -0.5 * (marginal + (standard[:, :3] ** 2).sum(axis=1))
        assert_allclose(log_q[index == value], expected, rtol=1e-9)


@pytest.mark.parametrize("n_effects", [1, 3])
def test_draws_are_of_the_normal_distribution_that_they_have_the_density_of(n_effects):
    sums, x, y, precision = problem(n_effects)
    n, rng = 20_000, np.random.default_rng(1)
    index = np.arange(n) % 2
    sigma = np.where(index == 0, 0.5, 2.0)
    draws, log_q = sums.regressions(precision).draws(index, sigma, rng)
    for value, prior in enumerate(precision):
        whole = (x.T @ x + np.diag(prior)) / (0.5, 2.0)[value] ** 2
        mean = np.linalg.solve(x.T @ x + np.diag(prior), x.T @ y)
        standard = (draws[index == value] - mean) @ np.linalg.cholesky(whole)
        error = 5.0 / np.sqrt(n / 2)  # five standard errors of a covariance of independent values
        found = standard.T @ standard / len(standard)
        assert_allclose(found, np.eye(len(mean)), atol=1.5 * error)
        assert_allclose(standard.mean(axis=0), 0.0, atol=error)
        expected = np.linalg.slogdet(whole)[1] - len(mean) * np.log(2.0 * np.pi)
        expected = 0.5 * (expected - (standard**2).sum(axis=1))
        assert_allclose(log_q[index == value], expected, rtol=1e-9)


def test_crossed_groups_are_eliminated_of_the_larger_grouping_only():
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 4, 60), rng.integers(0, 7, 60)
    x = np.hstack([np.ones((60, 1)), np.eye(4)[a], np.eye(7)[b]])
    blocks = [1 + np.arange(4), 5 + np.arange(7)]
    sums = RegressionSums.from_columns(x.T @ x, x.sum(axis=0), 60.0, 60.0, blocks)
    assert sums.columns[5:].tolist() == list(range(5, 12))
    assert sums.gram.group_blocks.shape == (1, 1, 7)


def test_correlated_effects_of_crossed_groups_change_no_number():
    """Of the larger grouping within the elimination, of the other in the border."""
    rng = np.random.default_rng(3)
    a, b, z = rng.integers(0, 3, 50), rng.integers(0, 6, 50), rng.normal(size=(50, 1))
    effects = [own * slope for own in (np.eye(3)[a], np.eye(6)[b]) for slope in (1.0, z)]
    x, y = np.hstack([np.ones((50, 1)), *effects]), rng.normal(size=50)
    blocks = [1 + np.arange(3), 4 + np.arange(3), 7 + np.arange(6), 13 + np.arange(6)]
    sums = RegressionSums.from_columns(x.T @ x, x.T @ y, 50.0, y @ y, blocks)
    assert sums.gram.group_blocks.shape == (2, 2, 6)
    whole, known = np.eye(x.shape[1]), []
    for at, precision in ((0, [[2.0, 0.9], [0.9, 1.0]]), (2, [[1.5, -0.6], [-0.6, 0.7]])):
        columns, precision = np.stack(blocks[at : at + 2]), np.array(precision)
        whole[columns[:, None], columns[None]] = precision[..., None]
        known.append(CorrelatedEffects(columns, precision[None]))
    found = sums.regressions(np.diag(whole)[None], known)
    sum_of_both = x.T @ x + whole
    mean = np.linalg.solve(sum_of_both, x.T @ y)
    location, spread = found.lines(DenseDesign(np.eye(x.shape[1])))
    assert_allclose(location[0], mean, atol=1e-10)
    assert_allclose(spread[0], np.diag(np.linalg.inv(sum_of_both)), rtol=1e-9)
    expected = 0.5 * (np.linalg.slogdet(whole)[1] - np.linalg.slogdet(sum_of_both)[1])
    assert_allclose(found.log_volume[0], expected, rtol=1e-10)
    assert_allclose(found.residual[0], y @ y - mean @ (x.T @ y), rtol=1e-10)
