"""From priors to the model that engines see: every number counts, and means what is printed."""

from dataclasses import fields, replace

import numpy as np
import pytest

import bayesvb as bvb

NUMBERS = [field.name for field in fields(bvb.Priors) if field.name != "standardize"]
FORMULA = "accel ~ times | gating(times)"


def model(priors=None, gate="softmax"):
    data = bvb.datasets.load("mcycle")
    return bvb.DensityRegression(FORMULA, data, n_components=3, gate=gate, priors=priors)


def prior_numbers(model):
    """All numbers of the priors inside the model."""
    experts, gate = model.core.experts.prior, model.core.gate.prior
    values = [value for prior in (experts, gate) for value in vars(prior).values()]
    return np.concatenate([np.ravel(value) for value in values])


@pytest.mark.parametrize("name", NUMBERS)
def test_every_prior_changes_the_model_that_is_fitted(name):
    gate = "dirichlet" if name == "concentration" else "softmax"
    priors = bvb.Priors()
    changed = replace(priors, **{name: 2.0 * getattr(priors, name)})
    same, other = prior_numbers(model(priors, gate)), prior_numbers(model(changed, gate))
    assert not np.array_equal(same, other)


@pytest.mark.parametrize("gate", ["softmax", "stick-breaking"])
def test_the_printed_scale_of_a_gating_coefficient_is_that_of_draws_from_the_prior(gate, rng):
    described = model(gate=gate)
    gating = described.core.gate
    draws = gating.draws(gating.prior, 20_000, rng)
    spread = described.scales.parts["gating"].coefficients(draws).std(axis=0)
    printed = described.prior_table().loc["gating", "scale"].to_numpy()
    # The standard error of a standard deviation of n draws is sd / sqrt(2 n): 0.5 %.
    np.testing.assert_allclose(spread, np.broadcast_to(printed, spread.shape), rtol=0.025)
