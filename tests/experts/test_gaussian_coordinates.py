"""Coordinates of Gaussian experts at a point: there and back, and stand-ins of variance one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayesvb.experts.gaussian_base import GaussianStats
from bayesvb.experts.gaussian_diagonal import DiagonalGaussianExperts
from bayesvb.experts.gaussian_full import FullGaussianExperts
from bayesvb.variational.coordinates import entries

ROWS = 1e6
"""Rows of each expert: posteriors are then normal."""

FORMS = {"full": FullGaussianExperts, "diagonal": DiagonalGaussianExperts}


@pytest.fixture(params=FORMS)
def experts(request):
    prior = FORMS[request.param].from_prior(np.zeros(3), 1.0, 5.0, np.eye(3))
    return prior.with_prior_power(0.0)


@pytest.fixture
def posterior(experts, rng):
    """Two experts with many rows of correlated variables."""
    x = np.array([[1.0, 0.0, 0.0], [0.5, 2.0, 0.0], [-0.3, 0.4, 0.5]]) @ rng.normal(size=(3, 500))
    x += np.array([[2.0], [-1.0], [0.5]])
    products = experts.products(x)
    weight = np.array([ROWS, 2.0 * ROWS])
    mean, squares = x.mean(axis=1), products.mean(axis=1)
    sums = GaussianStats(
        weight, np.outer(weight, mean) * [[1.0], [-1.0]], np.outer(weight, squares)
    )
    return experts.update(sums)


def test_only_estimates_have_coordinates(experts, posterior):
    plain = type(experts)(experts.prior)
    assert plain.coordinates(posterior) is None and experts.coordinates(posterior) is not None
    assert experts.with_prior_power(3.0).coordinates(posterior) is not None


def test_parameters_and_coordinates_are_inverse(experts, posterior, rng):
    coordinates = experts.coordinates(posterior)
    standard = rng.normal(size=(7, len(coordinates.perturbations())))
    assert_allclose(coordinates.standard(coordinates.parameters(standard)), standard, atol=1e-6)
    point = coordinates.parameters(np.zeros((1, standard.shape[1])))
    assert_allclose(point["precision"][0], posterior.expected_precision, rtol=1e-5)


def test_coordinates_of_draws_are_standard_normal(experts, posterior):
    draws = experts.draws(posterior, 20_000, np.random.default_rng(3))
    standard = experts.coordinates(posterior).standard(draws)
    assert_allclose(standard.mean(axis=0), 0.0, atol=0.04)
    assert_allclose(np.cov(standard.T), np.eye(standard.shape[1]), atol=0.05)


def test_stand_ins_are_the_coordinates_of_draws_to_first_order(experts, posterior):
    draws = experts.draws(posterior, 50, np.random.default_rng(4))
    coordinates = experts.coordinates(posterior)
    linear, square = experts.slopes(draws["mean"], draws["precision"])
    statistics = np.stack(
        [entries(np.zeros(2), one, other) for one, other in zip(linear, square, strict=True)]
    )
    expected = coordinates.expectations().copy()
    expected[:2] = 0.0
    stand_ins = (statistics - expected) @ coordinates.perturbations().T
    assert_allclose(stand_ins, coordinates.standard(draws), atol=0.03)


def test_volumes_are_the_jacobian_of_the_parameters(experts, posterior):
    """Determinant of means and distinct entries of the precisions, by differences."""
    coordinates = experts.coordinates(posterior)
    size = len(coordinates.perturbations())

    def flat(standard):
        made = coordinates.parameters(standard)
        precision = made["precision"]
        if precision.ndim == 4:
            precision = precision[..., *np.triu_indices(3)]
        return np.concatenate([made["mean"].reshape(len(standard), -1),
                               precision.reshape(len(standard), -1)], axis=1)  # fmt: skip

    def log_jacobian(at):
        steps = 1e-3 * np.eye(size)
        slope = (flat(at + steps) - flat(at - steps)) / 2e-3
        return np.linalg.slogdet(slope).logabsdet

    places = [np.zeros((1, size)), np.full((1, size), 300.0)]
    volumes = [coordinates.log_volume(coordinates.parameters(at))[0] for at in places]
    found = log_jacobian(places[1]) - log_jacobian(places[0])
    assert volumes[1] - volumes[0] == pytest.approx(found, rel=0.05)
