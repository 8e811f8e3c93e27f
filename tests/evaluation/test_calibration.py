from __future__ import annotations

from itertools import combinations_with_replacement, pairwise
from math import factorial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, special, stats

from bayesvb.distributions.student_mixture import StudentMixture
from bayesvb.errors import DataError
from bayesvb.evaluation import calibration as module
from bayesvb.evaluation import crps as crps_module
from bayesvb.evaluation.calibration import (
    calibration,
    coverage,
    pit_ecdf,
    pit_values,
    uniformity_p_value,
)
from bayesvb.evaluation.crps import crps


@pytest.mark.parametrize("rows", [1, 20, 1000])
@pytest.mark.parametrize("tail", [1e-12, 0.03, 0.5])
def test_binomial_probabilities_and_quantiles_are_those_of_scipy(rows, tail):
    points = module._points(rows)
    lower, upper = module._band(2.0 * tail, rows, points)
    assert_array_equal(lower, stats.binom.ppf(tail, rows, points))
    assert_array_equal(upper, stats.binom.isf(tail, rows, points))
    for counts in (lower, upper, np.full(points.size, rows), np.full(points.size, -1)):
        found = module._binomial_cdf(counts, rows, points)
        assert_allclose(found, stats.binom.cdf(counts, rows, points), rtol=1e-9)


def random_mixture(seed, *, experts=3, rows=4, least_dof=3.0):
    rng = np.random.default_rng(seed)
    return StudentMixture(
        rng.dirichlet(np.ones(experts), rows).T.copy(),
        3.0 * rng.normal(size=(experts, rows)),
        10.0 ** rng.uniform(-2.0, 1.0, size=(experts, rows)),
        least_dof + rng.gamma(1.0, 20.0, experts),
    )


def student(dof, rows=1):
    one = np.ones((1, rows))
    return StudentMixture(one, 0.0 * one, one, np.array([dof]))


def crps_of_student(y, dof):
    """Closed form: Jordan, Krüger, Lerch (2019), doi:10.18637/jss.v090.i12, appendix A."""
    law = stats.t(dof)
    spread = special.beta(0.5, dof - 0.5) / special.beta(0.5 * dof, 0.5) ** 2
    score = y * (2.0 * law.cdf(y) - 1.0)
    score += 2.0 * law.pdf(y) * (dof + y**2) / (dof - 1.0)
    return score - 2.0 * np.sqrt(dof) / (dof - 1.0) * spread


# PIT and coverage


def test_pit_of_draws_is_uniform():
    mixture = random_mixture(1, rows=3000, least_dof=0.5)
    pit = pit_values(mixture, mixture.draws(1, np.random.default_rng(2))[0])
    assert stats.kstest(pit, "uniform").pvalue > 0.01


def test_coverage_counts_the_observations_between_the_quantiles():
    mixture = random_mixture(3, rows=300)
    y = mixture.draws(1, np.random.default_rng(4))[0] * 1.3
    found = coverage(pit_values(mixture, y), [0.5, 0.9])
    for prob, observed in zip(found.prob, found.observed, strict=True):
        lower, upper = mixture.quantile(np.array([0.5 - 0.5 * prob, 0.5 + 0.5 * prob]))
        assert observed == np.mean((lower <= y) & (y <= upper))


def test_standard_error_of_coverage_is_that_of_simulated_shares(rng):
    pit = rng.random((4000, 50))
    shares = np.array([coverage(one, [0.8]).observed[0] for one in pit])
    # relative error of a standard deviation from 4000 values: 1 / sqrt(8000) = 1.1 %
    assert_allclose(shares.std(), coverage(pit[0], [0.8]).standard_error[0], rtol=0.045)


# ECDF band


def test_stay_probability_is_the_sum_over_all_paths():
    rows, points = 4, np.arange(1, 4) / 3
    lower, upper = np.array([0, 2, 4]), np.array([2, 3, 4])
    total = 0.0
    for cells in combinations_with_replacement(range(3), rows):
        steps = np.bincount(cells, minlength=3)
        counts = np.cumsum(steps)
        if ((lower <= counts) & (counts <= upper)).all():
            total += factorial(rows) / np.prod([factorial(step) for step in steps]) / 3**rows
    assert_allclose(module._stay_probability(lower, upper, rows, points), total, rtol=1e-12)


@pytest.mark.parametrize("rows", [1, 7, 100, 3000])
def test_every_path_stays_in_the_widest_band(rows):
    points = np.arange(1, min(rows, 100) + 1) / min(rows, 100)
    upper = np.full(points.size, rows)
    lower = np.where(points < 1.0, 0, rows)
    assert_allclose(module._stay_probability(lower, upper, rows, points), 1.0, rtol=1e-10)


@pytest.mark.parametrize(("rows", "prob"), [(30, 0.9), (250, 0.95)])
def test_uniform_values_stay_in_the_band_with_its_probability(rows, prob, rng):
    band = pit_ecdf(rng.random(rows), prob=prob)
    values = np.sort(rng.random((4000, rows)), axis=1)
    ecdf = np.array([np.searchsorted(one, band.points, side="right") for one in values]) / rows
    difference = ecdf - band.points
    bound_gap = 1e-12
    inside = ((difference >= band.lower - bound_gap) & (difference <= band.upper + bound_gap)).all(
        axis=1
    )
    error = np.sqrt(prob * (1.0 - prob) / 4000)
    # above by the steps of the counts: the next narrower band holds less than prob
    assert prob - 4.0 * error < inside.mean() < prob + 0.02 + 4.0 * error


def test_band_lies_between_pointwise_and_bonferroni():
    band = pit_ecdf(np.linspace(0.0, 1.0, 500), prob=0.95)
    assert 0.05 / 100 < band.gamma < 0.05
    assert band.inside
    assert (band.lower <= 0.0).all() and (band.upper >= 0.0).all()
    assert_array_equal([band.lower[-1], band.upper[-1], band.difference[-1]], 0.0)


def test_difference_is_ecdf_minus_diagonal():
    pit = np.array([0.1, 0.2, 0.2, 0.9])
    ecdf = pit_ecdf(pit)
    assert_allclose(ecdf.points, [0.25, 0.5, 0.75, 1.0])
    assert_allclose(ecdf.difference, [0.5, 0.25, 0.0, 0.0])


def test_p_value_is_small_exactly_when_the_band_is_left(rng):
    seen = set()
    for _ in range(25):
        pit = rng.random(80) ** rng.uniform(0.7, 1.4)
        inside = pit_ecdf(pit, prob=0.95).inside
        assert (uniformity_p_value(pit) >= 0.05) == inside
        seen.add(inside)
    assert seen == {True, False}


@pytest.mark.heavy
def test_p_value_of_uniform_values_is_uniform(rng):
    p_values = np.array([uniformity_p_value(rng.random(60)) for _ in range(500)])
    for level in (0.05, 0.2, 0.5):
        error = np.sqrt(level * (1.0 - level) / 500)
        assert level - 0.03 - 4.0 * error < np.mean(p_values <= level) < level + 4.0 * error


def test_p_value_counts_the_paths_that_stray_as_far():
    # two values: 0, 1 or 2 of them up to 1/2 with probability 1/4, 1/2, 1/4
    assert_allclose(uniformity_p_value(np.array([0.1, 0.2])), 0.5)
    assert_allclose(uniformity_p_value(np.array([0.1, 0.7])), 1.0)


@pytest.mark.parametrize("power", [0.5, 2.0])
def test_values_that_are_not_uniform_are_found(power, rng):
    pit = rng.random(300) ** power
    assert not pit_ecdf(pit).inside
    assert uniformity_p_value(pit) < 1e-6


@pytest.mark.parametrize("rows", [1, 2, 3, 1000, 20000])
def test_any_number_of_rows(rows, rng):
    pit = rng.random(rows)
    assert pit_ecdf(pit).points.size == min(rows, 100)
    assert 0.0 < uniformity_p_value(pit) <= 1.0


def test_impossible_values_have_no_probability():
    assert uniformity_p_value(np.zeros(2000)) == 0.0
    assert 0.0 < uniformity_p_value(np.full(60, 0.01)) < 1e-60


# CRPS


@pytest.mark.parametrize("dof", [1.05, 1.5, 3.0, 10.0, 300.0, 1e6])
@pytest.mark.parametrize("y", [0.0, 0.3, -2.0, 15.0, -400.0])
def test_crps_of_one_component_is_the_closed_form(dof, y):
    assert_allclose(crps(student(dof), np.array([y])), crps_of_student(y, dof), rtol=1e-4)


@pytest.mark.parametrize("y", [0.0, 5.0])
def test_crps_without_a_mean_is_still_the_integral(y):
    # dof = 0.6: x = ±sinh(u) and the square of the tail falls like exp(-0.2 u)
    u, step = np.linspace(-250.0, 250.0, 200001, retstep=True)
    x = np.sinh(u)
    tail = stats.t(0.6).cdf(np.where(x < y, x, -x))
    assert_allclose(
        crps(student(0.6), np.array([y])), step * (tail**2 * np.cosh(u)).sum(), rtol=2e-3
    )


def test_crps_is_the_integral_of_its_definition():
    mixture = random_mixture(5)
    y = np.array([-3.0, 0.1, 2.0, 9.0])
    for row in range(4):
        parts = (mixture.weights, mixture.location, mixture.scale)
        one = StudentMixture(*(part[:, [row]] for part in parts), mixture.dof)
        breaks = np.sort(np.concatenate([one.location[:, 0], [y[row]]]))
        edges = [breaks[0] - 1e4, breaks[0] - 30.0, *breaks, breaks[-1] + 30.0, breaks[-1] + 1e4]
        total = 0.0
        for left, right in pairwise(edges):

            def square(x, right=right, row=row, one=one):
                below = one.cdf(np.array([x]))[0]
                return below**2 if right <= y[row] else (1.0 - below) ** 2

            total += integrate.quad(square, left, right, epsabs=1e-7, limit=200)[0]
        assert_allclose(crps(mixture, y)[row], total, rtol=1e-4)


@pytest.mark.parametrize("n_components", [20, 45, 90])
@pytest.mark.quick(n_components=(20,))
def test_crps_of_many_components_is_that_of_a_fine_rule(n_components, monkeypatch):
    rng, rows = np.random.default_rng(n_components), 20
    shape = (n_components, rows)
    scale = np.exp(2.0 * rng.normal(size=(n_components, 1))) * np.ones(rows)
    mixture = StudentMixture(
        rng.dirichlet(np.full(n_components, 0.3), rows).T, 5.0 * rng.normal(size=shape), scale,
        rng.uniform(3.0, 60.0, n_components),
    )  # fmt: skip
    y = mixture.draws(1, rng)[0]
    found = crps(mixture, y)
    monkeypatch.setitem(vars(crps_module.RULE), "many", 1000)
    monkeypatch.setitem(vars(crps_module.RULE), "step", 0.05)
    monkeypatch.setitem(vars(crps_module.RULE), "expanded", 30.0)
    error = np.abs(found / crps(mixture, y) - 1.0)
    assert error.max() < 1e-3 and np.median(error) < 1e-5


def test_crps_is_the_mean_distance_minus_half_the_mean_difference():
    mixture = random_mixture(6, least_dof=5.0)
    first, second = mixture.draws(80000, np.random.default_rng(1)).reshape(2, 40000, 4)
    y = np.array([-3.0, 0.1, 2.0, 9.0])
    sample = np.abs(first - y) - 0.5 * np.abs(first - second)
    error = sample.std(axis=0) / np.sqrt(40000)
    assert (np.abs(crps(mixture, y) - sample.mean(axis=0)) < 4.5 * error).all()


def test_crps_has_the_unit_of_the_response():
    mixture = random_mixture(7)
    y = np.array([-3.0, 0.1, 2.0, 9.0])
    changed = crps(mixture.affine(5.0, -1e6), 5.0 - 1e6 * y)
    # the mirror exchanges the two halves of the rule: equal up to its error
    assert_allclose(changed, 1e6 * crps(mixture, y), rtol=1e-4)


def test_crps_prefers_the_distribution_that_made_the_data():
    mixture = random_mixture(8, rows=2000)
    y = mixture.draws(1, np.random.default_rng(9))[0]
    own = crps(mixture, y)
    for other in (mixture.affine(1.0, 1.0), mixture.affine(0.0, 1.5), mixture.affine(0.0, 0.6)):
        difference = crps(other, y) - own
        assert difference.mean() > 2.0 * difference.std() / np.sqrt(2000)


def test_crps_of_a_row_does_not_depend_on_the_others():
    mixture = random_mixture(10, rows=1030)
    y = np.linspace(-5.0, 5.0, 1030)
    parts = (mixture.weights, mixture.location, mixture.scale)
    last = StudentMixture(*(part[:, 1025:].copy() for part in parts), mixture.dof)
    assert_allclose(crps(mixture, y)[1025:], crps(last, y[1025:]), rtol=1e-12)


def test_crps_is_infinite_only_where_the_heavy_component_has_weight():
    weights = np.array([[1.0, 0.999], [0.0, 0.001]])
    one = np.ones((2, 2))
    score = crps(StudentMixture(weights, one, one, np.array([5.0, 0.5])), np.zeros(2))
    assert np.isfinite(score[0]) and score[1] == np.inf


# the whole


def test_calibration_holds_what_the_functions_return():
    mixture = random_mixture(11, rows=60)
    y = mixture.draws(1, np.random.default_rng(9))[0]
    whole = calibration(mixture, y, probs=[0.5], band=0.9)
    pit = pit_values(mixture, y)
    assert_array_equal(whole.pit, pit)
    assert_array_equal(whole.crps, crps(mixture, y))
    assert_array_equal(whole.coverage.observed, coverage(pit, [0.5]).observed)
    assert_array_equal(whole.ecdf.lower, pit_ecdf(pit, prob=0.9).lower)
    assert whole.p_value == uniformity_p_value(pit)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pit_ecdf(np.empty(0)), "pit is empty"),
        (lambda: coverage(np.array([0.5, np.nan])), r"pit\[1\] = nan is not finite"),
        (lambda: coverage(np.array([0.5]), [0.5, 90.0]), "probs = 90 is not between"),
        (lambda: pit_ecdf(np.array([0.5]), prob=1.0), "prob = 1 is not between"),
        (lambda: crps(student(3.0), np.array([np.inf])), r"observed\[0\] = inf is not finite"),
        (lambda: calibration(student(3.0), np.array([np.nan])), r"observed\[0\] = nan"),
    ],
)
def test_what_cannot_be_judged_is_refused(call, message):
    with pytest.raises(DataError, match=message):
        call()
