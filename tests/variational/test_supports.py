"""Supports: unconstrained numbers and values, there and back, and the volume of the map."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bayesvb.variational.supports import Fixed, Positive, PositiveDefinite, Real, Shared, Simplex

SUPPORTS = {
    "real": Real((2, 3)),
    "positive": Positive((2, 3)),
    "positive number": Positive(()),
    "simplex": Simplex((4,)),
    "matrices": PositiveDefinite((2, 3, 3)),
    "fixed": Fixed(np.array([4.0, 2.0])),
    "shared": Shared(Positive((2,)), 3),
    "fixed and shared": Shared(Fixed(np.array([4.0])), 3),
}

OUTSIDE = {
    "real": np.full((1, 2, 3), np.nan),
    "positive": np.full((1, 2, 3), -1.0),
    "positive number": np.array([0.0]),
    "simplex": np.full((1, 4), 0.3),
    "matrices": np.broadcast_to(np.diag([1.0, 1.0, -1.0]), (1, 2, 3, 3)),
    "fixed": np.array([[4.0, 3.0]]),
    "shared": np.arange(1.0, 7.0).reshape(1, 3, 2),
    "fixed and shared": np.full((1, 3, 1), 5.0),
}


@pytest.fixture(params=SUPPORTS)
def name(request):
    return request.param


@pytest.fixture
def support(name):
    return SUPPORTS[name]


@pytest.fixture
def free(support, rng):
    return rng.normal(size=(5, support.size))


def test_values_have_the_shape_and_are_in_the_support(support, free):
    values, log_volume = support.constrained(free)
    assert values.shape == (5, *support.shape) and log_volume.shape == (5,)
    assert support.contains(values)


def test_values_outside_are_told_apart(name, support):
    assert not support.contains(OUTSIDE[name])


def test_matrices_have_to_be_symmetric():
    assert not PositiveDefinite((2, 2)).contains(np.array([[[2.0, 1.0], [0.0, 2.0]]]))


def test_numbers_are_found_again(support, free):
    assert_allclose(support.free(support.constrained(free)[0]), free, rtol=1e-9, atol=1e-12)


def coordinates(name, values):
    """The values whose densities are meant, as many as there are numbers."""
    if name == "simplex":
        return values[:, :-1]
    if name == "matrices":
        return values[..., *np.tril_indices(3)].reshape(len(values), -1)
    if name == "shared":
        return values[:, 0]
    return values.reshape(len(values), -1)


def test_the_volume_is_the_determinant_of_the_derivative(name, support, free):
    if support.size == 0:
        assert_array_equal(support.constrained(free)[1], 0.0)
        return
    one, step = free[:1], 1e-6 * np.eye(support.size)
    ahead, behind = (coordinates(name, support.constrained(one + s * step)[0]) for s in (1, -1))
    derivative = (ahead - behind) / 2e-6
    found = np.linalg.slogdet(derivative).logabsdet
    assert_allclose(support.constrained(one)[1], found, rtol=1e-7, atol=1e-8)


@pytest.mark.mcmc
def test_jax_finds_the_values_of_numpy(support, free, x64):
    import jax

    values, log_volume = support.constrained(free)
    traced = jax.jit(support.constrained)(free)
    assert_allclose(traced[0], values, rtol=1e-12)
    assert_allclose(traced[1], log_volume, rtol=1e-12)
    assert_allclose(jax.jit(support.free)(values), support.free(values), rtol=1e-9, atol=1e-12)
