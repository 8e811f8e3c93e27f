"""Links of cumulative models: derivatives are those of the expected log probability."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayesvb.experts.ordinal_links import LOGIT, PROBIT

STEP = 1e-5

ENDS = np.array([[-np.inf, 0.3], [-0.4, 0.3], [0.3, np.inf], [0.3, 0.35], [-6.0, -5.0], [7.0, 9.0]])


@pytest.mark.parametrize("link", [LOGIT, PROBIT], ids=["logit", "probit"])
def test_derivatives_are_differences(link, rng):
    lower, upper = ENDS.T
    mean, variance = rng.normal(size=6), np.array([0.0, 0.0, 0.01, 0.5, 0.2, 0.4])
    found = link.expected(lower, upper, mean, variance)

    def moved(what, step):
        ends = {"lower": lower, "upper": upper, "mean": mean}
        return link.expected(*{**ends, what: ends[what] + step}.values(), variance)

    for what, slope, sign in (("mean", "slope", 1.0), ("upper", 0, 1.0), ("lower", 0, -1.0)):
        ahead, behind = moved(what, STEP), moved(what, -STEP)
        known = np.isfinite({"lower": lower, "upper": upper, "mean": mean}[what])
        first = getattr(found, slope) if what == "mean" else getattr(found, what)[0]
        second = found.curvature if what == "mean" else getattr(found, what)[1]
        rate = (ahead.value - behind.value) / (2.0 * STEP)
        assert_allclose(sign * first[known], rate[known], rtol=1e-5, atol=1e-7)
        each = [one.slope if what == "mean" else getattr(one, what)[0] for one in (ahead, behind)]
        bend = -sign * (each[0] - each[1]) / (2.0 * STEP)
        assert_allclose(second[known], bend[known], rtol=1e-4, atol=1e-6)
    both = np.isfinite(lower) & np.isfinite(upper)
    across = -(moved("lower", STEP).upper[0] - moved("lower", -STEP).upper[0]) / (2.0 * STEP)
    assert_allclose(found.cross[both], across[both], rtol=1e-4, atol=1e-6)
    assert (found.curvature > 0.0).all()


@pytest.mark.parametrize("link", [LOGIT, PROBIT], ids=["logit", "probit"])
def test_probabilities_are_those_of_the_law(link, rng):
    at = np.array([-1.0, 0.2, 1.5])
    beyond = np.concatenate([[1.0], link.cdf(0.4 - at), [0.0]])
    ends = np.concatenate([[-np.inf], at, [np.inf]]) - 0.4
    assert_allclose(np.exp(link.log_mass(ends[:-1], ends[1:])), -np.diff(beyond), rtol=1e-9)
    drawn = link.cdf(0.4 + 0.5 * rng.normal(size=200_000)).mean()
    assert link.beyond(np.array(0.4), np.array(0.25)) == pytest.approx(drawn, abs=2e-3)


@pytest.mark.parametrize("link", [LOGIT, PROBIT], ids=["logit", "probit"])
def test_a_narrow_level_has_the_density_of_its_place(link):
    lower, nothing = np.array([0.3]), np.zeros(1)
    upper = lower + 5e-10
    width, slope = upper - lower, (link.cdf(lower + STEP) - link.cdf(lower - STEP)) / (2.0 * STEP)
    found = link.expected(lower, upper, nothing, nothing)
    assert_allclose(np.exp(found.value), slope * width, rtol=1e-5)
    assert_allclose(found.upper[0] * width, 1.0, rtol=1e-5)
