"""Mixtures whose rows come in groups: every gate; groups as units, of any size, in any blocks."""

import inspect
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp
from scipy.stats import multivariate_t

from bayesvb.data.blocks import Block, Members
from bayesvb.data.sources import InMemorySource
from bayesvb.engines.cavi import cavi
from bayesvb.experts.base import AbstractExperts
from bayesvb.experts.grouped import GroupedExperts
from bayesvb.models.mixture import Mixture
from bayesvb.sensitivity.solvers import choose_solver
from bayesvb.variational.row_derivatives import RowDerivatives

SEEDS = pytest.mark.parametrize(
    "seeds", [range(5), pytest.param(range(5, 40), marks=pytest.mark.heavy)], ids=["few", "many"]
)
"""Per gate, of six with the relabelled one: 240 ascents."""

UNIT = 0.7


@pytest.fixture
def grouped(make_problem):
    """A problem whose groups have one to six rows, and the gate's covariates of each group."""

    def build(name, seed=0, *, weighted=False, experts=3, **options):
        rng = np.random.default_rng(500 + seed)
        sizes = rng.integers(1, 7, size=25)
        starts = np.cumsum(sizes) - sizes
        rows = make_problem(name, seed=seed, rows=int(sizes.sum()), experts=experts, **options)
        first = rows.block.take(starts)
        whole = {"mean": rows.block.designs["mean"]}
        members = Members(Block(whole, rows.block.response), starts)
        weight = rng.integers(0, 4, size=25).astype(float) if weighted else None
        block = Block(
            {"gating": first.designs["gating"]}, np.empty((0, len(starts))), weight, members=members
        )
        model = Mixture(GroupedExperts(rows.model.experts, UNIT), rows.model.gate)
        return replace(rows, model=model, block=block, partition=rows.partition[:, starts])

    return build


@SEEDS
def test_the_bound_never_falls(gate_name, grouped, seeds):
    for seed in seeds:
        problem = grouped(gate_name, seed, weighted=bool(seed % 2), responses=1 + seed % 2)
        ascent = cavi(problem.model, problem.source(), problem.start(), max_iter=25)
        assert (np.diff(ascent.trace) >= -1e-9 * np.abs(ascent.trace[1:])).all()


def test_responsibilities_are_those_of_the_products_over_the_rows(gate_name, grouped):
    problem = grouped(gate_name)
    posterior, members = problem.posterior(), problem.block.members
    rows = problem.model.experts.experts.local(posterior.experts, members.rows)
    log_weight = problem.model.gate.local(posterior.gate, problem.block).expected_log_density
    log_weight = np.broadcast_to(log_weight, (3, problem.block.n_rows))
    found = problem.model.responsibilities(posterior, problem.block)
    for group, (start, size) in enumerate(zip(members.starts, members.sizes, strict=True)):
        terms = log_weight[:, group] + rows.expected_log_density[:, start : start + size].sum(1)
        assert_allclose(found[:, group], np.exp(terms - logsumexp(terms)), atol=1e-12)


def test_a_step_is_the_same_in_any_blocks(gate_name, grouped):
    problem = grouped(gate_name, weighted=True)
    posterior = problem.posterior()
    whole = problem.model.e_step(posterior, problem.block)
    parts = problem.source(4).map_reduce(lambda block: problem.model.e_step(posterior, block))
    assert_allclose(parts.to_vector(), whole.to_vector(), rtol=1e-10, atol=1e-10)


def test_groups_of_one_row_are_rows(gate_name, make_problem):
    rows = make_problem(gate_name, seed=1, weighted=True, responses=2)
    block, single = rows.block, np.arange(rows.block.n_rows)
    own = Block({"mean": block.designs["mean"]}, block.response)
    gating = {"gating": block.designs["gating"]}
    groups = Block(gating, block.response[:0], block.weight, members=Members(own, single))
    model = Mixture(GroupedExperts(rows.model.experts), rows.model.gate)
    posterior = rows.posterior()
    draws = model.draws(posterior, 5, np.random.default_rng(1))
    for said in (
        lambda one, b: one.e_step(posterior, b).to_vector(),
        lambda one, b: one.log_predictive(posterior, b),
        lambda one, b: one.log_lik(draws, b),
        lambda one, b: one.responses(draws, b, np.random.default_rng(2)),
        lambda one, b: _statistics(one.row_derivatives(posterior, b)),
    ):
        assert_allclose(said(model, groups), said(rows.model, block), rtol=1e-9, atol=1e-9)
        assert_allclose(said(model, block), said(rows.model, block), rtol=1e-12)


def _statistics(known: RowDerivatives | None) -> np.ndarray:
    if known is None:
        return np.zeros(0)
    return np.concatenate([known.statistics().ravel(), known.curvature(None).ravel()])


def test_derivatives_of_a_pass_are_those_of_differences(gate_name, grouped):
    problem = grouped(gate_name)
    ascent = cavi(problem.model, problem.source(), problem.start(), max_iter=300)
    known = choose_solver(problem.model, problem.source(), ascent.stats).whole()

    class Blind(Mixture):
        def row_derivatives(self, posterior, block):
            return None

    other = Blind(problem.model.experts, problem.model.gate)
    assert_allclose(known, choose_solver(other, problem.source(), ascent.stats).whole(), atol=2e-4)


def test_the_predictive_density_of_a_group_is_a_multivariate_t(grouped):
    problem = grouped("softmax", experts=1, terms=3)
    posterior, members = problem.posterior(), problem.block.members
    found = problem.model.log_predictive(posterior, problem.block)
    q = posterior.experts
    for group, (start, size) in enumerate(zip(members.starts, members.sizes, strict=True)):
        x = members.rows.designs["mean"][:, start : start + size].T
        y = members.rows.response[0, start : start + size]
        shape = q.rate[0, 0] / q.shape[0] * (np.eye(size) + x @ q.covariance[0] @ x.T)
        law = multivariate_t(x @ q.mean[0, 0], shape, df=2.0 * q.shape[0])
        assert found[group] == pytest.approx(law.logpdf(y) - size * UNIT, rel=1e-9)


def test_a_posterior_for_each_group_is_heeded(gate_name, grouped):
    problem = grouped(gate_name)
    before = problem.posterior()
    sums = problem.model.e_step(before, problem.block).stats
    stats = problem.model.global_step(before, sums)
    many = stats.with_vector(np.stack([stats.to_vector()] * problem.block.n_rows))
    by_group = problem.model.log_predictive(problem.model.update(many), problem.block)
    one = problem.model.log_predictive(problem.model.update(stats), problem.block)
    assert_allclose(by_group, one, rtol=1e-8)


def test_minibatches_are_of_whole_groups(grouped):
    problem = grouped("softmax")
    source = InMemorySource.of(problem.block)
    sizes = problem.block.members.sizes
    batches = list(source.minibatches(5, np.random.default_rng(1)))
    assert len(batches) == 5
    found = np.concatenate([batch.take(np.arange(5)).members.sizes for batch in batches])
    assert sorted(found) == sorted(sizes)


def test_every_verb_of_experts_is_passed_on():
    own = vars(GroupedExperts)
    missing = [
        name
        for name, _ in inspect.getmembers(AbstractExperts, inspect.isfunction)
        if not name.startswith("_") and name not in own and name != "log_predictive_of_groups"
    ]
    assert missing == []


def test_predictive_distributions_of_rows_are_scored_by_the_experts(unchecked):
    experts = SimpleNamespace(component_scores=lambda laws, block: (laws, block))
    assert GroupedExperts(experts).component_scores("laws", "rows") == ("laws", "rows")
