"""The lower bound of a network: written out, monotone, stationary after every exact step."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayesvb.engines.cavi import cavi
from bayesvb.linear.precisions import DensePrecision

KINDS = ("classes", "responses")
WAYS = {
    "full": {},
    "diagonal": {"covariance": "diagonal"},
    "mean-field": {"conditional": False},
    "mean-field diagonal": {"conditional": False, "covariance": "diagonal"},
}
MANY_PASSES = 400
"""Inner steps until nothing moves: every step is then exact, whatever the way."""

SMALL = {"rows": 7, "terms": 3, "gate_terms": 2, "experts": 3, "latents": 2}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_bound_is_the_formula_written_out(make_problem, oracle, kind, way, weighted):
    for seed in range(3):
        problem = make_problem(kind, seed, weighted=weighted, options=WAYS[way], rows=9)
        q = problem.posterior()
        fast = problem.model.e_step(q, problem.block).bound - problem.model.kl(q)
        assert_allclose(fast, oracle.bound(problem, q, oracle.variables(problem, q)), rtol=1e-10)


@pytest.mark.heavy
@pytest.mark.parametrize("kind", KINDS)
def test_plain_sweeps_never_lower_the_bound_on_100_random_problems(make_problem, kind):
    """With the default number of inner steps from a fresh start in every pass."""
    for seed in range(100):
        bounds = bounds_of_plain_sweeps(make_problem(kind, seed))
        assert (np.diff(bounds) > -1e-10 * np.abs(bounds[1:])).all(), seed


def bounds_of_plain_sweeps(problem, sweeps=15):
    q, bounds = problem.start(), []
    for _ in range(sweeps):
        sweep = problem.model.e_step(q, problem.block)
        bounds.append(sweep.bound - problem.model.kl(q))
        q = problem.model.update(sweep.stats)
    return np.array(bounds)


@pytest.mark.parametrize("kind", KINDS)
def test_independent_entries_never_lower_the_bound_either(make_problem, kind):
    for seed in range(25):
        problem = make_problem(kind, seed, options=WAYS["diagonal"])
        bounds = bounds_of_plain_sweeps(problem)
        assert (np.diff(bounds) > -1e-9 * np.abs(bounds[1:])).all()


@pytest.mark.heavy
@pytest.mark.parametrize("kind", KINDS)
def test_mean_field_rarely_lowers_the_bound_and_the_engine_never(make_problem, kind):
    """Component and latent vector of a row have several optima; a fresh start may find another."""
    falls = 0
    for seed in range(25):
        problem = make_problem(kind, seed, options=WAYS["mean-field"])
        falls += (np.diff(bounds_of_plain_sweeps(problem)) < -1e-9).sum()
        stats = problem.model.e_step(problem.start(), problem.block).stats
        trace = cavi(problem.model, problem.source(), stats, max_iter=15).trace
        assert (np.diff(trace) >= -1e-12 * np.abs(trace[1:])).all()
    print(falls)
    assert falls < 0.05 * 25 * 14


def perturbations(rng, value, *, symmetric=False, scale=1.0):
    """Random directions in the space of a variable."""
    for _ in range(4):
        direction = rng.normal(size=value.shape) * scale
        yield 0.5 * (direction + np.swapaxes(direction, -1, -2)) if symmetric else direction


def assert_stationary(bound, at, directions):
    """No direction raises the bound, to first order; in every one of them it bends down."""
    middle = bound(at)
    for direction in directions:
        step = 1e-4
        up, down = bound(at + step * direction), bound(at - step * direction)
        curvature = (up + down - 2 * middle) / step**2
        assert curvature < 0.0
        assert abs(up - down) / (2 * step) < 1e-5 * max(abs(curvature), 1.0)


@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_is_zero_after_every_step_of_the_rows(make_problem, oracle, kind, rng):
    problem = make_problem(kind, 3, **SMALL)
    if kind == "classes":
        problem = problem.with_output(passes=MANY_PASSES)
    q = problem.posterior()
    at = oracle.variables(problem, q)
    for name in at.keys() - {"r"}:
        scale = 0.1 * np.linalg.norm(at[name]) / at[name].size
        assert_stationary(
            lambda value, name=name: oracle.bound(problem, q, at | {name: value}),
            at[name],
            perturbations(rng, at[name], symmetric=name == "S", scale=scale),
        )
    noise = perturbations(rng, at["r"])
    directions = [at["r"] * (one - (at["r"] * one).sum(axis=0)) for one in noise]
    assert_stationary(lambda r: oracle.bound(problem, q, at | {"r": r}), at["r"], directions)


def moved(q, part, name, value):
    """Posterior with one array of one part replaced."""
    if name == "covariance":
        name, value = "operator", DensePrecision(np.linalg.inv(value))
    return replace(q, **{part: replace(getattr(q, part), **{name: value})})


@pytest.mark.parametrize("kind", KINDS)
def test_the_gradient_is_zero_after_every_step_of_the_parameters(make_problem, oracle, kind, rng):
    problem = make_problem(kind, 4, **SMALL)
    before = problem.posterior()
    rows = oracle.variables(problem, before)
    q = problem.model.update(problem.model.e_step(before, problem.block).stats)
    blocks = [("experts", "mean"), ("experts", "covariance"), ("experts", "shape")]
    blocks += [("experts", "rate"), ("gate", "mean"), ("gate", "covariance")]
    blocks += [("output", "mean"), ("output", "covariance")]
    if kind == "responses":
        blocks += [("output", "shape"), ("output", "rate")]
    for part, name in blocks:
        at = getattr(getattr(q, part), name)
        assert_stationary(
            lambda value, part=part, name=name: oracle.bound(
                problem, moved(q, part, name, value), rows
            ),
            at,
            perturbations(rng, at, symmetric=name == "covariance", scale=0.1 * np.abs(at).mean()),
        )


@pytest.mark.parametrize("seed", range(3))
def test_two_inner_steps_are_nearly_as_good_as_any_number(make_problem, seed):
    """Per row, what the fixed number leaves to be gained is far below what a fit can see."""
    problem = make_problem("classes", seed, rows=60)
    q = problem.posterior(sweeps=8)
    many = problem.with_output(passes=MANY_PASSES)
    best = many.model.e_step(q, problem.block).bound
    found = problem.model.e_step(q, problem.block).bound
    assert -1e-9 * abs(best) < best - found < 1e-5 * problem.block.n_rows


@pytest.mark.parametrize("kind", KINDS)
def test_more_freedom_of_the_latent_posterior_never_lowers_the_bound(make_problem, kind):
    for seed in range(5):
        problem = make_problem(kind, seed)
        q = problem.posterior()
        bound = {
            way: problem.with_output(**options, passes=MANY_PASSES)
            .model.e_step(q, problem.block)
            .bound
            for way, options in WAYS.items()
        }
        bound_gap = 1e-8 * abs(bound["full"])
        assert bound["full"] > max(bound["diagonal"], bound["mean-field"]) - bound_gap
        assert (
            min(bound["diagonal"], bound["mean-field"]) > bound["mean-field diagonal"] - bound_gap
        )


def leaves(sweep):
    return {"bound": sweep.bound, **dict(sweep.stats.leaves())}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_blocks_and_the_whole_agree_to_rounding(make_problem, kind, way):
    problem = make_problem(kind, 5, rows=53, options=WAYS[way], weighted=True)
    q = problem.posterior()
    whole = leaves(problem.model.e_step(q, problem.block))
    for size in (1, 7, 52):
        blocks = problem.source(size).map_reduce(lambda block: problem.model.e_step(q, block))
        for name, value in leaves(blocks).items():
            scale = np.abs(whole[name]).max()
            assert_allclose(value, whole[name], rtol=1e-11, atol=1e-12 * scale, err_msg=name)


@pytest.mark.parametrize("kind", KINDS)
def test_threads_change_no_bit(make_problem, kind):
    problem = make_problem(kind, 6, rows=59)
    q = problem.posterior()

    def local(block):
        return problem.model.e_step(q, block)

    one = problem.source(5).map_reduce(local)
    three = problem.source(5, workers=3).map_reduce(local)
    for name, value in leaves(one).items():
        assert np.array_equal(value, leaves(three)[name]), name


@pytest.mark.parametrize("kind", KINDS)
def test_a_weight_counts_like_repeated_rows(make_problem, kind):
    problem = make_problem(kind, 7, weighted=True)
    rows = np.repeat(np.arange(problem.block.n_rows), problem.block.weight.astype(int))
    repeated = replace(problem.block.take(rows), weight=None)
    q = problem.posterior()
    weighted, copied = (leaves(problem.model.e_step(q, b)) for b in (problem.block, repeated))
    for name, value in weighted.items():
        assert_allclose(value, copied[name], rtol=1e-10, atol=1e-10, err_msg=name)


@pytest.mark.parametrize("kind", KINDS)
def test_one_design_for_gate_and_experts_counts_like_two_that_are_equal(make_problem, kind):
    problem = make_problem(kind, 4, weighted=True, terms=3, gate_terms=3)
    design, twin = problem.block.designs["mean"], problem.block.designs["mean"].copy()
    blocks = [
        replace(problem.block, designs={"mean": design, "gating": gating})
        for gating in (design, twin)
    ]
    q = replace(problem, block=blocks[1]).posterior()
    one, two = (problem.model.e_step(q, block) for block in blocks)
    assert_allclose(one.bound, two.bound, rtol=1e-12)
    assert_allclose(one.stats.to_vector(), two.stats.to_vector(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_kept_products_change_nothing(make_problem, kind):
    problem = make_problem(kind, 8)
    q = problem.posterior()
    plain, kept = (
        leaves(problem.model.e_step(q, b)) for b in (problem.block, problem.block.with_products())
    )
    for name, value in plain.items():
        assert_allclose(value, kept[name], rtol=1e-14, err_msg=name)


@pytest.mark.parametrize("kind", KINDS)
def test_a_partition_is_a_start(make_problem, kind, rng):
    problem = make_problem(kind, 9, experts=3)
    partition = rng.dirichlet(np.ones(3), size=problem.block.n_rows).T.copy()
    whole = problem.model.partition_stats(problem.block, partition)
    half = problem.block.n_rows // 2
    first = problem.model.partition_stats(problem.block.part(0, half), partition[:, :half])
    rest = problem.block.part(half, problem.block.n_rows)
    split = first + problem.model.partition_stats(rest, partition[:, half:])
    assert_allclose(split.to_vector(), whole.to_vector(), rtol=1e-10, atol=1e-10)
    q = problem.model.update(whole)
    assert np.isfinite(problem.model.e_step(q, problem.block).bound - problem.model.kl(q))
