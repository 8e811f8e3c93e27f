"""Recalibrated distributions: what the map is, and what it makes of a distribution."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayesvb.distributions.recalibration import Recalibrated, Recalibration
from bayesvb.distributions.student_mixture import StudentMixture
from bayesvb.errors import DataError

PROBS = np.array([1e-6, 0.003, 0.05, 0.25, 0.5, 0.8, 0.99, 1.0 - 1e-6])


def pits(kind, n=100, seed=0):
    rng = np.random.default_rng(seed)
    uniform = rng.uniform(size=n)
    return {
        "uniform": uniform,
        "far out": np.where(uniform < 0.5, 2.0 * uniform**2, 1.0 - 2.0 * (1.0 - uniform) ** 2),
        "in the middle": rng.beta(4.0, 4.0, n),
        "skewed": 0.2 + 0.8 * uniform**2,
        "tied": np.repeat([0.1, 0.5], n // 2),
        "one": np.array([0.3]),
    }[kind]


KINDS = ("uniform", "far out", "in the middle", "skewed", "tied", "one")


@pytest.fixture
def mixture():
    return StudentMixture(
        np.array([[0.3, 1.0], [0.7, 0.0]]), np.array([[-1.0, 0.0], [2.0, 5.0]]),
        np.array([[0.5, 2.0], [1.0, 1.0]]), np.array([4.0, 30.0]),
    )  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_the_map_and_its_inverse_increase_and_undo_each_other(kind):
    own = Recalibration.of(pits(kind))
    u = np.linspace(0.0, 1.0, 5001)
    assert (np.diff(own.cdf(u)) > 0.0).all() and (np.diff(own.quantile(u)) > 0.0).all()
    assert_allclose(own.cdf(np.array([0.0, 1.0])), [0.0, 1.0], atol=0.0)
    assert_allclose(own.cdf(own.quantile(u)), u, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_its_density_is_its_slope_and_bounded(kind):
    values = pits(kind)
    own = Recalibration.of(values)
    cells = np.diff(own.values)
    middle = own.values[:-1] + 0.5 * cells
    assert_allclose(own.density(middle) @ cells, 1.0, rtol=1e-12)
    assert_allclose(own.density(middle) * cells, np.diff(own.levels), rtol=1e-9)
    assert 0.0 < own.density(middle).min() and own.density(middle).max() <= len(values) + 1.0


@pytest.mark.parametrize("n", [9, 99, 3000])
def test_values_that_are_spread_evenly_change_nothing(n):
    own = Recalibration.of(np.arange(1, n + 1) / (n + 1.0))
    u = np.linspace(0.0, 1.0, 777)
    assert_allclose(own.cdf(u), u, atol=1e-10)
    assert_allclose(own.density(u), 1.0, atol=1e-7)


@pytest.mark.parametrize("kind", ["uniform", "far out", "in the middle", "skewed"])
def test_it_learns_how_values_are_distributed(kind):
    own, new = Recalibration.of(pits(kind, 2000)), pits(kind, 20_000, seed=1)
    shares = [(new <= value).mean() for value in own.quantile(PROBS[1:-1])]
    assert_allclose(shares, PROBS[1:-1], atol=0.03)


def test_a_row_of_weight_two_counts_as_two_rows():
    values, weights = pits("skewed", 50), np.tile([1.0, 2.0], 25)
    once, twice = Recalibration.of(values, weights), np.repeat(values, weights.astype(int))
    assert_allclose(once.values, Recalibration.of(twice).values, atol=1e-12)
    dropped = Recalibration.of(np.append(values, 0.9), np.append(weights, 0.0))
    assert_allclose(dropped.values, once.values, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_distribution_function_and_quantiles_undo_each_other(kind, mixture):
    own = Recalibrated(mixture, Recalibration.of(pits(kind)))
    for p, quantiles in zip(PROBS, own.quantile(PROBS), strict=True):
        assert_allclose(own.cdf(quantiles), p, atol=1e-7)
    assert_allclose(own.quantile(np.array([0.0, 1.0])), [[-np.inf] * 2, [np.inf] * 2])


@pytest.mark.parametrize("kind", ["far out", "skewed"])
def test_the_density_is_the_slope_and_integrates_to_one(kind, mixture):
    own = Recalibration.of(pits(kind))
    points = np.linspace(-40.0, 40.0, 40_001)
    row = np.zeros(len(points), dtype=int)
    many = StudentMixture(
        mixture.weights[:, row], mixture.location[:, row], mixture.scale[:, row], mixture.dof
    )
    density = np.exp(Recalibrated(many, own).log_density(points))
    assert density.sum() * 0.002 == pytest.approx(1.0, abs=1e-3)
    assert_allclose(density.cumsum() * 0.002, Recalibrated(many, own).cdf(points), atol=2e-3)
    here = Recalibrated(mixture, own).density_at(points[[20_000, 20_700]])
    assert_allclose(here[:, 0], density[[20_000, 20_700]])


def test_units_change_nothing(mixture):
    own = Recalibration.of(pits("far out"))
    here, there = Recalibrated(mixture, own), Recalibrated(mixture.affine(7.0, 3.0), own)
    y = np.array([0.4, -1.0])
    assert_allclose(there.quantile(PROBS), 7.0 + 3.0 * here.quantile(PROBS), rtol=1e-6)
    assert_allclose(there.cdf(7.0 + 3.0 * y), here.cdf(y))
    assert_allclose(there.log_density(7.0 + 3.0 * y), here.log_density(y) - np.log(3.0))


def test_what_is_missing_stays_missing(mixture):
    own = Recalibrated(mixture, Recalibration.of(np.append(pits("uniform"), np.nan)))
    gap = np.array([np.nan, 0.0])
    for values in (own.cdf(gap), own.log_density(gap)):
        assert np.isnan(values).tolist() == [True, False]


def test_what_is_not_to_be_had_is_said(mixture):
    own = Recalibrated(mixture, Recalibration.of(pits("uniform")))
    for ask in (own.mean, own.sd, lambda: own.draws(3, np.random.default_rng(1))):
        with pytest.raises(DataError, match="only for 'quantile', 'interval', 'cdf'"):
            ask()
    with pytest.raises(DataError, match="no row has a PIT value"):
        Recalibration.of(np.array([np.nan]))
    with pytest.raises(DataError, match="q = 2 is not a probability"):
        own.quantile(np.array([2.0]))
