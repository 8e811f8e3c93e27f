"""Class probabilities against the same averages written out in full."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, ndtr, stdtrit

from bayesvb.models.network import class_probabilities as module
from bayesvb.models.network.output import LatentDraws, LatentPredictive
from bayesvb.models.network.stick_labels import StickLabels
from bayesvb.numerics.compiled import SWITCH, describe_core

SEEDS = range(4)


def slow_classes(logit):
    """Probability of each class, on the first axis as the logits of the sticks."""
    stop, passed = expit(logit), np.cumprod(expit(-logit), axis=0)
    first = np.concatenate([np.ones((1, *logit.shape[1:])), passed])
    return np.concatenate([stop, np.ones((1, *logit.shape[1:]))]) * first


def slow_drawn(coefficients, latents, few_points=False):
    points = module.drawn_points(coefficients.shape[2] - 1, few_points)
    noise = np.sqrt(latents.variance)[..., None, None] * points.T[:, None]
    vector = latents.location[..., None] + noise
    logit = np.einsum("sla,skanp->lsknp", coefficients[:, :, :-1], vector)
    logit += coefficients[:, :, -1].T[:, :, None, None, None]
    mean = slow_classes(logit).mean(axis=-1)
    return np.einsum("skn,cskn->scn", np.exp(latents.log_weights), mean)


def slow_predictive(posterior, latents, n_points=256):
    n_latents, n_sticks = len(latents.location), len(posterior.mean)
    scatter, shift = module.student_points(n_points, n_latents, n_sticks, latents.dof)
    vector = np.ones((n_latents + 1, *latents.weights.shape, n_points))
    noise = latents.scale[..., None] * np.moveaxis(scatter, 0, -1)[:, :, None]
    vector[:-1] = latents.location[..., None] + noise
    mean = np.einsum("la,aknp->lknp", posterior.mean, vector)
    variance = np.einsum("lab,aknp,bknp->lknp", posterior.covariance, vector, vector)
    logit = mean + np.sqrt(variance) * shift.T[:, None, None]
    return np.einsum("kn,ckn->cn", latents.weights, slow_classes(logit).mean(axis=-1))


def drawn(problem, scale=1.0, n=3):
    """Coefficients and latent vectors of some draws; those of the last rows far from the others."""
    draws = problem.model.draws(problem.posterior(), n, np.random.default_rng(0))
    found = problem.model.drawn_latents(draws, problem.block)
    location = found.location.copy()
    location[..., -2:] *= scale
    return draws["output"], LatentDraws(found.log_weights, location, found.variance)


@pytest.fixture
def all_components(monkeypatch):
    monkeypatch.setattr(module, "LEAST_LOG_WEIGHT", -np.inf)
    monkeypatch.setattr(module, "FEW_LEAST_LOG_WEIGHT", -np.inf)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("scale", [1.0, 1000.0])
@pytest.mark.parametrize("few_points", [False, True])
def test_drawn_probabilities_are_averages_over_points(
    make_problem, all_components, seed, scale, few_points
):
    coefficients, latents = drawn(make_problem("classes", seed), scale)
    found = module.drawn_probabilities(coefficients, latents, few_points)
    assert_allclose(found, slow_drawn(coefficients, latents, few_points), rtol=1e-12, atol=1e-15)
    assert_allclose(found.sum(axis=1), 1.0, rtol=1e-13)


@pytest.mark.parametrize("few_points", [False, True])
def test_points_are_enough_for_drawn_parameters(
    make_problem, all_components, monkeypatch, few_points
):
    coefficients, latents = drawn(make_problem("classes", 0), n=20)
    found = module.drawn_probabilities(coefficients, latents, few_points)
    monkeypatch.setattr(module, "LIKELIHOOD_POINTS", 4096)
    exact = module.drawn_probabilities(coefficients, latents)
    assert np.abs(found - exact).mean() < 0.002


@pytest.mark.parametrize("size", [30.0, 1000.0])
def test_drawn_probabilities_of_extreme_logits_are_finite(make_problem, all_components, size):
    coefficients, latents = drawn(make_problem("classes", 2))
    found = module.drawn_probabilities(size * coefficients, latents)
    assert_allclose(found, slow_drawn(size * coefficients, latents), rtol=1e-11, atol=1e-15)
    assert_allclose(found.sum(axis=1), 1.0, rtol=1e-13)


def test_drawn_probabilities_do_not_depend_on_how_many_rows_go_together(make_problem, monkeypatch):
    coefficients, latents = drawn(make_problem("classes", 1, rows=30))
    whole = module.drawn_probabilities(coefficients, latents)
    monkeypatch.setattr(module, "AT_ONCE", 7 * module.LIKELIHOOD_POINTS)
    assert_allclose(module.drawn_probabilities(coefficients, latents), whole, rtol=1e-13)


def test_drawn_probabilities_of_all_experts_at_once_are_those_of_each_alone(
    make_problem, monkeypatch
):
    coefficients, latents = drawn(make_problem("classes", 1, rows=30))
    found = []
    for most in (0.0, 1.0):
        monkeypatch.setattr(module, "MOST", most)
        found.append(module.drawn_probabilities(coefficients, latents))
    assert_allclose(found[0], found[1], rtol=1e-13)


@pytest.mark.skipif(describe_core().startswith("not built"), reason="there was no compiler")
@pytest.mark.parametrize("few_points", [True, False])
@pytest.mark.parametrize("scale", [1.0, 20.0, 1e3])
def test_the_compiled_core_has_the_probabilities_of_numpy(
    make_problem, monkeypatch, few_points, scale
):
    """Of the largest logits as well, which it leaves to NumPy."""
    for seed in SEEDS:
        coefficients, latents = drawn(make_problem("classes", seed), scale, n=5)
        found = []
        for switch in ("0", "1"):
            monkeypatch.setenv(SWITCH, switch)
            found.append(module.drawn_probabilities(scale * coefficients, latents, few_points))
        assert_allclose(found[1], found[0], rtol=1e-12, atol=1e-15)


def test_components_of_no_weight_are_left_out(make_problem):
    coefficients, latents = drawn(make_problem("classes", 3, experts=4))
    log_weights = np.log([0.7, 0.3 - 1e-9 - 1e-11, 1e-9, 1e-11])[None, :, None]
    log_weights = np.broadcast_to(log_weights, latents.log_weights.shape).copy()
    latents = LatentDraws(log_weights, latents.location, latents.variance)
    found = module.drawn_probabilities(coefficients, latents)
    assert_allclose(found, slow_drawn(coefficients, latents), atol=2e-11, rtol=0.0)
    assert_allclose(found.sum(axis=1), 1.0, rtol=1e-13)


@pytest.mark.parametrize("seed", SEEDS)
def test_drawn_probabilities_are_those_of_the_likelihood(make_problem, all_components, seed):
    coefficients, latents = drawn(make_problem("classes", seed))
    found = module.drawn_probabilities(coefficients, latents)
    n_classes, n_rows = found.shape[1:]
    for label in range(n_classes):
        labels = StickLabels.of(np.full(n_rows, float(label)), n_classes)
        log_lik = module.label_log_lik(coefficients, latents, labels)
        assert_allclose(np.exp(log_lik), found[:, label], rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_predictive_probabilities_are_averages_over_points(make_problem, seed, scale):
    problem = make_problem("classes", seed)
    q = problem.posterior()
    found = problem.model.latents(q, problem.block)
    latents = LatentPredictive(
        found.weights, scale * found.location, np.sqrt(scale) * found.scale, found.dof
    )
    probabilities = module.class_probabilities(q.output, latents)
    assert_allclose(probabilities, slow_predictive(q.output, latents), rtol=1e-10, atol=1e-12)
    assert_allclose(probabilities.sum(axis=0), 1.0, rtol=1e-13)


@pytest.mark.parametrize("cells", [64, 3 * 64, 40_000])
@pytest.mark.parametrize("share", [0.0, 0.2])
def test_predictive_probabilities_do_not_depend_on_which_rows_go_together(
    make_problem, monkeypatch, cells, share
):
    problem = make_problem("classes", 2)
    q = problem.posterior()
    latents = problem.model.latents(q, problem.block)
    n_rows = latents.weights.shape[1]
    alone = [
        module.class_probabilities(q.output, latents.part(row, row + 1), 64, share)
        for row in range(n_rows)
    ]
    monkeypatch.setattr(module, "AT_ONCE", cells)
    together = module.class_probabilities(q.output, latents, 64, share)
    assert_allclose(together, np.concatenate(alone, axis=1), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("n_points", [16, 64, 256])
def test_points_are_quantiles_of_student_laws(n_points):
    dof = np.array([1.5, 30.0])
    found, _ = module.student_points(n_points, 2, 1, dof)
    plan = module.balanced_points if n_points <= 64 else module.normal_points
    uniform = ndtr(plan(3, n_points)[:, :2, None])
    assert_allclose(found, stdtrit(dof, uniform), rtol=1e-10, atol=1e-14)


def test_predictive_probabilities_of_extreme_logits_are_finite(make_problem):
    problem = make_problem("classes", 1)
    q = problem.posterior()
    found = problem.model.latents(q, problem.block)
    latents = LatentPredictive(found.weights, 1e5 * found.location, found.scale, found.dof)
    probabilities = module.class_probabilities(q.output, latents)
    assert np.isfinite(probabilities).all()
    assert_allclose(probabilities.sum(axis=0), 1.0, rtol=1e-13)


@pytest.mark.parametrize("seed", SEEDS)
def test_components_of_a_small_share_may_be_left_out_of_a_row(make_problem, seed):
    """The others are weighed anew: all of it is an average without them."""
    problem = make_problem("classes", seed)
    q = problem.posterior()
    found = problem.model.latents(q, problem.block)
    least = np.median(found.weights)
    kept = np.where(found.weights < least, 0.0, found.weights)
    kept[:, kept.sum(axis=0) == 0.0] = found.weights[:, kept.sum(axis=0) == 0.0]
    latents = LatentPredictive(kept, found.location, found.scale, found.dof)
    share = len(kept) * least
    some = module.class_probabilities(q.output, latents, 64, share)
    every = slow_predictive(q.output, latents, 64)
    rows = found.weights.max(axis=0) >= least
    assert rows.any()
    assert_allclose(some[:, rows], (every / every.sum(axis=0))[:, rows], rtol=1e-10, atol=1e-12)
    assert_allclose(some[:, rows].sum(axis=0), 1.0, rtol=1e-13)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("size", [1.0, 30.0])
def test_components_left_out_of_the_likelihood_could_not_change_it(make_problem, seed, size):
    coefficients, latents = drawn(make_problem("classes", seed, experts=4))
    log_weights = np.log([0.7, 0.3, 1e-12, 1e-14])[None, :, None]
    log_weights = np.broadcast_to(log_weights, latents.log_weights.shape)
    latents = LatentDraws(log_weights, size * latents.location, latents.variance)
    expected = slow_drawn(coefficients, latents)
    n_classes, n_rows = expected.shape[1:]
    for label in range(n_classes):
        labels = StickLabels.of(np.full(n_rows, float(label)), n_classes)
        found = module.label_log_lik(coefficients, latents, labels)
        assert_allclose(np.exp(found), expected[:, label], rtol=2.0 * module.NEGLIGIBLE_SHARE)


def test_a_component_of_hardly_any_weight_counts_where_no_other_explains_the_label():
    log_weights = np.log([1.0, 1e-14, 1e-14])[None, :, None]
    location = np.array([40.0, -40.0, 40.0])[None, :, None, None]
    latents = LatentDraws(log_weights, location, np.full((1, 3, 1), 1e-4))
    labels = StickLabels.of(np.array([1.0]), 2)
    found = module.label_log_lik(np.array([[[1.0, 0.0]]]), latents, labels)
    assert_allclose(found, np.log(1e-14 + np.exp(-40.0)), rtol=1e-3)
    expected = slow_drawn(np.array([[[1.0, 0.0]]]), latents)[:, 1]
    assert_allclose(np.exp(found), expected, rtol=1e-12)
