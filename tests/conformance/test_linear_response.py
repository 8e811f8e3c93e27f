"""Linear response for every gate: against tilted optima, exact posteriors and itself."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import root
from scipy.special import polygamma

from bayesvb.data.blocks import Block
from bayesvb.data.sources import InMemorySource
from bayesvb.engines.cavi import cavi
from bayesvb.experts.linear import LinearExperts
from bayesvb.factors import MatrixNormalGamma, Normal
from bayesvb.gates import GATES
from bayesvb.gates.base import GatePrior
from bayesvb.models.mixture import Mixture
from bayesvb.sensitivity import covariance as engine
from bayesvb.sensitivity.covariance import linear_response

pytestmark = pytest.mark.quick(gate_name=("softmax", "stick-breaking", "dirichlet"))

STEP = 1e-3


def settled(problem, tol=1e-12):
    """Statistics at a maximum of the bound."""
    return cavi(problem.model, problem.source(), problem.start(), tol=tol, max_iter=4000).stats


def sweep(problem, stats):
    """Statistics one undamped sweep on."""
    posterior = problem.model.update(stats)
    found = problem.model.e_step(posterior, problem.block).stats
    return problem.model.gradient_stats(posterior, found)


def tilted_expectations(problem, stats, tilt):
    """Expectations where ``exp(tilt)`` multiplies the exact posterior."""
    start = stats.to_vector()
    size = 1.0 + np.abs(start)

    def gap(change):
        state = start + size * change
        return (sweep(problem, stats.with_vector(state)).to_vector() + tilt - state) / size

    found = root(gap, np.zeros_like(start), tol=1e-12)
    state = stats.with_vector(start + size * found.x)
    return problem.model.coordinates(problem.model.update(state)).expectations()


def tilts_of(problem, stats):
    return problem.model.coordinates(problem.model.update(stats)).perturbations()


def expectation_change(problem, stats, direction):
    """``V u`` by differences of the expectations."""
    ahead, behind = (
        problem.model.coordinates(
            problem.model.update(stats.with_vector(stats.to_vector() + sign * STEP * direction))
        ).expectations()
        for sign in (1.0, -1.0)
    )
    return (ahead - behind) / (2.0 * STEP)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("responses", [1, 2])
def test_stand_ins_of_the_coordinates_are_uncorrelated_with_variance_one(
    gate_name, make_problem, seed, responses
):
    problem = make_problem(gate_name, seed=seed, responses=responses)
    stats = problem.start()
    perturbations = tilts_of(problem, stats)
    covariance = (
        np.array([expectation_change(problem, stats, tilt) for tilt in perturbations])
        @ perturbations.T
    )
    assert_allclose(covariance, np.eye(len(perturbations)), atol=3e-6)


@pytest.mark.parametrize("weighted", [False, True])
def test_an_undamped_sweep_is_the_derivative_of_the_rows_part_of_the_bound(
    gate_name, make_problem, weighted
):
    problem = make_problem(gate_name, seed=3, weighted=weighted)
    posterior = problem.posterior()
    state = problem.model.global_step(
        posterior, problem.model.e_step(posterior, problem.block).stats
    )
    derivative = sweep(problem, state).to_vector()
    rng = np.random.default_rng(4)
    perturbations = tilts_of(problem, state)
    for mix in rng.normal(size=(5, len(perturbations))):
        direction = mix @ perturbations / np.linalg.norm(mix)
        bounds = [
            problem.model.e_step(
                problem.model.update(
                    state.with_vector(state.to_vector() + sign * STEP * direction)
                ),
                problem.block,
            ).bound
            for sign in (1.0, -1.0)
        ]
        expected = derivative @ expectation_change(problem, state, direction)
        assert (bounds[0] - bounds[1]) / (2.0 * STEP) == pytest.approx(expected, abs=2e-4)


def test_the_covariance_is_the_change_of_tilted_optima(gate_name, make_problem):
    problem = make_problem(gate_name, seed=5, experts=2, rows=150)
    stats = settled(problem)
    found = linear_response(problem.model, problem.source(), stats)
    assert found.failure is None
    perturbations = tilts_of(problem, stats)
    # Steps of differences leave 4e-5, those of constant weights 7e-4 (measured); directions
    # shorter than SMALLEST_NORM and rounds below SETTLED less.
    most = 1e-4 if isinstance(problem.model.gate.prior, Normal) else 1e-3
    for mix in np.random.default_rng(1).normal(size=(2, len(perturbations))):
        ahead, behind = (
            tilted_expectations(problem, stats, sign * STEP * mix @ perturbations)
            for sign in (1.0, -1.0)
        )
        expected = perturbations @ (ahead - behind) / (2.0 * STEP)
        assert_allclose(found.covariance @ mix, expected, atol=most * np.abs(expected).max())


def test_the_covariance_is_symmetric_and_positive_definite(gate_name, make_problem):
    problem = make_problem(gate_name, seed=6, rows=200)
    found = linear_response(problem.model, problem.source(), settled(problem))
    assert found.failure is None
    assert_allclose(found.covariance, found.covariance.T, atol=1e-12)
    assert np.linalg.eigvalsh(found.covariance)[0] > 0.0


@pytest.mark.parametrize("weighted", [False, True])
def test_second_derivatives_of_rows_are_differences_of_passes(
    gate_name, make_problem, weighted, monkeypatch
):
    problem = make_problem(gate_name, seed=8, rows=150, experts=2, responses=2, weighted=weighted)
    stats = settled(problem)
    by_rows = linear_response(problem.model, problem.source(40), stats)
    monkeypatch.setattr(engine, "_by_row", lambda *_: None)
    by_passes = linear_response(problem.model, problem.source(), stats)
    assert_allclose(by_rows.covariance, by_passes.covariance, atol=1e-3)
    known = problem.model.row_derivatives(problem.model.update(stats), problem.block)
    assert (by_rows.n_iter < by_passes.n_iter) == (known is not None)
    if known is not None:
        change = np.random.default_rng(2).normal(size=(3, known.n_entries))
        matrix = known.curvature(problem.block.weight)
        assert_allclose(known.curved(change, problem.block.weight), change @ matrix, rtol=1e-9)


@pytest.mark.parametrize("workers", [1, 2])
def test_blocks_are_the_whole(gate_name, make_problem, workers):
    problem = make_problem(gate_name, seed=7, rows=120)
    stats = settled(problem)
    whole = linear_response(problem.model, problem.source(), stats)
    parts = linear_response(problem.model, problem.source(17, workers), stats)
    # Rounding of sums is divided by the step of the differences.
    assert_allclose(parts.covariance, whole.covariance, rtol=1e-6, atol=1e-7)


def test_labels_do_not_matter(gate_name, make_problem, rng):
    problem = make_problem(gate_name, seed=8, rows=150)
    stats = settled(problem)
    order = [2, 0, 1]
    model, other = problem.model.permuted(order, stats)
    draws = []
    for mixture, state in ((problem.model, stats), (model, other)):
        q = mixture.update(state)
        standard = np.random.default_rng(1).normal(size=(4000, len(tilts_of(problem, stats))))
        drawn = mixture.coordinates(q).parameters(standard)
        moved, _ = linear_response(mixture, problem.source(), state).move(mixture, q, drawn)
        draws.append(np.cov(moved["coefficients"].reshape(4000, 3, -1)[:, :, 0].T))
    assert_allclose(draws[1], draws[0][np.ix_(order, order)], rtol=0.15, atol=0.02)


def test_one_component_has_its_exact_posterior(gate_name, make_problem):
    problem = make_problem(gate_name, seed=9, experts=1, terms=3)
    if gate_name == "stick-breaking relabelled":
        pytest.skip("one component has one order")
    stats = settled(problem)
    found = linear_response(problem.model, problem.source(), stats)
    experts = problem.model.update(stats).experts
    n_own = experts.mean.size + experts.rate.size
    assert_allclose(found.covariance[:n_own, :n_own], np.eye(n_own), atol=1e-6)
    draws = problem.model.draws(problem.model.update(stats), 60_000, np.random.default_rng(1))
    moved, _ = found.move(problem.model, problem.model.update(stats), draws)
    coefficients = moved["coefficients"][:, 0, 0]
    exact = experts.covariance[0] * experts.rate[0, 0] / (experts.shape[0] - 1.0)
    assert_allclose(np.cov(coefficients.T), exact, atol=0.03 * np.abs(exact).max())
    spread = np.log(moved["precision"][:, 0, 0]).var()
    assert spread == pytest.approx(polygamma(1, experts.shape[0]), rel=0.03)


def test_coordinates_and_parameters_are_one_to_one(gate_name, make_problem, rng):
    problem = make_problem(gate_name, seed=10, responses=2)
    q = problem.posterior()
    coordinates = problem.model.coordinates(q)
    draws = problem.model.draws(q, 50, rng)
    again = coordinates.parameters(coordinates.standard(draws))
    for name, values in draws.items():
        assert_allclose(again[name], values, rtol=1e-9, atol=1e-9)


def test_the_number_of_coordinates_is_that_of_tilts(gate_name, make_problem):
    problem = make_problem(gate_name, seed=10, responses=2)
    coordinates = problem.model.coordinates(problem.posterior())
    assert coordinates.size == len(coordinates.perturbations())


def test_coordinates_of_draws_have_mean_zero_and_variance_one(gate_name, make_problem, rng):
    problem = make_problem(gate_name, seed=11)
    q = problem.posterior()
    standard = problem.model.coordinates(q).standard(problem.model.draws(q, 40_000, rng))
    assert_allclose(standard.mean(axis=0), 0.0, atol=5.0 / 200.0)
    assert_allclose(np.cov(standard.T), np.eye(standard.shape[1]), atol=0.06)


def flat(draws):
    """Free parameters of the only draw: one weight less than a Dirichlet has."""
    gate = draws["gate"][0]
    free = gate[:-1] if gate.ndim == 1 else gate
    parts = (draws["coefficients"][0], draws["precision"][0], free)
    return np.concatenate([np.ravel(part) for part in parts])


def test_log_volume_is_the_determinant_of_the_map(gate_name, make_problem, rng):
    problem = make_problem(gate_name, seed=12)
    q = problem.posterior()
    coordinates = problem.model.coordinates(q)
    found, expected = [], []
    for standard in rng.normal(size=(3, 1, tilts_of(problem, problem.start()).shape[0])):
        response_coordinates = 1e-5 * np.eye(standard.shape[1])
        columns = [
            flat(coordinates.parameters(standard + move))
            - flat(coordinates.parameters(standard - move))
            for move in response_coordinates
        ]
        expected.append(np.linalg.slogdet(np.array(columns) / 2e-5)[1])
        found.append(coordinates.log_volume(coordinates.parameters(standard))[0])
    assert_allclose(np.diff(found), np.diff(expected), atol=1e-5)


def test_moved_draws_have_the_density_that_is_said(gate_name, make_problem, rng):
    """Importance weights back to the posterior that they came from average to one."""
    problem = make_problem(gate_name, seed=13, rows=300)
    stats = settled(problem)
    q = problem.model.update(stats)
    found = linear_response(problem.model, problem.source(), stats)
    milder = replace(found, covariance=0.8 * np.eye(len(found.covariance)) + 0.2 * _bounded(found))
    draws = problem.model.draws(q, 40_000, rng)
    moved, density = milder.move(problem.model, q, draws)
    weights = np.exp(problem.model.log_posterior(q, moved) - density)
    assert weights.mean() == pytest.approx(1.0, abs=5.0 * weights.std() / 200.0)
    assert weights.std() < 10.0


def _bounded(found):
    """The covariance with its largest variances cut off at two."""
    values, axes = np.linalg.eigh(found.covariance)
    return axes * np.clip(values, 0.5, 2.0) @ axes.T


def test_a_saddle_is_told_and_draws_stay_as_they_are(make_problem, rng):
    """Two components with the same rows: the bound rises where they part."""
    problem = make_problem("softmax", seed=14, experts=2, rows=300)
    same = replace(problem, partition=np.full((2, 300), 0.5))
    state = same.start()
    for _ in range(200):
        posterior = same.model.update(state)
        state = same.model.global_step(posterior, same.model.e_step(posterior, same.block).stats)
    found = linear_response(same.model, same.source(), state)
    assert found.label == "mean-field"
    assert "not at a maximum" in found.failure
    q = same.model.update(state)
    draws = same.model.draws(q, 30, rng)
    moved, density = found.move(same.model, q, draws)
    assert moved is draws
    assert_allclose(density, same.model.log_posterior(q, draws))


def test_empty_components_keep_their_prior(rng):
    x = np.vstack([np.ones(200), rng.normal(size=200)])
    block = Block({"mean": x, "gating": x}, (x[1] + 0.3 * rng.normal(size=200))[None])
    prior = MatrixNormalGamma.prior(np.zeros((1, 2)), 0.05 * np.eye(2), 0.5, np.full(1, 0.02))
    logits = GatePrior(Normal.from_precision(np.zeros(2), 0.1 * np.eye(2)), x[:, 0], 1.0)
    model = Mixture(LinearExperts(prior), GATES["stick-breaking"].from_prior(3, logits))
    partition = np.full((3, 200), 1e-9)
    partition[0] = 1.0
    stats = cavi(
        model,
        InMemorySource((block,)),
        model.first_stats(model.partition_stats(block, partition)),
        tol=1e-9,
    ).stats
    weight = stats.experts.weight
    assert weight[2] < 0.01
    found = linear_response(model, InMemorySource((block,)), stats)
    assert found.failure is None
    q = model.update(stats)
    draws = model.draws(q, 500, rng)
    moved, _ = found.move(model, q, draws)
    assert np.isfinite(moved["coefficients"]).all()
    assert_allclose(moved["coefficients"][:, 2], draws["coefficients"][:, 2], rtol=0.05, atol=0.05)
    assert_allclose(moved["precision"][:, 2], draws["precision"][:, 2], rtol=0.05)
