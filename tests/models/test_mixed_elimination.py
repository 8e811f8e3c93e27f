"""Experts with effects by group are those with columns; elimination of the groups is exact."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bayesvb.data.blocks import Block
from bayesvb.data.group_rows import GROUP_ROWS, rows_at_once
from bayesvb.data.sources import InMemorySource
from bayesvb.engines.cavi import cavi
from bayesvb.errors import DataError
from bayesvb.experts.linear import LinearExperts
from bayesvb.experts.regression import RegressionPrior
from bayesvb.factors.gamma import Gamma
from bayesvb.factors.normal import Normal
from bayesvb.gates.base import GatePrior
from bayesvb.gates.stick_breaking import StickBreakingGate
from bayesvb.models import solved_groups
from bayesvb.models.drawn_effects import EffectLaws, with_line_keys
from bayesvb.models.mixed_elimination import MixedElimination
from bayesvb.models.mixture import Mixture
from bayesvb.models.scaled_mixture import ScaledMixture
from bayesvb.models.solved_groups import ConvexGroup, group_inverses
from bayesvb.models.term_scales import TermScales
from bayesvb.numerics.special import LOG_2PI
from bayesvb.sensitivity import covariance as engine
from bayesvb.sensitivity.covariance import linear_response
from bayesvb.variational.shared_response import BendsUpwards

GROUPS, TERMS = 7, 3


def blocks(seed, n_effects, n_responses=1, n_rows=60, weights=False):
    """The same rows with effects by group, and with a column for each of them."""
    rng = np.random.default_rng(seed)
    place = rng.integers(0, GROUPS - 1, n_rows)  # the last group has no rows
    x = np.vstack([np.ones(n_rows), rng.normal(size=(TERMS - 1, n_rows))])
    z = np.vstack([np.ones(n_rows), rng.normal(size=(n_effects - 1, n_rows))])[:n_effects]
    y = rng.normal(size=(n_responses, n_rows)) + rng.normal(size=GROUPS)[place]
    weight = rng.uniform(0.5, 2.0, n_rows) if weights else None
    columns = (place == np.arange(GROUPS)[:, None]).astype(float)
    dense = np.vstack([x, *(columns * one for one in z)])
    own = {"mean": x, "gating": x[:2], GROUP_ROWS: np.vstack([place, z])}
    return (
        Block(own, y, weight),
        Block({"mean": dense, "gating": x[:2]}, y, weight),
    )


def experts(n_effects, n_responses=1, sd=2.0):
    """Experts of both kinds with the same prior."""
    n_terms = TERMS + n_effects * GROUPS
    prior = RegressionPrior(n_responses, n_terms, sd, True, 1.5, 0.7)
    own = replace(prior, n_terms=TERMS, n_effects=n_effects, n_groups=GROUPS)
    return LinearExperts.from_prior(own), LinearExperts.from_prior(prior)


def mixtures(n_effects, n_components=2):
    """Mixtures of both kinds, whose scales are learned."""
    mixed, dense = experts(n_effects)
    prior = GatePrior(
        Normal.from_precision(np.zeros(2), np.eye(2)), np.array([1.0, 0.0]), 1.0, even=True
    )
    gate = StickBreakingGate.from_prior(n_components, prior)
    places = [[1], [2]]
    effects = [[TERMS + j] for j in range(n_effects)]
    every = [list(range(TERMS + j * GROUPS, TERMS + (j + 1) * GROUPS)) for j in range(n_effects)]
    sizes = np.concatenate([np.ones(TERMS), np.full(n_effects, float(GROUPS))])
    of_gate = TermScales.of([[1]], np.ones(2), n_components - 1)
    law = Gamma(np.array(1.0), np.array(0.5))
    few, many = (np.full(n, 0.25) for n in (TERMS + n_effects, TERMS + n_effects * GROUPS))
    return (
        ScaledMixture(
            mixed, gate, TermScales.of(places + effects, few, n_components, sizes), of_gate, law
        ),
        ScaledMixture(dense, gate, TermScales.of(places + every, many, n_components), of_gate, law),
    )


@pytest.mark.parametrize("n_effects", [1, 2, 3])
@pytest.mark.parametrize("n_responses", [1, 2])
def test_posterior_bound_and_predictions_are_those_of_columns(n_effects, n_responses):
    own, dense = blocks(n_effects, n_effects, n_responses)
    mixed, linear = experts(n_effects, n_responses)
    share = np.random.default_rng(1).dirichlet(np.ones(2), own.n_rows).T
    q = mixed.update(mixed.partition_stats(share, own))
    p = linear.update(linear.partition_stats(share, dense))
    assert_allclose(q.mean, p.mean, atol=1e-10)
    assert_allclose(q.rate, p.rate, rtol=1e-10)
    assert_allclose(q.covariance, p.covariance[:, :TERMS, :TERMS], atol=1e-10)
    assert_allclose(q.log_det, p.log_det, rtol=1e-10)
    assert_allclose(q.operator.variances, p.operator.variances, atol=1e-10)
    assert_allclose(mixed.kl(q), linear.kl(p), rtol=1e-10)
    squares = linear.coefficient_squares(p)
    by_effect = squares[TERMS:].reshape(n_effects, GROUPS).sum(axis=1)
    assert_allclose(
        mixed.coefficient_squares(q), np.concatenate([squares[:TERMS], by_effect]), rtol=1e-10
    )
    found, expected = mixed.local(q, own), linear.local(p, dense)
    assert_allclose(found.expected_log_density, expected.expected_log_density, atol=1e-10)
    for i in range(n_responses):
        one, other = mixed.predictive(q, share, own, i), linear.predictive(p, share, dense, i)
        assert_allclose(one.mean(), other.mean(), atol=1e-10)
        assert_allclose(one.sd(), other.sd(), atol=1e-10)


@pytest.mark.parametrize("n_effects", [1, 2])
def test_ascents_with_learned_scales_are_those_of_columns(n_effects):
    both = blocks(3, n_effects, weights=True)
    share = np.random.default_rng(2).dirichlet(np.ones(2), 60).T
    found = []
    for model, block in zip(mixtures(n_effects), both, strict=True):
        start = model.first_stats(model.partition_stats(block, share))
        source = InMemorySource((block,))
        run = cavi(model, source, start, tol=0.0, max_iter=30, accelerate=False)
        assert (np.diff(run.trace) > -1e-9).all()
        found.append((run.trace, model.update(run.stats)))
    (trace, q), (other, p) = found
    assert_allclose(trace, other[: len(trace)], rtol=1e-10)
    assert_allclose(q.scales.mean, p.scales.mean, rtol=1e-8)
    assert_allclose(q.experts.mean, p.experts.mean, atol=1e-8)


def test_blocks_are_the_whole_and_threads_change_no_bit(monkeypatch):
    own, _ = blocks(5, 2, n_rows=200)
    model, _ = mixtures(2)
    share = np.random.default_rng(2).dirichlet(np.ones(2), 200).T
    q = model.update(model.first_stats(model.partition_stats(own, share)))
    parts = tuple(own.split(17))
    whole, one, two = (
        source.map_reduce(lambda block: model.e_step(q, block)).stats.to_vector()
        for source in (
            InMemorySource((own,)), InMemorySource(parts), InMemorySource(parts, workers=2)
        )
    )  # fmt: skip
    assert_array_equal(one, two)
    assert_allclose(one, whole, rtol=1e-10, atol=1e-12)
    monkeypatch.setattr("bayesvb.models.mixture.BLOCK_ROWS", 17)
    step, pieces = model.e_step(q, own), InMemorySource(parts).map_reduce(partial(model.e_step, q))
    assert_allclose(step.stats.to_vector(), whole, rtol=1e-10, atol=1e-12)
    assert_allclose(step.bound, pieces.bound, rtol=1e-12)


@pytest.mark.heavy
def test_the_bound_never_falls_with_acceleration():
    for seed in range(6):
        own, _ = blocks(seed, 1 + seed % 3, n_rows=80)
        model, _ = mixtures(1 + seed % 3, 3)
        share = np.random.default_rng(seed).dirichlet(np.ones(3), 80).T
        start = model.first_stats(model.partition_stats(own, share))
        run = cavi(model, InMemorySource((own,)), start, tol=1e-6, max_iter=30)
        assert (np.diff(run.trace) > -1e-9).all()


@pytest.mark.heavy
def test_draws_have_the_law_of_the_posterior():
    own, dense = blocks(4, 2)
    mixed, linear = experts(2)
    share = np.random.default_rng(1).dirichlet(np.ones(2), own.n_rows).T
    q = mixed.update(mixed.partition_stats(share, own))
    p = linear.update(linear.partition_stats(share, dense))
    rng, laws = np.random.default_rng(3), EffectLaws(tuple(mixed.line_laws(q)))
    draws = with_line_keys(mixed.draws(q, 20_000, rng), rng)
    others = linear.draws(p, 20_000, np.random.default_rng(4))
    few, same = own.take(np.arange(5)), dense.take(np.arange(5))
    found, expected = mixed.log_lik(laws.at_lines(draws, few), few), linear.log_lik(others, same)
    assert_allclose(found.mean(axis=0), expected.mean(axis=0), atol=0.05)
    assert_allclose(found.std(axis=0), expected.std(axis=0), rtol=0.05)
    assert_allclose(mixed.log_lik(laws.at_lines(draws, own), own)[:, :, :5], found, atol=1e-12)
    thinned = {name: values[::7] for name, values in draws.items()}
    assert_allclose(mixed.log_lik(laws.at_lines(thinned, few), few), found[::7], atol=1e-12)
    rng = np.random.default_rng(5)
    every = np.zeros((20_000, 5), dtype=int)
    made = mixed.responses(laws.at_lines(draws, few), every, few, rng)
    one = linear.predictive(p, np.repeat([[1.0], [0.0]], 5, axis=1), same, 0)
    assert_allclose(made[:, 0].mean(axis=0), one.mean(), atol=0.05)
    assert_allclose(made[:, 0].std(axis=0), one.sd(), rtol=0.05)


@pytest.mark.heavy
def test_effects_of_prior_draws_have_the_prior():
    own, _ = blocks(4, 1)
    mixed, _ = experts(1)
    rng, laws = np.random.default_rng(0), EffectLaws(tuple(mixed.line_laws(None)))
    draws = with_line_keys(mixed.prior_draws(20_000, 2, rng), rng)
    draws["coefficients"] = 0.0 * draws["coefficients"]
    scaled = dict(draws, effect_scale=np.full((20_000, 1), 3.0))
    every = np.zeros((20_000, own.n_rows), dtype=int)
    quiet = dict(scaled, precision=np.ones_like(draws["precision"]))
    made = mixed.responses(laws.at_lines(quiet, own), every, own, np.random.default_rng(1))
    assert_allclose(made.std(axis=0), np.hypot(6.0, 1.0), rtol=0.05)


def test_the_prior_density_of_effects_is_refused():
    own, _ = blocks(4, 1)
    model, _ = mixtures(1)
    share = np.random.default_rng(1).dirichlet(np.ones(2), own.n_rows).T
    q = model.update(model.first_stats(model.partition_stats(own, share)))
    with pytest.raises(DataError, match="effects of 6 groups"):
        model.log_prior(model.draws(q, 3, np.random.default_rng(0)))


def test_statistics_that_are_of_no_data_are_outside_the_domain():
    own, _ = blocks(4, 1)
    mixed, _ = experts(1)
    stats = mixed.partition_stats(np.ones((1, own.n_rows)), own)
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        mixed.update(replace(stats, xx=-stats.xx))


def test_sizes_of_blocks():
    assert rows_at_once(10) == 8192 and rows_at_once(100_000) == 131_072


def test_a_row_is_taken_out_exactly():
    own, _ = blocks(6, 2, 2, weights=True)
    mixed, _ = experts(2, 2)
    share = np.random.default_rng(1).dirichlet(np.ones(2), own.n_rows).T
    stats = mixed.partition_stats(own.weighted(share), own)
    weights = np.full((2, own.n_rows), 0.5)
    found = mixed.predictive_without(mixed.update(stats), weights, own, 0.7 * share)
    for row in range(5):
        one = own.take(np.array([row]))
        without = stats + -0.7 * mixed.partition_stats(share[:, [row]], one)
        rest = mixed.update(without)
        for i, each in enumerate(found):
            expected = mixed.predictive(rest, weights[:, :1], one, i)
            for name in ("location", "scale"):
                assert_allclose(getattr(each, name)[:, [row]], getattr(expected, name), rtol=1e-9)
            assert_allclose(each.dof[:, row], np.ravel(expected.dof), rtol=1e-12)


def test_statistics_times_expectations_are_the_expected_likelihood():
    own, _ = blocks(7, 2, 2)
    mixed, _ = experts(2, 2)
    share = np.random.default_rng(1).dirichlet(np.ones(2), own.n_rows).T
    stats = mixed.partition_stats(share, own)
    q = mixed.update(stats)
    found = stats.to_vector() @ mixed.coordinates(q).expectations()
    expected = (share * mixed.local(q, own).expected_log_density).sum()
    assert_allclose(found - LOG_2PI * share.sum(), expected, rtol=1e-10)


@pytest.mark.heavy
@pytest.mark.parametrize("n_effects", [1, 2])
def test_linear_response_of_what_rows_share_is_that_of_columns(n_effects):
    covariances = []
    share = np.random.default_rng(2).dirichlet(np.ones(2), 200).T
    for model, block in zip(mixtures(n_effects), blocks(8, n_effects, n_rows=200), strict=True):
        source = InMemorySource((block,))
        start = model.first_stats(model.partition_stats(block, share))
        run = cavi(model, source, start, tol=1e-10)
        q = model.update(run.stats)
        found = linear_response(model, source, run.stats)
        draws = model.knowing(q).draws(q, 20_000, np.random.default_rng(3))
        moved, _ = found.move(model, q, draws)
        assert found.failure is None
        few = np.hstack([
            moved["coefficients"][..., :TERMS].reshape(20_000, -1),
            np.log(moved["precision"]).reshape(20_000, -1), np.log(moved["term_precision"]),
            moved["gate"].reshape(20_000, -1),
        ])  # fmt: skip
        covariances.append(np.log(few.std(axis=0)))
    assert_allclose(*covariances, atol=0.04)


def derivatives(experts, stats):
    """Covariance of all statistics, by differences of the update."""

    def expected(vector):
        return experts.coordinates(experts.update(stats.with_vector(vector))).expectations()

    centre, found = stats.to_vector(), []
    for step in 1e-5 * np.eye(len(centre)):
        found.append((expected(centre + step) - expected(centre - step)) / 2e-5)
    return np.array(found)


def places(found):
    """Places of the statistics of all rows and of groups, by expert, in a vector of statistics."""
    size = found.border_covariance().shape[1]
    n_experts, n_own = found.places.shape
    shared = np.arange(n_experts * size).reshape(n_experts, size)
    own = shared.size + np.arange(n_experts * n_own * GROUPS).reshape(n_experts, n_own, GROUPS)
    parts = found.statistics(shared.astype(float), own.astype(float))
    order = np.argsort(np.concatenate([np.ravel(part) for part in parts]))
    return order[shared], order[own]


@pytest.mark.parametrize(("n_effects", "n_responses"), [(1, 1), (2, 2)])
def test_covariances_are_those_of_differences(n_effects, n_responses):
    own, _ = blocks(1, n_effects, n_responses)
    prior = RegressionPrior(
        n_responses, TERMS, 2.0, True, 1.5, 0.7, n_effects=n_effects, n_groups=GROUPS
    )
    experts = LinearExperts.from_prior(prior)
    share = np.random.default_rng(1).dirichlet(np.ones(2), own.n_rows).T
    stats = experts.partition_stats(share, own)
    found = MixedElimination(experts.update(stats))
    whole = derivatives(experts, stats)
    shared, by_group = places(found)
    roots = found.group_roots(slice(2, GROUPS))
    for k, at in enumerate(shared):
        border = whole[np.ix_(at, at)]
        assert_allclose(found.border_covariance()[k], border, atol=1e-7 * np.abs(border).max())
        for group in range(2, GROUPS):
            own = by_group[k, :, group]
            through = whole[np.ix_(own, at)]
            rest = whole[np.ix_(own, own)] - through @ np.linalg.pinv(border, 1e-13) @ through.T
            covariance = roots[k, group - 2] @ roots[k, group - 2].T
            assert_allclose(covariance, rest, atol=1e-6 * np.abs(rest).max())
            for effect in range(n_effects):
                square = through[found.squares_of(effect)]
                features = found.effect_features(effect)[k, :, group]
                assert_allclose(features @ border, square, atol=1e-7)


def settled(n_effects=1, *, scaled=True, weights=False):
    """A mixture at its maximum, with rows and statistics."""
    model, _ = mixtures(n_effects)
    model = model if scaled else model.fixed
    block, _ = blocks(8, n_effects, n_rows=200, weights=weights)
    share, source = np.random.default_rng(2).dirichlet(np.ones(2), 200).T, InMemorySource((block,))
    start = model.first_stats(model.partition_stats(block, share))
    return model, source, cavi(model, source, start, tol=1e-12).stats


@pytest.mark.heavy
@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("n_effects", [1, 2])
def test_covariances_are_those_of_differences_of_passes(n_effects, scaled, monkeypatch):
    state = settled(n_effects, scaled=scaled, weights=True)
    monkeypatch.setattr("bayesvb.sensitivity.lanczos.NEGLIGIBLE", 1e-12)
    found = engine.linear_response(*state)
    for kind in (Mixture, ScaledMixture):
        monkeypatch.setattr(kind, "response_of_shared", lambda *_: None)
    expected = engine.linear_response(*state)
    assert found.failure is None and found.n_iter < expected.n_iter
    assert_allclose(found.covariance, expected.covariance, atol=1e-5 * expected.covariance.max())


def test_pieces_of_rows_are_the_whole(monkeypatch):
    model, source, stats = settled()
    found = engine.linear_response(model, source, stats)
    monkeypatch.setattr(solved_groups, "ROWS_AT_ONCE", 40)
    monkeypatch.setattr("bayesvb.models.grouped_response.IN_MEMORY", 1000)
    pieces = list(solved_groups.pieces_of(source.whole(), 7))
    assert len(pieces) > 3 and sum(piece.block.n_rows for piece in pieces) == 200
    again = engine.linear_response(model, source, stats)
    assert_allclose(again.covariance, found.covariance, rtol=1e-6, atol=1e-8)


def test_a_group_whose_bound_bends_upwards_is_told_with_the_way():
    roots, bend = np.array([[[2.0]], [[1.0]]]), np.array([[[0.2]], [[1.5]]])
    with pytest.raises(ConvexGroup) as caught:
        group_inverses(roots, bend)
    assert caught.value.group == 1 and caught.value.way.shape == (1,)
    found = group_inverses(roots, 0.5 * bend)
    assert_allclose(found.ravel(), [1.0 / (0.25 - 0.1), 1.0 / (1.0 - 0.75)])


def test_the_way_is_one_of_all_statistics(monkeypatch):
    model, source, stats = settled()
    way = np.array([[1.0, 2.0, 3.0, 4.0, 5.0], [6.0, 7.0, 8.0, 9.0, 10.0]])

    def convex(*_):
        raise ConvexGroup(2, way.ravel())

    monkeypatch.setattr(solved_groups, "group_inverses", convex)
    with pytest.raises(BendsUpwards) as caught:
        shared = model.response_of_shared(stats, model.update(stats), source)
        tilts = shared.perturbations()
        shared.answers(tilts, shared.metric(tilts))
    direction = caught.value.direction
    at, own = places(MixedElimination(model.update(stats).experts))
    assert_allclose(direction[own[..., 2]], way)
    assert not direction[np.delete(own, 2, axis=2)].any()
    change = changed_expectations(model, stats, direction)
    assert_allclose(change[at], 0.0, atol=1e-6 * np.abs(change).max())  # shared ones stay
    found, direction = engine.response_or_direction(model, source, stats)
    assert "not at a maximum" in found.failure and len(direction) == stats.to_vector().size


def test_beside_very_many_other_statistics_groups_are_not_eliminated(monkeypatch):
    model, source, stats = settled()
    posterior = model.update(stats)
    assert model.response_of_shared(stats, posterior, source) is not None
    monkeypatch.setattr("bayesvb.models.grouped_response.MOST_BESIDE", 20)
    assert model.response_of_shared(stats, posterior, source) is None
    assert model.fixed.response_of_shared(stats, posterior, source) is None
    assert engine.linear_response(model, source, stats).n_iter > 10
    monkeypatch.setattr(engine, "MOST_ENTRIES", 10)
    assert "forty other columns" in engine.linear_response(model, source, stats).failure


def changed_expectations(model, stats, direction):
    """Along a direction of the statistics, by differences."""
    centre, step = stats.to_vector(), 1e-5 / np.abs(direction).max()
    ends = [
        model.coordinates(model.update(stats.with_vector(centre + side * direction))).expectations()
        for side in (step, -step)
    ]
    return (ends[0] - ends[1]) / (2.0 * step)


@pytest.mark.parametrize("n_effects", [1, 2])
def test_along_a_way_of_what_rows_share_groups_follow(n_effects):
    model, source, stats = settled(n_effects, weights=True)
    shared = model.response_of_shared(stats, model.update(stats), source)
    n_own = shared.entries.size
    direction = np.random.default_rng(4).normal(size=len(shared.covariance))
    direction[n_own:] = 0.0
    whole = shared.lifted(direction)
    change = changed_expectations(model, stats, whole)
    expected = shared.metric(direction[None])[0]
    at, own = places(shared.experts)
    assert_allclose(change[at], expected[shared.entries], atol=1e-5 * np.abs(change).max())
    answer = one_pass_on(model, source, stats, whole) - whole
    assert_allclose(answer[own], 0.0, atol=1e-5 * np.abs(whole).max())  # they have settled


def one_pass_on(model, source, stats, direction):
    """Change of the statistics one pass on, by differences."""
    centre, step, found = stats.to_vector(), 1e-5 / np.abs(direction).max(), []
    for side in (step, -step):
        q = model.update(stats.with_vector(centre + side * direction))
        sums = source.map_reduce(lambda block, q=q: model.e_step(q, block)).stats
        found.append(model.gradient_stats(q, sums).to_vector())
    return (found[0] - found[1]) / (2.0 * step)


@pytest.mark.heavy
@pytest.mark.parametrize("n_effects", [1, 2])
def test_variances_of_effects_are_those_of_linear_response_with_columns(n_effects, monkeypatch):
    monkeypatch.setattr("bayesvb.sensitivity.lanczos.NEGLIGIBLE", 1e-12)
    share, found = np.random.default_rng(2).dirichlet(np.ones(2), 200).T, []
    for model, block in zip(mixtures(n_effects), blocks(8, n_effects, n_rows=200), strict=True):
        source = InMemorySource((block,))
        start = model.first_stats(model.partition_stats(block, share))
        stats = cavi(model, source, start, tol=1e-12).stats
        found.append((model, source, stats, model.update(stats)))
    (mixed, source, stats, q), (*whole, p) = found
    response = mixed.response_of_shared(stats, q, source)
    each = [response.effect_variances(one)[:, 0] for one in np.eye(n_effects)]
    variances, mix = np.stack(each, axis=1), np.linspace(-1.0, 2.0, n_effects)
    covariance, n_terms = engine.linear_response(*whole).covariance, p.experts.mean.shape[-1]
    for k, root in enumerate(np.linalg.inv(np.linalg.cholesky(p.experts.precision))):
        at = slice(k * n_terms, (k + 1) * n_terms)
        own = (root.T @ covariance[at, at] @ root)[TERMS:, TERMS:]
        own = own.reshape(n_effects, GROUPS, n_effects, GROUPS)
        assert_allclose(variances[k], np.einsum("egeg->eg", own), rtol=1e-5)
        expected = np.einsum("a,agbg,b->g", mix, own, mix)
        assert_allclose(response.effect_variances(mix)[k, 0], expected, rtol=1e-5)
    own = np.einsum("kaag->kag", q.experts.operator.effect_covariances)
    assert (variances[1] > 1.2 * own[1]).any()
    monkeypatch.setattr("bayesvb.models.grouped_response.MOST_SHARED", 10)
    assert mixed.response_of_shared(stats, q, source).effect_variances(mix) is None
