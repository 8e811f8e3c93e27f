"""Mixtures of Gaussians draw by draw: moments, tails and quantiles that agree with each other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from bayesvb.distributions.normal_mixture import NormalMixture
from bayesvb.errors import DataError


def mixture(rng, shape=(3, 4, 5), spread=3.0):
    weights = rng.dirichlet(np.ones(shape[0]), shape[1:])
    return NormalMixture(
        np.moveaxis(weights, -1, 0), spread * rng.normal(size=shape), np.exp(rng.normal(size=shape))
    )


def test_moments_are_those_of_the_density(rng):
    y = mixture(rng, (3, 1, 1))
    total, first, second = (
        quad(lambda v, p=p: v**p * y.density(v)[0, 0], -60, 60, limit=400)[0] for p in range(3)
    )
    assert total == pytest.approx(1.0, abs=1e-7)
    assert y.mean()[0, 0] == pytest.approx(first, abs=1e-6)
    assert y.sd()[0, 0] == pytest.approx(np.sqrt(second - first**2), abs=1e-6)


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32), q=st.floats(1e-12, 1 - 1e-9), spread=st.floats(0.0, 1e4))
def test_the_probability_below_a_quantile_is_its_own(seed, q, spread):
    y = mixture(np.random.default_rng(seed), (3, 2, 2), spread)
    found = y.quantile(q)
    for place in np.ndindex(found.shape):
        one = NormalMixture(*(part[:, *place][:, None] for part in vars(y).values()))
        below, above = one.below(found[place])[0], one.above(found[place])[0]
        # between components far apart many points have nearly the same probability below them
        assert below == pytest.approx(q, rel=1e-6, abs=1e-12) or one.density(found[place])[0] < 1e-9
        assert below + above == pytest.approx(1.0, abs=1e-14)


def test_one_component_is_a_gaussian(rng):
    y = mixture(rng, (1, 3, 2))
    law = norm(y.location[0], y.scale[0])
    np.testing.assert_allclose(y.quantile(0.9), law.ppf(0.9), rtol=1e-9)
    np.testing.assert_allclose(y.above(0.5), law.sf(0.5), rtol=1e-12)
    np.testing.assert_allclose(y.sd(), y.scale[0])


def test_a_component_without_weight_does_not_matter(rng):
    y = mixture(rng, (1, 3, 2))
    far = NormalMixture(
        np.concatenate([y.weights, 0 * y.weights]),
        np.concatenate([y.location, y.location + 1e6]),
        np.concatenate([y.scale, 1e-3 * y.scale]),
    )
    np.testing.assert_allclose(far.quantile(0.25), y.quantile(0.25), rtol=1e-9)


def test_many_quantiles_are_those_of_a_few(rng, monkeypatch):
    y = mixture(rng, (3, 7, 5))
    whole = y.quantile(0.7)
    monkeypatch.setattr("bayesvb.distributions.location_scale.AT_ONCE", 4)
    np.testing.assert_array_equal(y.quantile(0.7), whole)


@pytest.mark.parametrize("q", [0.0, 1.0, float("nan")])
def test_a_quantile_needs_a_probability(q, rng):
    with pytest.raises(DataError, match="between 0 and 1"):
        mixture(rng).quantile(q)
