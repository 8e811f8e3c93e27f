"""The density of coefficients, dispersions and logits is the joint density of the model."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesvb as bvb
from bayesvb.models.reduced_predictors import FALLS

LEARNED, FIXED = bvb.Priors(scales="learned"), bvb.Priors(scales="fixed", coefficient_sd=2.5)

CASES = {
    "negbinomial": {"priors": LEARNED},
    "poisson": {"gate": "stick-breaking", "n_components": 3, "priors": FIXED},
    "weibull": {"gate": "dirichlet", "formula": "Surv(v, seen) ~ x | 1", "priors": LEARNED},
    "binomial": {"formula": "y | trials(9) ~ x + offset(z)", "priors": LEARNED},
    "gamma": {"formula": "v ~ x + z", "n_components": 1, "weights": "w"},
    "negbinomial, zeros": {"formula": "y ~ x | zero(z)", "priors": LEARNED, "weights": "w"},
    "gamma, zeros": {"formula": "a ~ x | zero(z)", "priors": FIXED},
}
"""Families with a positive parameter and without, gates, components, zeros, offset and weights."""


def space_of(family, formula="y ~ x", n_components=2, **options):
    family = family.removesuffix(", zeros")
    rng, n = np.random.default_rng(0), 40
    data = pd.DataFrame(rng.normal(size=(n, 2)), columns=["x", "z"])
    data = data.assign(y=rng.integers(0, 9, n) * 1.0, v=rng.gamma(2.0, size=n), w=1.0)
    data = data.assign(seen=rng.integers(0, 2, n), w=np.arange(n) % 3 + 1.0)
    data = data.assign(a=data["v"] * data["seen"])
    model = bvb.DensityRegression(
        formula, data, family=family, n_components=n_components, **options
    )
    return model, model.core.reduced_space(model.source.whole())


@pytest.mark.parametrize("family", CASES)
def test_the_reduced_density_is_the_joint_density_less_that_of_what_was_integrated_out(family):
    model, space = space_of(family, **CASES[family])
    rng, block = np.random.default_rng(1), model.source.whole()
    vectors = 0.4 * rng.standard_normal((7, space.size))
    draws, log_conditional = space.complete(vectors, rng)
    positive = [draws[name] for name in ("dispersion", "shape") if name in draws]
    volume = sum(np.log(values).sum(axis=1) for values in positive) + np.zeros(7)
    if CASES[family].get("gate") == "dirichlet":
        volume += np.log(draws["gate"]).sum(axis=1)
    of_rows = model.core.log_lik(draws, block)
    of_rows = of_rows.sum(axis=1) if block.weight is None else of_rows @ block.weight
    expected = of_rows + model.core.log_prior(draws) - log_conditional + volume
    assert_allclose(space.log_density(vectors), expected, rtol=0.0, atol=1e-8)
    assert_allclose(space.log_joint(vectors, draws) - log_conditional, expected, atol=1e-8)
    assert_allclose(space.vectors(draws), vectors, atol=1e-10)


@pytest.mark.parametrize("family", CASES)
def test_gradients_are_those_of_differences(family):
    _, space = space_of(family, **CASES[family])
    vectors = 0.4 * np.random.default_rng(2).standard_normal((3, space.size))
    of_rows, row_slopes = space.log_lik_slopes(vectors)
    assert_allclose(of_rows, space.log_lik(vectors), rtol=1e-12)
    slopes, step = row_slopes + space.log_prior_slopes(vectors)[1], 1e-5 * np.eye(space.size)
    ends = [np.stack([space.log_density(vectors + sign * one) for one in step]) for sign in (1, -1)]
    scale = 1.0 + np.abs(slopes).max()
    assert_allclose((ends[0] - ends[1]).T / 2e-5, slopes, atol=1e-5 * scale)


@pytest.mark.heavy
def test_the_moments_of_two_components_are_those_of_nuts():
    """NumPyro 0.22, 3,000 draws of the same model, one set of ``bench_responses.py``."""
    n, lines = 400, np.array([[1.5, 0.4], [0.0, -0.6]])
    rng = np.random.default_rng([2, n])
    x, kind = rng.normal(size=n), (rng.random(n) < 0.4).astype(int)
    u = lines[kind, 0] + lines[kind, 1] * x
    y = rng.poisson(np.exp(u + np.log(rng.gamma(2.0, 0.5, n)))).astype(float)
    data = pd.DataFrame({"y": y, "x": x})
    options = {"n_components": 2, "family": "negbinomial", "priors": FIXED}
    model = bvb.DensityRegression("y ~ x | 1", data, **options)
    fit = model.fit(seed=1, restarts=1, draws=2000, covariance="exact")
    found = fit.summary().loc["mean"].xs("x", level="term").sort_values("mean")
    assert_allclose(found["mean"], [-0.732, 0.376], atol=0.05)
    assert_allclose(found["sd"], [0.2, 0.062], rtol=0.15)
    assert fit.covariance == "exact"


def test_the_log_odds_of_structural_zeros_have_a_tail_and_those_of_a_hurdle_none():
    _, space = space_of("negbinomial, zeros", **CASES["negbinomial, zeros"])
    middle = np.arange(1.0, space.size + 1.0)
    tail = space.long_tail(middle)
    share = np.average(space.rows.block.response[0] == 0.0, weights=space.rows.weight)
    assert tail.number == space.size - 2  # the intercept comes before z
    assert_allclose(1.0 / (1.0 + np.exp(-tail.values - FALLS)), share)
    moved = tail.ends != middle
    assert moved[:, 4:6].all() and moved.sum() == 4, "log dispersions only, one start each"
    _, poisson = space_of("poisson", "y ~ x | zero(1)")
    assert len(poisson.long_tail(np.zeros(poisson.size)).ends) == 0
    for family in ("gamma, zeros", "negbinomial"):
        _, space = space_of(family, **CASES[family])
        assert space.long_tail(np.zeros(space.size)) is None
