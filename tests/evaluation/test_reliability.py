"""Reliability curves: isotonic regression, the parts of the Brier score, bands, and the test."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss

from bayesvb.errors import DataError
from bayesvb.evaluation.reliability import POINTS, reliability


def by_minimax(p, happened):
    """Isotonic regression by its formula: max over starts of the min over ends of the means."""
    values, mean, rows = np.unique(p), [], []
    for value in values:
        mean.append(happened[p == value].mean())
        rows.append((p == value).sum())
    stats, weights = np.cumsum(np.array(mean) * rows), np.cumsum(rows)
    n = len(values)

    def average(a, b):
        first = (stats[a - 1], weights[a - 1]) if a else (0.0, 0.0)
        return (stats[b] - first[0]) / (weights[b] - first[1])

    return [max(min(average(a, b) for b in range(i, n)) for a in range(i + 1)) for i in range(n)]


@settings(max_examples=25)
@given(st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.25, 0.4, 0.6, 0.8, 1.0]), st.booleans()),
                min_size=1, max_size=20))  # fmt: skip
def test_a_reliability_curve_is_the_isotonic_regression_and_the_error_falls_into_parts(rows):
    p = np.array([one for one, _ in rows])
    happened = np.array([float(one) for _, one in rows])
    both = np.column_stack([1.0 - p, p])
    curve = reliability(both, happened.astype(int), np.random.default_rng(0), n_sets=3).curves[1]
    share = np.array(by_minimax(p, happened))
    assert curve.share == pytest.approx(share)
    each = share[np.searchsorted(np.unique(p), p)]
    assert curve.miscalibration == pytest.approx(
        np.mean((p - happened) ** 2) - np.mean((each - happened) ** 2)
    )
    assert curve.discrimination == pytest.approx(happened.var() - np.mean((each - happened) ** 2))
    assert curve.brier == pytest.approx(np.mean((p - happened) ** 2))


def test_probabilities_that_are_right_pass_and_those_too_sure_of_themselves_do_not():
    rng = np.random.default_rng(5)
    p_values = []
    for _ in range(20):
        p = rng.dirichlet(np.ones(3), 150)
        codes = np.array([rng.choice(3, p=one) for one in p])
        p_values.append(reliability(p, codes, rng, n_sets=50).p_value)
    # twenty uniform numbers: the mean has standard deviation 0.065
    assert 0.3 < np.mean(p_values) < 0.7 and np.ptp(p_values) > 0.5
    bold = p**3 / (p**3).sum(axis=1, keepdims=True)
    found = reliability(bold, codes, rng, n_sets=200)
    assert found.p_value == 1 / 201
    assert (found.curves[0].lower <= found.curves[0].upper).all()


def test_curves_and_errors_are_those_of_scikit_learn(rng):
    p = rng.dirichlet(np.ones(3), 60).round(2)
    p[:, 2] = 1.0 - p[:, :2].sum(axis=1)
    p = np.abs(p)
    codes = rng.integers(0, 3, 60)
    found = reliability(p, codes, rng, n_sets=5)
    assert len(found.curves) == 3
    for k, curve in enumerate(found.curves):
        happened = (codes == k).astype(float)
        theirs = IsotonicRegression().fit(p[:, k], happened)
        assert_allclose(curve.share, theirs.predict(curve.probability), atol=1e-12)
        assert curve.brier == pytest.approx(brier_score_loss(happened, p[:, k]))
        least = brier_score_loss(happened, np.clip(theirs.predict(p[:, k]), 0.0, 1.0))
        assert curve.miscalibration == pytest.approx(curve.brier - least)
        assert curve.uncertainty == pytest.approx(happened.var())


def test_long_curves_are_thinned_and_keep_their_ends(rng):
    p = rng.uniform(size=500)
    codes = (rng.uniform(size=500) < p).astype(int)
    curve = reliability(np.column_stack([1.0 - p, p]), codes, rng, n_sets=5).curves[1]
    assert len(curve.probability) == len(curve.share) == len(curve.lower) == POINTS
    assert (curve.probability[0], curve.probability[-1]) == (p.min(), p.max())
    assert (np.diff(curve.share) >= 0.0).all()


def test_a_band_holds_the_share_of_right_predictions_nine_times_in_ten(rng):
    """One probability, so that the curve is one binomial share: 400 rows, p = 0.3."""
    p = np.full(400, 0.3)
    codes = (rng.uniform(size=400) < p).astype(int)
    curve = reliability(np.column_stack([1.0 - p, p]), codes, rng, n_sets=2000).curves[1]
    half = 1.645 * np.sqrt(0.3 * 0.7 / 400)
    # quantiles of 2000 sets, each a multiple of 1/400
    assert_allclose([curve.lower[0], curve.upper[0]], [0.3 - half, 0.3 + half], atol=0.006)
    assert curve.share[0] == pytest.approx(codes.mean())


def test_what_is_no_prediction_is_refused(rng):
    with pytest.raises(DataError, match="do not match"):
        reliability(np.full((3, 2), 0.5), [0, 1], rng)
    with pytest.raises(DataError, match="probabilities of row 1"):
        reliability([[0.5, 0.5], [0.5, 0.6]], [0, 1], rng)
    with pytest.raises(DataError, match="for 2 classes"):
        reliability([[0.5, 0.5]], [2], rng)
