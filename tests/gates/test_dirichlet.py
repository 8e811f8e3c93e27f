"""Constant weights: where an ascent sets out, and how evidence adds up."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax

from bayesvb.data.blocks import Block
from bayesvb.factors import Dirichlet, Normal
from bayesvb.gates import DirichletGate
from bayesvb.gates.base import GatePrior
from bayesvb.gates.dirichlet import SimplexCoordinates


def test_the_start_is_the_posterior_of_one_row_in_each_component():
    gate = DirichletGate(Dirichlet(np.full(4, 0.3)))
    block = Block({}, np.zeros((1, 4)))
    stats = gate.local(gate.start(), block).sufficient_stats(np.eye(4))
    assert_allclose(gate.start().concentration, gate.update(stats).concentration)
    assert_allclose(gate.mean_weights(gate.start(), block), 0.25)


@pytest.mark.parametrize("n_components", [1, 2, 4])
def test_weights_are_the_same_a_priori(n_components):
    prior = GatePrior(Normal.from_precision(np.zeros(1), np.eye(1)), np.ones(1), 0.7)
    gate = DirichletGate.from_prior(n_components, prior)
    assert_allclose(gate.prior.mean, 1.0 / n_components)


def test_expected_log_weights_are_no_bound(rng):
    """The conformance tests hold them against their mean from below; here it is from above."""
    gate, n_draws = DirichletGate(Dirichlet(np.full(4, 0.3))), 20_000
    block = Block({}, np.zeros((1, 1)))
    for _ in range(5):
        posterior = Dirichlet(rng.uniform(0.5, 12.0, size=4))
        terms = gate.local(posterior, block).expected_log_density
        values = gate.log_weights(gate.draws(posterior, n_draws, rng), block)
        error = 4.5 * values.std(axis=0) / np.sqrt(n_draws) + 1e-11
        assert (np.abs(values.mean(axis=0) - terms) <= error).all()


def test_the_volume_is_the_determinant_of_weights_in_their_standard_coordinates(rng):
    coordinates = SimplexCoordinates(Dirichlet(np.array([2.0, 0.7, 5.0, 1.3])))
    at, step = rng.normal(size=(5, 3)), 1e-5
    determinants = []
    for point in at:
        ends = coordinates.parameters(
            np.concatenate([point + step * np.eye(3), point - step * np.eye(3)])
        )
        jacobian = (ends[:3] - ends[3:])[:, :-1] / (2.0 * step)
        determinants.append(np.linalg.slogdet(jacobian)[1])
    difference = coordinates.log_volume(coordinates.parameters(at)) - determinants
    assert_allclose(difference, difference[0], atol=1e-7)  # up to a constant


def test_the_centre_moves_with_the_expected_log_weights(rng):
    coordinates = SimplexCoordinates(Dirichlet(np.array([2.0, 0.7, 5.0, 1.3])))
    change = rng.normal(size=(5, 4))
    weights = softmax(coordinates.expectations() + change, axis=1)
    expected = coordinates.standard(weights)
    assert_allclose(coordinates.centre_slopes(change), expected, atol=1e-12)
    assert_allclose(coordinates.centre_along(change[..., None]), expected, atol=1e-12)
