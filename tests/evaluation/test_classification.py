"""Scores and calibration of class probabilities."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom
from sklearn.metrics import brier_score_loss, confusion_matrix, log_loss

from bayesvb.errors import DataError
from bayesvb.evaluation.classification import calibration_error, confusion, reliability, scores


@pytest.fixture
def forecasts(rng):
    """Right probabilities of three classes, and outcomes drawn from them."""
    p = rng.dirichlet(np.ones(3), size=4000)
    y = (rng.random((len(p), 1)) > np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)
    return p, y


def test_scores_are_those_of_scikit_learn(forecasts):
    p, y = forecasts
    found = scores(p, y)
    assert found.accuracy == (p.argmax(axis=1) == y).mean()
    assert_allclose(found.log_density, -log_loss(y, p), rtol=1e-12)
    assert_allclose(found.brier, brier_score_loss(y, p, scale_by_half=False), rtol=1e-12)
    assert (confusion(p, y) == confusion_matrix(y, p.argmax(axis=1))).all()


def test_a_class_thought_impossible_costs_everything():
    assert scores(np.array([[1.0, 0.0]]), np.array([1])).log_density == -np.inf


def test_calibration_error_by_hand():
    p = np.array([[0.9, 0.1], [0.9, 0.1], [0.9, 0.1], [0.6, 0.4], [0.4, 0.6]])
    found = calibration_error(p, np.array([0, 0, 1, 0, 0]), n_bins=2)
    # one bin (0.5, 1]: confidence 3.9 / 5, accuracy 3 / 5
    assert_allclose(found.error, 0.18)
    found = calibration_error(p, np.array([0, 0, 1, 0, 0]), n_bins=5)
    # (0.4, 0.6]: 0.6 and 1/2 of two; (0.8, 1]: 0.9 and 2/3 of three
    assert_allclose(found.error, 0.4 * 0.1 + 0.6 * (0.9 - 2.0 / 3.0))
    variance = 0.4 * 0.25 + 0.6 * (2.0 / 9.0) / 2.0
    squares = 0.4 * 0.1**2 + 0.6 * (0.9 - 2.0 / 3.0) ** 2
    assert_allclose(found.debiased, np.sqrt(max(squares - variance, 0.0)))


def test_the_debiased_error_of_right_probabilities_is_near_zero_in_small_samples(rng):
    squares, errors = [], []
    for _ in range(200):
        p = rng.dirichlet(np.ones(3), size=60)
        y = (rng.random((60, 1)) > np.cumsum(p, axis=1)[:, :-1]).sum(axis=1)
        found = calibration_error(p, y, n_bins=10)
        errors.append(found.error)
        squares.append(found.debiased)
    assert np.mean(errors) > 0.1
    assert np.median(squares) < 0.06


def test_reliability_bands_are_binomial_for_equal_probabilities(rng):
    p = np.full(200, 0.35)
    found = reliability(p, rng.random(200) < 0.35, rng=rng, prob=0.9, n_draws=4000)
    assert (found.count == [0, 0, 0, 200, 0, 0, 0, 0, 0, 0]).all()
    assert_allclose(found.confidence[3], 0.35)
    expected = binom.ppf([0.05, 0.95], 200, 0.35) / 200
    assert_allclose([found.band_lower[3], found.band_upper[3]], expected, atol=0.0051)
    assert np.isnan(found.frequency[[0, 9]]).all() and np.isnan(found.band_lower[0])


def test_right_probabilities_stay_inside_their_bands(forecasts, rng):
    p, y = forecasts
    found = reliability(p[:, 0], y == 0, rng=rng, prob=0.99)
    assert found.count.sum() == len(y)
    inside = (found.band_lower <= found.frequency) & (found.frequency <= found.band_upper)
    assert inside.sum() >= len(inside) - 1
    wrong = reliability(np.sqrt(p[:, 0]), y == 0, rng=rng, prob=0.99)
    assert (wrong.frequency < wrong.band_lower).sum() >= 6


def test_edges_belong_to_the_bin_below(rng):
    found = reliability(np.array([0.0, 0.5, 0.5, 1.0]), np.ones(4, dtype=bool), rng=rng, n_bins=2)
    assert found.count.tolist() == [3, 1]


@pytest.mark.parametrize(
    ("p", "y", "message"),
    [
        ([[0.5, 0.5]], [0, 1], "do not match"),
        ([[0.5, 0.6]], [0], "row 0"),
        ([[1.5, -0.5]], [0], "row 0"),
        ([[np.nan, 0.5]], [0], "row 0"),
        ([[0.5, 0.5]], [2], "for 2 classes"),
        ([[0.5, 0.5]], [-1], "for 2 classes"),
        ([[0.5, 0.5]], [0.5], "float64"),
        (np.zeros((0, 2)), np.zeros(0, dtype=int), "do not match"),
    ],
)
def test_nonsense_is_refused(p, y, message):
    with pytest.raises(DataError, match=message):
        scores(np.array(p), np.array(y))


def test_a_number_of_bins_that_is_not_positive_is_refused():
    with pytest.raises(DataError, match="n_bins=0"):
        calibration_error(np.array([[0.5, 0.5]]), np.array([0]), n_bins=0)


@pytest.mark.parametrize("p", [[0.5, 1.5], [[0.5]], [np.nan, 0.5]])
def test_probabilities_of_events_lie_between_zero_and_one(p, rng):
    with pytest.raises(DataError, match="between 0 and 1"):
        reliability(np.array(p), np.ones(np.shape(p), dtype=bool), rng=rng)
