"""Every family of experts of a regression, under gates of each kind: bound and coordinates."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesvb as bvb
from bayesvb.data.response_columns import TRIALS
from bayesvb.data.sources import InMemorySource
from bayesvb.engines.cavi import cavi
from bayesvb.experts import EXPERTS
from bayesvb.models.mixture import Mixture
from bayesvb.sensitivity.covariance import linear_response

pytestmark = pytest.mark.quick(
    gate=("softmax", "dirichlet"),
    expert_kind=("gaussian, in noise", "gaussian, in response", "student, in noise"),
)

GATES_TRIED = ("softmax", "stick-breaking", "dirichlet")

STEP = 1e-4
"""Of differences in standard deviations of the posterior; their error is its square."""


@pytest.fixture(params=GATES_TRIED)
def gate(request):
    """A gate of each kind."""
    return request.param


@pytest.fixture(params=[1, 2])
def responses(request, expert_kind, experts_of):
    """One response and two, which are continuous."""
    if request.param > 1 and experts_of(expert_kind).response.kind != "continuous":
        pytest.skip("one response at a time")
    return request.param


@pytest.fixture
def make(make_problem, experts_of):
    """The random problems of all gates, a few rows far out, with experts of this kind.

    A discrete response has the nearest possible values, a positive one their exponentials; both
    come alone.
    """

    def build(expert_kind, gate, *, responses=1, terms=2, **options):
        described = experts_of(expert_kind).response
        responses = responses if described.kind == "continuous" else 1
        problem = make_problem(gate, responses=responses, terms=terms, **options)
        rng = np.random.default_rng(options["seed"] + 100)
        far = 8.0 * rng.standard_t(2.0, size=problem.block.response.shape)
        far *= rng.uniform(size=problem.block.response.shape) < 0.05
        values = problem.block.response + far
        if described.is_discrete:
            values = np.clip(np.round(values), *described.support)
        if described.kind == "positive":
            values = np.exp(0.3 * values)
        experts = experts_of(expert_kind, n_responses=responses, n_terms=terms)
        block = replace(problem.block, response=values)
        if described.kind == "successes":
            trials = np.maximum(values, 1.0) + rng.integers(0, 4, size=values.shape)
            block = replace(block, designs={**block.designs, TRIALS: trials})
        return replace(problem, model=Mixture(experts, problem.model.gate), block=block)

    return build


def bound_of(problem, stats):
    posterior = problem.model.update(stats)
    return problem.model.e_step(posterior, problem.block).bound - problem.model.kl(posterior)


# -- the table -----------------------------------------------------------------------------------


@pytest.mark.parametrize("family", EXPERTS)
def test_every_family_takes_the_default_prior(family, experts_of):
    experts = experts_of(f"{family}, in noise")
    assert experts.words.endswith(" regression")  # an s makes several of it


# -- the bound and the sums ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "seeds", [range(2), pytest.param(range(2, 6), marks=pytest.mark.heavy)], ids=["few", "more"]
)
def test_the_bound_never_falls(expert_kind, gate, make, seeds):
    for seed in seeds:
        rng = np.random.default_rng(seed)
        problem = make(
            expert_kind,
            gate,
            seed=seed,
            experts=int(rng.integers(1, 6)),
            rows=int(rng.integers(6, 200)),
            terms=int(rng.integers(1, 5)),
            responses=int(rng.integers(1, 3)),
            weighted=bool(rng.integers(0, 2)),
        )
        for accelerate in (False, True):
            ascent = cavi(
                problem.model, problem.source(), problem.start(), max_iter=25, accelerate=accelerate
            )
            assert (np.diff(ascent.trace) >= -1e-9 * np.abs(ascent.trace[1:])).all()
            assert ascent.bound == pytest.approx(bound_of(problem, ascent.stats), rel=1e-12)


def test_sums_add_over_any_split(expert_kind, gate, make, responses, total, rng):
    problem = make(expert_kind, gate, seed=1, responses=responses, weighted=True)
    q = problem.posterior()
    rows = rng.permutation(80)
    parts = [problem.block.take(some) for some in (rows[:13], rows[13:14], rows[14:])]
    whole = problem.model.e_step(q, problem.block)
    added = total([problem.model.e_step(q, part) for part in parts])
    assert added.bound == pytest.approx(whole.bound, rel=1e-12)
    assert_allclose(added.stats.to_vector(), whole.stats.to_vector(), rtol=1e-10, atol=1e-10)


def test_whole_weights_are_repeated_rows(expert_kind, gate, make, responses):
    problem = make(expert_kind, gate, seed=2, responses=responses, weighted=True)
    times = problem.block.weight.astype(int)
    rows = np.repeat(np.arange(80), times)
    repeated = replace(
        problem,
        block=replace(problem.block.take(rows), weight=None),
        partition=problem.partition[:, rows],
    )
    traces = [cavi(p.model, p.source(), p.start(), max_iter=12).trace for p in (problem, repeated)]
    assert_allclose(*traces, rtol=1e-9)


@pytest.mark.quick(responses=(2,))
def test_blocks_and_threads_are_the_whole(expert_kind, gate, make, responses):
    problem = make(expert_kind, gate, seed=3, responses=responses, weighted=True)
    whole, blocks, threads = (
        cavi(problem.model, problem.source(size, workers), problem.start(), max_iter=10)
        for size, workers in ((None, 1), (17, 1), (17, 2))
    )
    assert_allclose(blocks.trace, whole.trace, rtol=1e-9)
    assert_array_equal(threads.stats.to_vector(), blocks.stats.to_vector())


def test_no_change_of_the_statistics_gains_at_the_end(expert_kind, make):
    problem = make(expert_kind, "dirichlet", seed=4, experts=2, rows=120, responses=2)
    found = cavi(problem.model, problem.source(), problem.start(), tol=1e-11, max_iter=3000)
    rng, vector = np.random.default_rng(5), found.stats.to_vector()
    for _ in range(60):
        size = 10.0 ** rng.uniform(-5.0, -2.0)
        other = found.stats.with_vector(vector * (1.0 + size * rng.normal(size=len(vector))))
        try:
            assert bound_of(problem, other) <= found.bound + 1e-9 * abs(found.bound)
        except np.linalg.LinAlgError:
            continue


def test_a_new_labelling_keeps_the_bound(expert_kind, gate, make):
    problem, order = make(expert_kind, gate, seed=6, experts=4, responses=2), [2, 0, 3, 1]
    q = problem.posterior()
    stats = problem.model.global_step(q, problem.model.e_step(q, problem.block).stats)
    model, permuted = problem.model.permuted(order, stats)
    relabelled = replace(problem, model=model)
    assert bound_of(relabelled, permuted) == pytest.approx(bound_of(problem, stats), rel=1e-12)
    first, second = (
        mixture.experts.local(mixture.update(state).experts, problem.block).expected_log_density
        for mixture, state in ((problem.model, stats), (model, permuted))
    )
    assert_allclose(second, first[order], rtol=1e-10)


def test_one_component_has_all_rows(expert_kind, gate, make):
    problem = make(expert_kind, gate, seed=7, experts=1, weighted=True)
    found = cavi(problem.model, problem.source(), problem.start(), tol=1e-12)
    assert found.converged
    share = problem.model.responsibilities(problem.model.update(found.stats), problem.block)
    assert_allclose(share, 1.0, rtol=1e-12)
    if hasattr(found.stats.experts, "weight"):  # sums of some families have no weight of their own
        total = problem.block.weight.sum()
        assert_allclose(found.stats.experts.weight, total, rtol=1e-12)


def test_statistics_of_no_rows_are_refused(expert_kind, make):
    problem = make(expert_kind, "dirichlet", seed=8)
    stats = problem.start().experts
    with pytest.raises(np.linalg.LinAlgError):
        problem.model.experts.update(stats.with_vector(-stats.to_vector()))


# -- coordinates ---------------------------------------------------------------------------------


def with_coordinates(problem):
    """The posterior and its coordinates, if the experts have them."""
    q = problem.posterior()
    found = problem.model.experts.coordinates(q.experts)
    if found is None:
        pytest.skip("intervals of these experts stay mean-field")
    return q.experts, found


def test_coordinates_and_parameters_are_one_to_one(expert_kind, make, rng, responses):
    problem = make(expert_kind, "dirichlet", seed=9, responses=responses)
    q, coordinates = with_coordinates(problem)
    draws = problem.model.experts.draws(q, 50, rng)
    again = coordinates.parameters(coordinates.standard(draws))
    assert coordinates.size == coordinates.standard(draws).shape[1]
    assert coordinates.size == len(coordinates.perturbations())
    assert set(again) == set(draws)
    for name, values in draws.items():
        assert_allclose(again[name], values, rtol=1e-9, atol=1e-9)


def test_coordinates_of_draws_have_mean_zero_and_variance_one(expert_kind, make, rng, responses):
    problem = make(expert_kind, "dirichlet", seed=10, responses=responses)
    q, coordinates = with_coordinates(problem)
    standard = coordinates.standard(problem.model.experts.draws(q, 40_000, rng))
    assert_allclose(standard.mean(axis=0), 0.0, atol=5.0 / 200.0)
    assert_allclose(np.cov(standard.T), np.eye(standard.shape[1]), atol=0.06)


def test_density_of_draws_is_that_of_their_coordinates(expert_kind, make, rng):
    """The volume of the map turns one density into the other: for normal coefficients exactly."""
    problem = make(expert_kind, "dirichlet", seed=10, responses=2)
    q, coordinates = with_coordinates(problem)
    draws = problem.model.experts.draws(q, 2, rng)
    standard = coordinates.standard(draws)
    n_scaled = draws["coefficients"][0].size
    moved = standard.copy()
    moved[:, :n_scaled] = rng.normal(size=(2, n_scaled))
    there = coordinates.parameters(moved)
    change = problem.model.experts.log_density(q, there) - problem.model.experts.log_density(
        q, draws
    )
    change += coordinates.log_volume(there) - coordinates.log_volume(draws)
    expected = -0.5 * ((moved**2).sum(axis=1) - (standard**2).sum(axis=1))
    assert_allclose(change, expected, rtol=1e-8, atol=1e-8)


def along(problem, stats, directions, function):
    """Central differences of a function of the posterior along every direction."""
    vector = stats.to_vector()
    return np.array(
        [
            np.subtract(
                *(
                    function(problem.model.update(stats.with_vector(vector + step * direction)))
                    for step in (STEP, -STEP)
                )
            )
            / (2.0 * STEP)
            for direction in directions
        ]
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.quick(responses=(2,))
def test_sweeps_answer_as_linear_response_needs(expert_kind, gate, make, responses, weighted):
    """Tilts are standard; ``F'`` is self-adjoint for ``V``, and derivative of the bound."""
    problem = make(expert_kind, gate, seed=11, experts=2, responses=responses, weighted=weighted)
    model = problem.model
    with_coordinates(problem)
    stats = cavi(model, problem.source(), problem.start(), tol=1e-9, max_iter=2000).stats

    def expectations(q):
        return model.coordinates(q).expectations()

    def sweep(q):
        return model.gradient_stats(q, model.e_step(q, problem.block).stats).to_vector()

    def bound_and_sweep(q):
        step = model.e_step(q, problem.block)
        return np.append(step.bound, model.gradient_stats(q, step.stats).to_vector())

    tilts = model.coordinates(model.update(stats)).perturbations()
    metric = along(problem, stats, tilts, expectations)
    assert_allclose(metric @ tilts.T, np.eye(len(tilts)), atol=1e-5)
    bound, answers = np.split(along(problem, stats, tilts, bound_and_sweep), [1], axis=1)
    directions = np.concatenate([tilts, answers])
    metric = np.concatenate([metric, along(problem, stats, answers, expectations)])
    answers = np.concatenate([answers, along(problem, stats, answers, sweep)])
    symmetric = metric @ directions.T
    assert_allclose(symmetric, symmetric.T, atol=1e-5 * np.abs(symmetric).max())
    adjoint = metric @ answers.T
    assert_allclose(adjoint, adjoint.T, atol=1e-5 * np.abs(adjoint).max())
    gradient = metric[: len(tilts)] @ sweep(model.update(stats))
    assert_allclose(bound[:, 0], gradient, atol=1e-5 * np.abs(gradient).max())


@pytest.mark.quick(responses=(2,))
def test_linear_response_widens_what_depends_on_labels(expert_kind, gate, make, responses):
    problem = make(expert_kind, gate, seed=12, experts=2, rows=250, responses=responses)
    with_coordinates(problem)
    stats = cavi(problem.model, problem.source(), problem.start(), tol=1e-9, max_iter=4000).stats
    found = linear_response(problem.model, problem.source(), stats)
    assert found.failure is None
    assert np.linalg.eigvalsh(found.covariance)[0] > 0.0
    assert np.diag(found.covariance).max() > 1.001
    assert np.diag(found.covariance).min() > 0.99


def test_sources_are_read_in_any_order(expert_kind, make, rng):
    """Rows in another order make the same fit."""
    problem = make(expert_kind, "softmax", seed=13)
    rows = rng.permutation(80)
    other = replace(problem, block=problem.block.take(rows), partition=problem.partition[:, rows])
    traces = [
        cavi(p.model, InMemorySource((p.block,)), p.start(), max_iter=10).trace
        for p in (problem, other)
    ]
    assert_allclose(*traces, rtol=1e-9)


@pytest.mark.parametrize("family", ["gamma", "negbinomial", "weibull"])
def test_slopes_of_rows_are_differences(family, rng):
    """In the predictor and in the log of the further parameter, also of censored rows."""
    y, step = rng.gamma(2.0, 2.0, 12), 1e-6
    data = {"y": np.ceil(y) if family == "negbinomial" else y, "s": np.arange(12) % 3 != 0}
    formula = "Surv(y, s) ~ 1" if family == "weibull" else "y ~ 1"
    model = bvb.DensityRegression(formula, data, n_components=1, family=family)
    experts, block = model.core.experts, model.source.whole()
    predictor, log_values = rng.normal(size=(4, 1, 12)), rng.normal(size=(4, 1, 1))

    def density(change, change_of_log):
        values = np.exp(log_values + change_of_log)
        return experts.slopes_of_rows(block, predictor + change, values)[0]

    _, *found = experts.slopes_of_rows(block, predictor, np.exp(log_values))
    for slope, way in zip(found, np.eye(2), strict=True):
        difference = density(*(step * way)) - density(*(-step * way))
        assert_allclose(slope, difference / (2.0 * step), rtol=1e-5, atol=1e-7)
