"""Two experts, 600 rows: the fit against sampling and against a separate implementation."""

import json
import runpy
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayesvb.data.blocks import Block
from bayesvb.data.sources import InMemorySource
from bayesvb.engines.cavi import cavi
from bayesvb.experts.linear import LinearExperts
from bayesvb.factors import MatrixNormalGamma, Normal
from bayesvb.gates import GATES
from bayesvb.gates.base import GatePrior
from bayesvb.models.mixture import Mixture
from bayesvb.sensitivity.covariance import linear_response

N_DRAWS = 40_000


@pytest.fixture(scope="module")
def rows(root):
    return np.loadtxt(
        root / "tests/reference/two_experts/rows.csv", delimiter=",", skiprows=1, unpack=True
    )


def test_the_script_beside_the_rows_makes_them(rows, root):
    made = runpy.run_path(str(root / "tests/reference/two_experts/make.py"))["rows"]()
    assert_allclose(made, rows, rtol=1e-14, atol=1e-15)  # exp and log may round differently


@pytest.fixture(scope="module", params=["softmax", "softmax-jensen", "stick-breaking"])
def gate_name(request):
    return request.param


def reference_of(root, gate_name):
    """The bounds of the softmax gate differ; the model that was sampled from is the same."""
    text = (root / "tests/reference/two_experts/posterior.json").read_text(encoding="utf-8")
    all_gates = json.loads(text)
    values = (all_gates["softmax"] if gate_name.startswith("softmax") else {}) | all_gates[
        gate_name
    ]
    return {how: {k: np.array(v) for k, v in found.items()} for how, found in values.items()}


@pytest.fixture(scope="module")
def reference(root, gate_name):
    return reference_of(root, gate_name)


def ascents_of(rows, gate_name):
    """Six ascents from partitions at random."""
    x, y = rows
    design = np.vstack([np.ones_like(x), x])
    block = Block({"mean": design, "gating": design}, y[None])
    experts = LinearExperts(
        MatrixNormalGamma.prior(np.zeros((1, 2)), 0.01 * np.eye(2), 1.0, np.ones(1))
    )
    coefficients = Normal.from_precision(np.zeros(2), np.eye(2))
    gate = GATES[gate_name].from_prior(2, GatePrior(coefficients, np.array([1.0, 0.0]), 1.0))
    model = Mixture(experts, gate)
    source = InMemorySource((block,))

    def ascend(seed):
        first = np.random.default_rng(seed).choice([0.1, 0.9], size=len(x))
        stats = model.first_stats(model.partition_stats(block, np.stack([first, 1.0 - first])))
        return cavi(model, source, stats, tol=1e-12)

    return model, [ascend(seed) for seed in range(6)]


@pytest.fixture(scope="module")
def ascents(rows, gate_name):
    return ascents_of(rows, gate_name)


@pytest.fixture(scope="module")
def fit(ascents):
    return fit_of(*ascents)


def chosen_of(model, runs):
    """The best ascent, expert 1 being the one with the larger slope."""
    best = max(runs, key=lambda run: run.bound)
    slopes = model.update(best.stats).experts.mean[:, 0, 1]
    order = np.argsort(-slopes).tolist()
    model, stats = model.permuted(order, best.stats)
    return model, stats, best.bound


def fit_of(model, runs):
    """Draws from the best ascent."""
    model, stats, bound = chosen_of(model, runs)
    draws = model.draws(model.update(stats), N_DRAWS, np.random.default_rng(1))
    return identified(model, draws, bound)


def identified(model, draws, bound):
    """Coefficients, log odds of the first expert and noise."""
    origin, one = (Block({"gating": np.array([[1.0], [x]])}, np.zeros((0, 1))) for x in (0.0, 1.0))

    def log_odds(block):
        log_weights = model.gate.log_weights(draws["gate"], block)
        return log_weights[:, 0, 0] - log_weights[:, 1, 0]

    intercept = log_odds(origin)
    return SimpleNamespace(
        bound=bound,
        coefficients=draws["coefficients"][:, :, 0],
        gate=np.stack([intercept, log_odds(one) - intercept], axis=1),
        sigma=draws["precision"][:, :, 0] ** -0.5,
    )


@pytest.fixture(scope="module")
def responded(ascents, rows):
    """The same draws with the linear-response covariance."""
    model, stats, bound = chosen_of(*ascents)
    x, y = rows
    design = np.vstack([np.ones_like(x), x])
    source = InMemorySource((Block({"mean": design, "gating": design}, y[None]),))
    q = model.update(stats)
    draws = model.draws(q, N_DRAWS, np.random.default_rng(1))
    moved, _ = linear_response(model, source, stats).move(model, q, draws)
    return identified(model, moved, bound)


def test_every_start_reaches_the_optimum_of_the_other_implementation(ascents, reference):
    for run in ascents[1]:
        assert run.converged
        assert run.bound == pytest.approx(reference["variational"]["bound"], abs=0.006)


def test_the_gate_is_that_of_the_other_implementation(fit, reference):
    expected = reference["variational"]
    assert_allclose(fit.gate.mean(axis=0), expected["gate"], atol=0.005)
    assert_allclose(fit.gate.std(axis=0), expected["gate_sd"], atol=0.002)


def test_the_spread_of_the_experts_is_that_of_the_other_implementation(ascents, reference):
    """Printed there as the spread of coefficients; the gates agree to three decimals."""
    model, runs = ascents
    experts = model.update(max(runs, key=lambda run: run.bound).stats).experts
    variance = np.diagonal(experts.covariance, axis1=1, axis2=2)
    scale = experts.rate / (experts.shape[:, None] - 1.0)
    found = np.sort(np.sqrt(variance * scale), axis=0)
    expected = [[0.0309, 0.0279], [0.0595, 0.0509]]
    assert_allclose(found, reference["variational"].get("coefficients_sd", expected), atol=2e-4)


@pytest.mark.parametrize("name, most", [("coefficients", 0.05), ("gate", 0.1), ("sigma", 0.06)])
def test_posterior_means_are_those_of_sampling(fit, reference, name, most):
    """Sampling itself leaves 0.02 standard deviations, the three decimals kept 0.015."""
    nuts = reference["nuts"]
    off = (getattr(fit, name).mean(axis=0) - nuts[name]) / nuts[f"{name}_sd"]
    assert (np.abs(off) < most).all()


@pytest.mark.parametrize("name", ["coefficients", "gate", "sigma"])
def test_posterior_spreads_are_below_those_of_sampling_by_a_known_part(fit, reference, name):
    """Mean-field spreads are too small, here by up to a third; the tilted gate's is too large."""
    ratio = getattr(fit, name).std(axis=0) / reference["nuts"][f"{name}_sd"]
    assert (ratio > 0.66).all()
    assert (ratio < (1.2 if name == "gate" else 1.0)).all()


@pytest.mark.parametrize("name", ["coefficients", "gate", "sigma"])
def test_linear_response_has_the_spreads_of_sampling(responded, reference, name):
    """Sampling itself leaves 2 % (4000 draws)."""
    ratio = getattr(responded, name).std(axis=0) / reference["nuts"][f"{name}_sd"]
    assert (np.abs(ratio - 1.0) < 0.05).all()


def test_the_truth_lies_inside_the_posterior(fit):
    truth = {
        "coefficients": [[1.0, 1.5], [-1.0, -1.0]],
        "gate": [0.3, 1.0],
        "sigma": [0.5, 0.8],
    }
    for name, value in truth.items():
        draws = getattr(fit, name)
        assert (np.abs(draws.mean(axis=0) - value) < 3.0 * draws.std(axis=0)).all()


def test_the_product_bound_has_the_optimum_of_the_other_implementation_and_no_other(rows, root):
    """Right for its bound, and far from sampling: a slope of 4.8 where that gives 1.0."""
    expected = reference_of(root, "softmax-bouchard")
    model, runs = ascents_of(rows, "softmax-bouchard")
    fit = fit_of(model, runs)
    assert fit.bound == pytest.approx(float(expected["variational"]["bound"]), abs=0.006)
    assert_allclose(fit.gate.mean(axis=0), expected["variational"]["gate"], atol=0.005)
    assert_allclose(fit.gate.std(axis=0), expected["variational"]["gate_sd"], atol=0.002)
    assert fit.gate[:, 1].mean() > 4.0 * expected["nuts"]["gate"][1]
