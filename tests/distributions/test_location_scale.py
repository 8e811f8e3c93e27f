"""What mixtures of components with a place and a width share, whatever their standard law."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bayesvb.distributions.drawn_student_mixture import DrawnStudentMixture
from bayesvb.distributions.normal_mixture import NormalMixture
from bayesvb.errors import DataError


def parts(seed, shape=(3, 4, 5)):
    """Weights, places and widths of random mixtures."""
    rng = np.random.default_rng(seed)
    weights = np.moveaxis(rng.dirichlet(np.ones(shape[0]), shape[1:]), -1, 0)
    return weights, 3.0 * rng.normal(size=shape), 0.5 * np.exp(np.abs(rng.normal(size=shape)))


def students(seed, shape=(3, 4, 5)):
    dof = 0.3 + np.random.default_rng(seed + 1).gamma(1.0, 4.0, size=shape)
    return DrawnStudentMixture(*parts(seed, shape), dof)


def normals(seed, shape=(3, 4, 5)):
    return NormalMixture(*parts(seed, shape))


@pytest.fixture(params=[normals, students])
def make(request):
    return request.param


def whole_line():
    """Nodes and weights of the trapezoidal rule in asinh(y); its error falls exponentially."""
    u, step = np.linspace(-90.0, 90.0, 18001, retstep=True)
    return np.sinh(u), step * np.cosh(u)


def test_densities_integrate_to_one(make):
    y = make(1)
    nodes, weights = whole_line()
    with np.errstate(over="ignore"):  # the square of the farthest nodes
        total = sum(w * y.density(node) for node, w in zip(nodes, weights, strict=True))
    assert_allclose(total, 1.0, rtol=1e-9)


def test_probabilities_are_integrals_of_the_density(make):
    y = make(2)
    grid, step = np.linspace(-1.3, 2.9, 2001, retstep=True)
    values = np.array([y.density(value) for value in grid])
    mass = step / 3.0 * (values[0] + 4 * values[1::2].sum(0) + 2 * values[2:-1:2].sum(0))
    mass += step / 3.0 * values[-1]
    assert_allclose(y.below(2.9) - y.below(-1.3), mass, atol=1e-8)
    assert_allclose(y.below(0.7) + y.above(0.7), 1.0, rtol=1e-13)


@pytest.mark.parametrize("q", [1e-9, 0.03, 0.31, 0.5, 0.77, 0.999])
def test_quantiles_invert_probabilities(make, q):
    y = make(3)
    found = y.quantile(q)
    for place in np.ndindex(found.shape):
        one = y.with_each(lambda array, place=place: array[:, *place][:, None])
        assert_allclose(one.below(found[place]), q, rtol=1e-6)


def test_quantiles_of_the_mirror_image_are_mirrored(make):
    y = make(4)
    mirrored = type(y)(**{**vars(y), "location": -y.location})
    assert_allclose(mirrored.quantile(0.2), -y.quantile(0.8), rtol=1e-7, atol=1e-8)


def test_units_change_places_and_widths(make):
    y = make(5)
    moved = type(y)(**{**vars(y), "location": 4.0 * y.location + 1.0, "scale": 4.0 * y.scale})
    assert_allclose(moved.quantile(0.1), 4.0 * y.quantile(0.1) + 1.0, rtol=1e-8, atol=1e-8)
    assert_allclose(moved.density(3.0), y.density(0.5) / 4.0, rtol=1e-13)
    assert_allclose(moved.sd(), 4.0 * y.sd(), rtol=1e-12)
    assert_allclose(moved.mean(), 4.0 * y.mean() + 1.0, rtol=1e-12, atol=1e-12)


def test_many_quantiles_are_those_of_a_few(make, monkeypatch):
    y = make(6, (3, 7, 5))
    whole = y.quantile(0.7)
    monkeypatch.setattr("bayesvb.distributions.location_scale.AT_ONCE", 4)
    assert_array_equal(y.quantile(0.7), whole)


def test_some_places_are_those_of_all(make):
    y = make(7)
    assert_array_equal(y.at(np.array([3, 0])).density(0.4), y.density(0.4)[:, [3, 0]])


@pytest.mark.parametrize("q", [0.0, 1.0, float("nan")])
def test_a_quantile_needs_a_probability(make, q):
    with pytest.raises(DataError, match="between 0 and 1"):
        make(8).quantile(q)
