"""Changes of parameters and predictions by name."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import bayesvb as bvb
from bayesvb.results import named_changes as module
from bayesvb.results.named_changes import POINTS_AT_ONCE, NamedChanges
from bayesvb.results.robust import jackknife


@pytest.fixture(scope="module")
def named(regimes):
    model = bvb.DensityRegression("y ~ x | gating(x)", regimes, n_components=2)
    fit = model.fit(seed=1, restarts=2, draws=2000)
    return NamedChanges(fit, jackknife(fit, "test"))


def test_names_and_deviations_are_those_of_the_summary(named):
    table = named.fit.summary()
    assert list(named.index) == list(table.index)
    coefficients = table["p_positive"].notna().to_numpy()
    assert (named.signed == coefficients).all()
    assert_allclose(named.sd[named.signed], table["sd"][named.signed], rtol=0.15)


def test_changes_do_not_depend_on_what_is_asked_beside(named):
    rng = np.random.default_rng(1)
    points = 0.3 * rng.standard_normal((POINTS_AT_ONCE + 5, named.jackknife.size))
    whole = named.parameters(points)
    assert_allclose(named.parameters(points[-2:]), whole[-2:], atol=1e-12)
    assert_allclose(named.parameters(0.0 * points[:1]), 0.0, atol=1e-12)
    assert named.means(points).shape == (len(points), len(named.sd_of_means))


def test_of_many_points_near_ones_are_linear(named, monkeypatch):
    rng = np.random.default_rng(2)
    points = 0.02 * rng.standard_normal((40, named.jackknife.size))
    points[3] *= 50.0
    whole = named.parameters(points)
    monkeypatch.setattr(module, "CURVED", 1)
    some = named.parameters(points)
    assert_allclose(some[3], whole[3])
    off = np.abs(named.in_sds(some - whole, named.sd)).max(axis=1)
    assert 0.0 < off.max() < 0.05


def test_a_change_of_one_deviation_has_distance_one_over_their_number(named):
    values, axes = np.linalg.eigh(named.covariance[np.ix_(named.signed, named.signed)])
    change = np.zeros((1, len(named.sd)))
    change[0, named.signed] = axes[:, -1] * np.sqrt(values[-1])
    assert_allclose(named.distances(change), 1.0 / named.signed.sum(), rtol=1e-4)
    assert (named.in_sds(change, np.zeros_like(named.sd)) == 0.0).all()


def test_slopes_are_found_once(named, monkeypatch):
    fresh, asked = NamedChanges(named.fit, named.jackknife), []
    none = np.zeros((fresh.jackknife.size, 1))
    monkeypatch.setattr(NamedChanges, "_slopes", lambda _, f: asked.append(f.__name__) or none)
    for _ in range(2):
        assert len(fresh.sd) == len(fresh.sd_of_means) == 1
        assert fresh._mean_slopes.shape == fresh._parameter_slopes.shape
    assert sorted(asked) == ["_means", "_parameters"]
