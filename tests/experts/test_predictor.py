"""Likelihoods of one linear predictor: steps, optima, derivatives and offsets, family by family."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayesvb.data.blocks import Block
from bayesvb.data.response_columns import TRIALS
from bayesvb.data.sources import InMemorySource
from bayesvb.engines.cavi import cavi
from bayesvb.experts import EXPERTS
from bayesvb.experts.dispersed_predictor import AbstractDispersedExperts
from bayesvb.experts.predictor import AbstractPredictorExperts, in_moments
from bayesvb.experts.regression import RegressionPrior
from bayesvb.factors.log_grid import GridLaw
from bayesvb.factors.normal import Normal
from bayesvb.gates import GATES
from bayesvb.gates.base import GatePrior
from bayesvb.models.mixture import Mixture

PRIOR = RegressionPrior(1, 3, 2.0, True, 1.0, 1.0)

FAMILIES = [
    name for name, make in EXPERTS.items() if isinstance(make(PRIOR), AbstractPredictorExperts)
]

DISPERSED = [
    name for name, make in EXPERTS.items() if isinstance(make(PRIOR), AbstractDispersedExperts)
]


@pytest.fixture(params=FAMILIES)
def family(request):
    return request.param


def problem(family, seed, *, components=1, steepness=2.0):
    """Rows with an offset and case weights, whose predictor may be large, and their model."""
    rng = np.random.default_rng(seed)
    n_rows, n_terms = int(rng.integers(5, 120)), int(rng.integers(1, 5))
    x = np.vstack([np.ones(n_rows), rng.normal(size=(n_terms - 1, n_rows))])
    slopes = steepness * rng.normal(size=(1, 1, 1, n_terms)) / np.sqrt(n_terms)
    offset = 0.5 * rng.normal(size=n_rows) if rng.random() < 0.5 else None
    weight = rng.integers(0, 4, n_rows).astype(float) if rng.random() < 0.5 else None
    experts = EXPERTS[family](replace(PRIOR, n_terms=n_terms))
    designs = {"mean": x, "gating": x[:2], TRIALS: rng.integers(1, 12, (1, n_rows)).astype(float)}
    block = Block(designs, np.zeros((1, n_rows)), weight, offset)
    draws = {"coefficients": slopes}
    if isinstance(experts, AbstractDispersedExperts):
        draws[experts.dispersion_name] = np.exp(rng.uniform(-1.0, 3.0, size=(1, 1)))
    y = experts.responses(draws, np.zeros((1, n_rows), dtype=int), block, rng)[0]
    block = replace(block, response=y)
    prior = Normal.from_precision(np.zeros(len(x[:2])), np.eye(len(x[:2])))
    gate = GATES["softmax"].from_prior(components, GatePrior(prior, np.eye(len(x[:2]))[0], 1.0))
    model = Mixture(experts, gate)
    shares = rng.dirichlet(np.ones(components), n_rows).T.copy()
    return model, block, model.first_stats(model.partition_stats(block, shares))


def responses_at(experts, predictor, rng):
    """Rows with these predictors, and numbers of trials where the family reads them."""
    trials = rng.integers(1, 12, size=(1, predictor.shape[-1])).astype(float)
    block = Block({TRIALS: trials}, np.zeros((1, predictor.shape[-1])))
    return replace(block, response=experts.simulate(block, predictor, rng)[0])


def bound(model, block, stats):
    """Minus infinity where a step is so long that there is no posterior."""
    try:
        posterior = model.update(stats)
    except np.linalg.LinAlgError:
        return -np.inf
    return model.e_step(posterior, block).bound - model.kl(posterior)


def following(model, block, stats):
    posterior = model.update(stats)
    return model.global_step(posterior, model.e_step(posterior, block).stats)


@pytest.mark.parametrize(
    "seeds", [range(8), pytest.param(range(8, 208), marks=pytest.mark.heavy)], ids=["few", "many"]
)
@pytest.mark.parametrize("family", FAMILIES + DISPERSED)
def test_steps_that_are_short_enough_raise_the_elbo(family, seeds):
    """The safeguarded step: halved until the ELBO does not fall, it always gets there."""
    halved = steps = 0
    for seed in seeds:
        model, block, stats = problem(family, seed, components=1 + seed % 3)
        value = bound(model, block, stats)
        for _ in range(8):
            ahead, before = following(model, block, stats), value
            for halving in range(12):
                share = 0.5**halving
                moved = (1.0 - share) * stats + share * ahead
                value = bound(model, block, moved)
                if value >= before - 1e-10 * abs(before):
                    break
                halved += 1
            assert value >= before - 1e-10 * abs(before), (seed, halving)
            stats, steps = moved, steps + 1
    assert halved < 0.2 * steps


def test_the_gradient_is_zero_at_the_optimum(family):
    """In mean and covariance of the coefficients, by differences of the ELBO."""
    model, block, stats = problem(family, 3)
    stats = cavi(model, InMemorySource((block,)), stats, tol=1e-13).stats
    q = model.update(stats).experts
    experts = model.experts

    def value(mean, covariance):
        posterior = Normal.from_precision(mean, np.linalg.inv(covariance))
        local = experts.local(posterior, block).expected_log_density
        return block.weighted(local).sum() - experts.kl(posterior)

    rng, step = np.random.default_rng(0), 1e-4
    sds = np.sqrt(np.diagonal(q.covariance[0]))
    for _ in range(5):
        mean = sds * rng.normal(size=q.mean.shape)
        root = rng.normal(size=(len(sds), 1)) * sds[:, None]
        spread = (root @ root.T)[None]
        for shift, change in ((mean, 0.0 * spread), (0.0 * mean, spread)):
            ends = [value(q.mean + a * shift, q.covariance + a * change) for a in (step, -step)]
            assert abs(ends[0] - ends[1]) / (2.0 * step) < 1e-5


@pytest.mark.parametrize("family", DISPERSED)
def test_nodes_that_are_left_out_have_no_part_in_the_optimum(family, monkeypatch):
    """Of rows that count fifty times the posterior is narrow; half of the nodes are left out."""
    model, block, start = problem(family, 2, steepness=0.5)
    block = replace(block, weight=np.full(block.n_rows, 50.0))
    start = model.first_stats(model.partition_stats(block, np.ones((1, block.n_rows))))
    found = cavi(model, InMemorySource((block,)), start, tol=1e-11)
    some = model.update(found.stats).experts.dispersion.near
    assert some.sum() < 0.6 * model.experts.dispersion.n_nodes
    monkeypatch.setattr(GridLaw, "near", property(lambda law: np.ones_like(law.active)))
    exact = cavi(model, InMemorySource((block,)), start, tol=1e-11)
    assert exact.bound == pytest.approx(found.bound, rel=1e-12, abs=1e-8)
    each = [model.update(one.stats).experts for one in (found, exact)]
    assert_allclose(*(q.coefficients.mean for q in each), rtol=1e-5)
    assert_allclose(*(q.dispersion.sd_log for q in each), rtol=1e-6)


def test_expected_derivatives_are_those_of_the_expectation(family, rng):
    """By differences in the mean; in the variance half of the second in the mean."""
    experts = EXPERTS[family](PRIOR)
    mean, variance = rng.normal(size=(2, 7)), rng.uniform(0.05, 1.5, size=(2, 7))
    block, step = responses_at(experts, rng.normal(size=(1, 1, 7)), rng), 1e-4

    def at(d_mean, d_variance):
        return experts.expected(block, mean + d_mean, variance + d_variance, all_orders=True)

    here, up, down = at(0.0, 0.0), at(step, 0.0), at(-step, 0.0)
    assert_allclose(here.slope, (up.value - down.value) / (2 * step), atol=1e-6, rtol=1e-6)
    assert_allclose(-here.curvature, (up.slope - down.slope) / (2 * step), atol=1e-6, rtol=1e-6)
    third = (down.curvature - up.curvature) / (2 * step)
    assert_allclose(here.third, third, atol=1e-6, rtol=1e-6)
    assert_allclose(here.fourth, (up.third - down.third) / (2 * step), atol=1e-6, rtol=1e-6)
    wide, narrow = at(0.0, step), at(0.0, -step)
    slope = (wide.value - narrow.value) / step
    assert_allclose(-here.curvature, slope, atol=1e-6, rtol=1e-6)


def test_derivatives_in_moments_are_those_of_the_expectation(rng):
    """By differences in ``-E v^2 / 2`` and in ``E v`` of two experts, ``v`` without the offset."""
    experts, step = EXPERTS["poisson"](PRIOR), 1e-4
    known, variance = rng.normal(size=(2, 5)), rng.uniform(0.2, 1.5, size=(2, 5))
    block = replace(responses_at(experts, known[None, :1], rng), offset=rng.normal(size=5))
    centre, shares = np.concatenate([-0.5 * (variance + known**2), known]), np.array([0.3, 0.7])
    rates = shares[:, None] * np.ones(5)

    def value(*moves):
        square, mean = np.split(centre + sum(moves), 2)
        spread = -2.0 * square - mean**2
        return experts.expected(block, mean + block.offset, spread).value

    found = experts.expected(block, known + block.offset, variance, all_orders=True)
    slopes, bends = in_moments(found, known, rates)
    assert slopes.shape == (2, 4, 5) and bends.shape == (4, 4, 5)
    shifts = step * np.eye(4)[:, :, None]
    for i, one in enumerate(shifts):
        assert_allclose(slopes[:, i], (value(one) - value(-one)) / (2.0 * step), atol=1e-5)
        for j, other in enumerate(shifts):
            rise = value(one, other) - value(one, -other) - value(-one, other) + value(-one, -other)
            second = (rates * rise).sum(axis=0) / (4.0 * step**2)
            assert_allclose(bends[i, j], second, rtol=1e-4, atol=1e-4)


def test_the_expected_log_density_is_the_mean_over_draws(family, rng):
    experts = EXPERTS[family](PRIOR)
    mean, variance = np.array([[-0.4, 0.8]]), np.array([[0.3, 1.1]])
    block = responses_at(experts, mean[None], rng)
    u = mean + np.sqrt(variance) * rng.normal(size=(40_000, 1, 2))
    drawn = experts.log_mass(block, u)[:, 0]
    error = 4.5 * drawn.std(axis=0) / 200.0
    found = experts.expected(block, mean, variance).value[0]
    assert (np.abs(drawn.mean(axis=0) - found) < error).all()


def test_an_offset_is_a_column_whose_coefficient_is_known(family):
    """One more term with a coefficient of one, held by its prior."""
    model, block, _ = problem(family, 11, steepness=1.0)
    rng = np.random.default_rng(4)
    offset = rng.normal(size=block.n_rows)
    n_terms = len(block.designs["mean"])
    precision = np.eye(n_terms + 1) / 4.0
    precision[-1, -1] = 1e8
    held = Normal.from_precision(np.eye(n_terms + 1)[-1], precision)
    columns = np.vstack([block.designs["mean"], offset])
    cases = (
        (model.experts, replace(block, offset=offset)),
        (replace(model.experts, prior=held), replace(block, designs={
            **block.designs, "mean": columns}, offset=None)),
    )  # fmt: skip
    means = []
    for experts, rows in cases:
        one = replace(model, experts=experts)
        start = one.first_stats(one.partition_stats(rows, np.ones((1, block.n_rows))))
        found = cavi(one, InMemorySource((rows,)), start, tol=1e-12)
        means.append(one.update(found.stats).experts.mean[0, :n_terms])
    assert_allclose(*means, atol=1e-5)


@pytest.mark.parametrize("family", DISPERSED)
def test_runs_start_at_the_prior_median_of_the_positive_parameter(family):
    model, block, _ = problem(family, 3)
    stats = model.experts.partition_stats(np.ones((1, block.n_rows)), block)
    dispersion = model.experts.dispersion
    found = dispersion.posterior(stats.nodes).mean_log
    assert_allclose(found, dispersion.centre, atol=0.01)
