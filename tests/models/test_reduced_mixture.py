"""The density with scales and common logits integrated out is the model's own joint density."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

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
        {"priors": bvb.Priors(coefficients_in="response", scales="fixed")},
        {"group": "g", "formula": "y ~ x | gating(1)"},
    ],
)
def test_other_experts_have_no_reduced_space(options):
    assert space_of(**options)[1] is None
