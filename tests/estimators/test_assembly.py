"""From priors to the model that engines see: every number counts, and means what is printed."""

from dataclasses import replace

import numpy as np
import pytest

import bayesvb as bvb
from bayesvb.estimators.default_priors import default_priors
from bayesvb.results.prior_sensitivity import numbers

NUMBERS = list(numbers(default_priors("gaussian", 3)))
FORMULA = "accel ~ times | gating(times)"


def model(priors=None, gate="softmax"):
    data = bvb.datasets.load("mcycle")
    return bvb.DensityRegression(FORMULA, data, n_components=3, gate=gate, priors=priors)


def prior_numbers(model):
    """All numbers of the priors inside the model."""
    experts, gate = model.core.experts.prior, model.core.gate.prior
    common = getattr(model.core, "common", None)
    priors = (experts, gate, getattr(model.core, "prior", None), common and common.spread)
    values = [value for prior in priors if prior is not None for value in vars(prior).values()]
    return np.concatenate([np.ravel(value) for value in values])


@pytest.mark.parametrize("name", NUMBERS)
def test_every_prior_changes_the_model_that_is_fitted(name):
    gate = "dirichlet" if name == "concentration" else "softmax"
    priors = default_priors("gaussian", 3)
    changed = replace(priors, **{name: 2.0 * getattr(priors, name)})
    same, other = prior_numbers(model(priors, gate)), prior_numbers(model(changed, gate))
    assert not np.array_equal(same, other)


@pytest.mark.parametrize("gate", ["softmax", "stick-breaking"])
def test_the_printed_scale_of_a_gating_coefficient_is_that_of_draws_from_the_prior(gate, rng):
    described = model(bvb.Priors(scales="fixed"), gate)
    gating = described.core.gate
    draws = gating.draws(gating.prior, 20_000, rng)
    spread = described.scales.parts["gating"].coefficients(draws).std(axis=0)
    printed = described.prior_table().loc["gating", "scale"].to_numpy()
    # The standard error of a standard deviation of n draws is sd / sqrt(2 n): 0.5 %.
    np.testing.assert_allclose(spread, np.broadcast_to(printed, spread.shape), rtol=0.025)


def test_the_units_of_coefficients_decide_whether_coefficients_know_the_noise(rng):
    """Of the prior: the spread of the coefficients given a large and a small noise."""
    for units, known in (("noise", True), ("response", False)):
        numbers = {"coefficient_sd": 2.0, "noise_shape": 3.0, "scales": "fixed"}
        described = model(bvb.Priors(coefficient_units=units, **numbers))
        experts = described.core.experts
        blank = described.core.partition_stats(
            described.source.blocks[0].part(0, 0), np.zeros((3, 0))
        )
        prior = described.core.update(described.core.first_stats(blank)).experts
        draws = experts.draws(prior, 20_000, rng)
        noisy = draws["precision"][..., 0] < np.median(draws["precision"])
        slopes = draws["coefficients"][..., 0, 1]
        ratio = slopes[noisy].std() / slopes[~noisy].std()
        assert (ratio > 1.3) if known else (abs(ratio - 1.0) < 0.05)
        if not known:
            unit = described.scales.response.scale[0]
            table = described.prior_table().loc[("mean", "times")]
            assert table["prior"] == "Normal"
            expected = slopes.std() * unit / described.scales.parts["mean"].scale[1]
            assert table["scale"] == pytest.approx(expected, rel=0.025)


def test_sticks_are_even_or_halve_what_is_left():
    even = model(gate="stick-breaking").core.gate.prior.mean[:, 0]
    np.testing.assert_allclose(even, -np.log([2.0, 1.0]))
    literature = model(bvb.Priors(equal_prior_weights=False), "stick-breaking").core.gate.prior.mean
    np.testing.assert_array_equal(literature, 0.0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"coefficient_units": "sd"}, "coefficient_units='sd'"),
        ({"equal_prior_weights": 1}, "equal_prior_weights=1"),
        ({"scales": "free"}, "scales='free' must be 'between' or 'learned' or 'fixed'"),
    ],
)
def test_choices_that_are_none_are_refused(wrong, message, unchecked):
    with pytest.raises(bvb.errors.PriorError, match=message):
        bvb.Priors(**wrong)
