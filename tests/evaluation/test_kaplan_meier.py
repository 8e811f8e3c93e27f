"""The product-limit estimate against statsmodels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayesvb.evaluation.kaplan_meier import kaplan_meier


def test_it_is_that_of_statsmodels_with_ties_and_weights():
    duration = pytest.importorskip("statsmodels.duration.survfunc")
    rng = np.random.default_rng(1)
    values, seen = rng.integers(1, 15, 60).astype(float), rng.random(60) < 0.6
    weight = rng.integers(1, 4, 60).astype(float)
    found = kaplan_meier(values, seen, weight)
    times = np.repeat(values, weight.astype(int))
    exact = duration.SurvfuncRight(times, np.repeat(seen, weight.astype(int)))
    kept = exact.n_events > 0
    assert_allclose(found.times, np.asarray(exact.surv_times)[kept])
    assert_allclose(found.survival, exact.surv_prob[kept])
    assert_allclose(found.at_risk, exact.n_risk[kept])
    inner = found.survival > 0.0
    spread = exact.surv_prob_se[kept][inner] / found.survival[inner]  # of the logarithm
    power = np.exp(1.959964 * spread / np.abs(np.log(found.survival[inner])))
    assert_allclose(found.lower[inner], found.survival[inner] ** power, rtol=1e-6)


def test_without_censoring_it_is_the_share_of_larger_values():
    values = np.array([3.0, 1.0, 2.0, 2.0])
    found = kaplan_meier(values, np.ones(4, dtype=bool))
    assert_allclose(found.survival, [0.75, 0.25, 0.0])
    assert (found.lower <= found.survival).all() and (found.survival <= found.upper).all()
