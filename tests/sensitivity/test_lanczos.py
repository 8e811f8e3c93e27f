"""Block Lanczos against dense inverses: exact spaces, short directions, saddle points."""

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayesvb.sensitivity import lanczos
from bayesvb.sensitivity.lanczos import ConvexBound, projected_covariance

SIZE, TILTS = 60, 12


@dataclass
class Problem:
    """``V`` and ``f''`` as matrices."""

    covariance: np.ndarray
    curvature: np.ndarray
    n_answers: int = 0

    def metric(self, directions):
        return directions @ self.covariance

    def answers(self, directions, metric):
        self.n_answers += len(directions)
        return metric @ self.curvature

    def expected(self, tilts):
        solved = np.linalg.solve(np.eye(SIZE) - self.curvature @ self.covariance, tilts.T)
        return tilts @ self.covariance @ solved


def problem(slopes):
    """A problem whose ``F'`` has these eigenvalues, and tilts of the first few entries."""
    rng = np.random.default_rng(4)
    root = np.linalg.qr(rng.normal(size=(SIZE, SIZE)))[0] * rng.uniform(0.5, 2.0, SIZE)
    axes = np.linalg.qr(rng.normal(size=(SIZE, SIZE)))[0]
    inverse = np.linalg.inv(root)
    curvature = inverse.T @ (axes * slopes) @ axes.T @ inverse
    tilts = np.pad(rng.normal(size=(TILTS, TILTS)), [(0, 0), (0, SIZE - TILTS)])
    return Problem(root @ root.T, 0.5 * (curvature + curvature.T)), tilts


def flat(rng=7):
    """Slopes of iterations: most are small, two are next to one, as of a flat bound."""
    slopes = 0.3 * np.random.default_rng(rng).uniform(-1.0, 1.0, SIZE)
    slopes[:2] = 0.98, 0.999
    return slopes


def test_the_covariance_is_that_of_the_dense_inverse(monkeypatch):
    monkeypatch.setattr(lanczos, "NEGLIGIBLE", 1e-20)
    own, tilts = problem(flat())
    expected = own.expected(tilts)
    found = projected_covariance(own, tilts)
    assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


def test_directions_of_little_effect_cost_less_than_their_part_of_a_variance(monkeypatch):
    own, tilts = problem(flat())
    expected, counts = own.expected(tilts), []
    for part in (1e-20, 1e-3):
        monkeypatch.setattr(lanczos, "NEGLIGIBLE", part)
        own.n_answers = 0
        found = projected_covariance(own, tilts)
        counts.append(own.n_answers)
        scale = np.sqrt(np.diag(expected))
        assert np.abs((found - expected) / np.outer(scale, scale)).max() < part + 1e-9
    assert counts[1] < 0.8 * counts[0]


def test_tilts_that_change_all_statistics_have_the_same_covariance(monkeypatch):
    monkeypatch.setattr(lanczos, "NEGLIGIBLE", 1e-20)
    own, tilts = problem(flat())
    turned = tilts @ np.linalg.qr(np.random.default_rng(2).normal(size=(SIZE, SIZE)))[0]
    expected = own.expected(turned)
    found = projected_covariance(own, turned)
    assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("steep", [1.2, 3.0])
def test_a_saddle_point_is_told_by_a_direction_along_which_the_bound_bends_up(steep):
    slopes = flat()
    slopes[5] = steep
    own, tilts = problem(slopes)
    with pytest.raises(ConvexBound) as error:
        projected_covariance(own, tilts)
    way = error.value.direction
    metric = own.metric(way[None])[0]
    assert way @ metric == pytest.approx(1.0)
    assert metric @ own.curvature @ metric == pytest.approx(error.value.slope)
    assert 1.0 < error.value.slope <= steep + 1e-9
