"""The density with scales and common logits integrated out is the model's own joint density."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp

import bayesvb as bvb


def rows(n=60):
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.normal(size=(n, 2)), columns=["x", "z"])
    data["g"] = np.where(rng.random(n) < 0.35, "hi", np.where(rng.random(n) < 0.5, "lo", "mid"))
    upper = rng.random(n) < 1.0 / (1.0 + np.exp(-data["x"]))
    data["y"] = np.where(upper, 2.0 + data["x"], -1.0) + 0.5 * rng.normal(size=n)
    data["v"] = data["y"] + rng.normal(size=n)
    return data


def space_of(formula="y ~ x + z + g", n_components=2, weights=None, **options):
    model = bvb.DensityRegression(
        formula, rows(), n_components=n_components, weights=weights, **options
    )
    return model, model.core.reduced_space(model.source.whole())


CASES = {
    "learned": {"priors": bvb.Priors(scales="learned")},
    "one component": {"n_components": 1, "priors": bvb.Priors(scales="learned")},
    "fixed": {"priors": bvb.Priors(scales="fixed"), "n_components": 3},
    "sticks": {
        "gate": "stick-breaking",
        "n_components": 3,
        "priors": bvb.Priors(scales="learned"),
    },
    "constant weights": {
        "gate": "dirichlet",
        "n_components": 3,
        "priors": bvb.Priors(scales="learned"),
        "formula": "y ~ x + g | gating(1)",
    },
    "two responses": {"formula": "y + v ~ x", "priors": bvb.Priors(scales="learned")},
    "case weights": {
        "weights": np.arange(60) % 3 + 1.0,
        "gate": "stick-breaking",
        "priors": bvb.Priors(scales="learned"),
    },
    "offset": {"formula": "y ~ x + offset(z)", "priors": bvb.Priors(scales="fixed")},
}
"""Priors, gates, components, responses and weights."""


BETWEEN = {
    "columns": {"formula": "y ~ x + z + g", "priors": bvb.Priors(scale_rate=0.005)},
    "three components": {"formula": "y ~ x + z", "n_components": 3, "gate": "stick-breaking"},
    "smooth": {"formula": "y ~ s(x, k=5) + z"},
    "groups": {"formula": "y ~ x + (1 | g)"},
    "only smooths": {"formula": "y ~ s(x, k=5)", "gate": "stick-breaking"},
}
"""Models whose coefficients scatter around common ones: weights are exact, proposals nearly."""


def log_joint(model, draws):
    """Log joint density on the standardised scale."""
    block = model.source.whole()
    values = model.core.log_lik(draws, block)
    of_rows = values.sum(axis=1) if block.weight is None else values @ block.weight
    return of_rows + model.core.log_prior(draws)


@pytest.mark.parametrize("name", CASES)
def test_the_reduced_density_is_the_joint_density_less_that_of_what_was_integrated_out(name):
    model, space = space_of(**CASES[name])
    rng = np.random.default_rng(1)
    vectors = 0.4 * rng.standard_normal((7, space.size))
    draws, log_conditional = space.complete(vectors, rng)
    n_terms = draws["coefficients"].shape[-1]
    volume = (1.0 - 0.5 * n_terms) * np.log(draws["precision"]).sum(axis=(1, 2))
    if name == "constant weights":
        volume += np.log(draws["gate"]).sum(axis=1)
    expected = log_joint(model, draws) - log_conditional + volume
    assert_allclose(space.log_density(vectors), expected, rtol=0.0, atol=1e-8)
    assert_allclose(space.log_joint(vectors, draws) - log_conditional, expected, atol=1e-8)
    assert_allclose(space.vectors(draws), vectors, atol=1e-10)


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_differences(name):
    _, space = space_of(**CASES[name])
    vectors = 0.4 * np.random.default_rng(2).standard_normal((5, space.size))
    of_rows, row_slopes = space.log_lik_slopes(vectors)
    assert_allclose(of_rows, space.log_lik(vectors), rtol=1e-12)
    slopes = row_slopes + space.log_prior_slopes(vectors)[1]
    for number in range(space.size):
        step = 1e-5 * np.eye(space.size)[number]
        change = space.log_density(vectors + step) - space.log_density(vectors - step)
        scale = 1.0 + np.abs(slopes[:, number]).max()
        assert_allclose(change / 2e-5, slopes[:, number], atol=1e-5 * scale)


def test_draws_of_a_fit_have_vectors_in_the_order_of_the_sticks():
    model, _ = space_of(gate="stick-breaking", n_components=3, priors=bvb.Priors(scales="learned"))
    fit = model.fit(seed=1, restarts=2, draws=50)
    space = fit.core.reduced_space(model.source.whole())
    again, _ = space.complete(space.vectors(fit.draws), np.random.default_rng(0))
    for name in ("coefficients", "precision", "gate"):
        assert_allclose(again[name], fit.draws[name], atol=1e-10)


@pytest.mark.parametrize(
    "options",
    [
        {"family": "student"},
        {"priors": bvb.Priors(coefficient_units="response", scales="fixed")},
        {"group": "g", "formula": "y ~ x | gating(1)"},
    ],
)
def test_other_experts_have_no_reduced_space(options):
    assert space_of(**options)[1] is None


@pytest.mark.parametrize("name", BETWEEN)
def test_weights_of_common_coefficients_go_by_the_joint_density_of_the_model(name):
    model, space = space_of(**BETWEEN[name])
    assert model.core.common is not None
    rng = np.random.default_rng(1)
    vectors = 0.4 * rng.standard_normal((7, space.size))
    draws, _ = space.complete(vectors, rng)
    n_terms = draws["coefficients"].shape[-1]
    volume = (1.0 - 0.5 * n_terms) * np.log(draws["precision"]).sum(axis=(1, 2))
    expected = log_joint(model, draws) + volume
    assert_allclose(space.log_joint(vectors, draws), expected, rtol=0.0, atol=1e-8)
    assert_allclose(space.vectors(draws), vectors, atol=1e-10)


@pytest.mark.parametrize("name, most", [("columns", 0.5), ("three components", 0.5),
                                        ("smooth", 3.0), ("groups", 3.0)])  # fmt: skip
def test_proposals_with_common_coefficients_have_nearly_the_exact_density(name, most):
    """Measured: standard deviations of log weights 0.1, 0.1 and 1.1 nats."""
    _, space = space_of(**BETWEEN[name])
    rng = np.random.default_rng(4)
    vectors = 0.4 * rng.standard_normal((400, space.size))
    _, weighed = space.weigh(vectors, rng)
    assert np.std(weighed - space.log_density(vectors)) < most


def test_weights_average_to_the_integral_over_the_precision():
    """One column; the integral is a sum over a grid, and the mean is within four errors of it."""
    _, space = space_of("y ~ x | gating(1)")
    one = 0.4 * np.random.default_rng(5).standard_normal((1, space.size))
    many, logs = np.repeat(one, 4000, axis=0), np.linspace(-12.0, 12.0, 801)
    draws, _ = space.complete(many, np.random.default_rng(6))
    of_precision = space.law.draw(*space.split(many)[:2], np.random.default_rng(6))
    gate = np.repeat(draws["gate"][:1], len(many), axis=0)
    drawn = {**draws, "gate": gate, "term_precision": of_precision[0][0]}
    weighed = space.log_joint(many, drawn) - of_precision[1]
    grid = {key: np.repeat(values[:1], len(logs), axis=0) for key, values in drawn.items()}
    grid["term_precision"] = np.exp(logs)[:, None]
    joint = space.log_joint(np.repeat(one, len(logs), axis=0), grid)
    integral = logsumexp(joint + logs) + np.log(logs[1] - logs[0])
    mean = logsumexp(weighed) - np.log(len(weighed))
    error = np.std(np.exp(weighed - mean)) / np.sqrt(len(weighed))
    assert abs(mean - integral) < 4.0 * error
