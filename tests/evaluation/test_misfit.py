"""Tests behind the verdict: their size where nothing is wrong, and what they find."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from scipy.special import ndtr
from statsmodels.stats.diagnostic import normal_ad

from bayesvb.evaluation.discreteness import discreteness, rows_beyond
from bayesvb.evaluation.family_wise import holm
from bayesvb.evaluation.normal_scores import FARTHEST, normal_scores, shape_tests, width_test
from bayesvb.evaluation.row_order import autocorrelation, positive_autocorrelation
from bayesvb.evaluation.score_regression import (
    Estimated,
    added_beyond,
    added_columns,
    powers,
    standardised,
    waves,
)
from bayesvb.evaluation.unseen_optima import unseen_share
from bayesvb.evaluation.within_groups import WithinGroups
from bayesvb.linear.designs import GroupRows

REPEATS = 300
p_values = arrays(np.float64, st.integers(1, 12), elements=st.floats(0.0, 1.0))


def rejected(make, level=0.05):
    """Share of simulated p-values below the level, in standard errors above it."""
    rng = np.random.default_rng(5)
    share = np.mean([make(rng) < level for _ in range(REPEATS)])
    return (share - level) / np.sqrt(level * (1.0 - level) / REPEATS)


def test_tests_of_shape_keep_their_level_with_estimated_mean_and_variance():
    rng = np.random.default_rng(5)
    found = [shape_tests(rng.normal(3.0, 2.0, 100)) for _ in range(REPEATS)]
    for kind in ("skew", "tails", "shape"):
        share = np.mean([one[kind][1] < 0.05 for one in found])
        assert abs(share - 0.05) < 3.5 * np.sqrt(0.05 * 0.95 / REPEATS)


def test_the_width_and_the_order_of_rows_keep_their_level():
    assert abs(rejected(lambda rng: width_test(rng.normal(size=100))[1])) < 3.5
    assert rejected(lambda rng: positive_autocorrelation(rng.normal(size=200))[1]) < 3.5


@pytest.mark.parametrize("n", [20, 35, 1000])
@pytest.mark.parametrize("law", [stats.norm(), stats.expon(), stats.t(3), stats.randint(0, 4)])
def test_tests_of_shape_are_those_of_scipy_and_statsmodels(law, n):
    values = 2.0 + 1e3 * law.rvs(size=n, random_state=5)
    found = shape_tests(values)
    expected = (stats.skew(values), stats.skewtest(values).pvalue)
    np.testing.assert_allclose(found["skew"], expected, rtol=1e-8, atol=1e-200)
    expected = (stats.kurtosis(values), stats.kurtosistest(values).pvalue)
    np.testing.assert_allclose(found["tails"], expected, rtol=1e-8, atol=1e-200)
    np.testing.assert_allclose(found["shape"][1], normal_ad(values)[1], rtol=1e-7, atol=1e-30)


@pytest.mark.parametrize("shape", [powers, waves])
def test_columns_of_a_regression_keep_their_level(shape):
    """Residuals are orthogonal to what was fitted; without that the test would be too shy."""

    def p(rng):
        x = rng.normal(size=60)
        fitted = np.column_stack([np.ones(60), x])
        y = rng.normal(size=60)
        residual = y - fitted @ np.linalg.lstsq(fitted, y, rcond=None)[0]
        return added_columns(residual, shape(x), fitted)[1]

    assert abs(rejected(p)) < 3.5


def test_the_f_test_is_that_of_two_nested_regressions():
    rng = np.random.default_rng(3)
    x, z, y = rng.normal(size=(3, 50))
    small, large = np.column_stack([np.ones(50), x]), np.column_stack([np.ones(50), x, z, z**2])
    rss = [np.sum((y - m @ np.linalg.lstsq(m, y, rcond=None)[0]) ** 2) for m in (small, large)]
    share, p = added_columns(y, np.column_stack([z, z**2]), small)
    ratio = (rss[0] - rss[1]) / 2.0 / (rss[1] / 46.0)
    assert share == pytest.approx(1.0 - rss[1] / rss[0])
    assert p == pytest.approx(stats.f.sf(ratio, 2, 46))


def test_combinations_of_what_was_fitted_are_no_question():
    rng = np.random.default_rng(3)
    x, z = rng.normal(size=(2, 50))
    fitted = np.column_stack([np.ones(50), x, z])
    assert added_columns(rng.normal(size=50), (x - 2.0 * z)[:, None], fitted) is None
    assert added_columns(rng.normal(size=50), np.zeros((50, 1)), fitted) is None
    assert added_columns(np.zeros(50), (x**2)[:, None], fitted) is None
    assert added_columns(rng.normal(size=12), rng.normal(size=(12, 1)), fitted[:12]) is None


def test_columns_that_serve_many_tests_give_the_same_answer():
    rng = np.random.default_rng(4)
    y, x, z = rng.normal(size=(3, 50))
    ones = np.ones((50, 1))
    base = Estimated.of(ones).together(np.column_stack([x, 3.0 * x + 2.0, z]))
    assert base.n_coefficients == 3
    assert np.allclose(base.columns.T @ base.columns, np.eye(3))
    whole = np.column_stack([ones, x, z])
    product = (x * z)[:, None]
    assert added_beyond(y, product, base) == pytest.approx(added_columns(y, product, whole))


@pytest.mark.parametrize("n_effects", [1, 2])
def test_effects_of_groups_are_cleared_as_their_columns_are(n_effects):
    rng = np.random.default_rng(5)
    place, effects = rng.integers(0, 12, 90), np.stack([np.ones(90), rng.normal(size=90)])
    place[:2], place[2:] = 12, np.minimum(place[2:], 11)  # the last group has two rows
    y, x, z = rng.normal(size=(3, 90))
    each = (place[:, None] == np.arange(13)).astype(float)
    whole = np.column_stack([one[:, None] * each for one in effects[:n_effects]] + [x, np.ones(90)])
    groups = WithinGroups.of(GroupRows(place, effects[:n_effects]))
    assert groups.n_coefficients == 13 * n_effects
    found = added_beyond(y, z[:, None], Estimated.of(np.column_stack([x, np.ones(90)]), groups))
    assert found == pytest.approx(added_columns(y, z[:, None], whole))
    assert added_beyond(y, each[:, :3], Estimated.of(x[:, None], groups)) is None


def test_polynomials_of_ranks_are_blind_to_outliers_and_monotone_scales():
    x = np.random.default_rng(2).normal(size=40)
    assert np.allclose(waves(x), waves(np.exp(5.0 * x)))
    assert np.array_equal(standardised(np.full(9, 1e9)), np.zeros(9))


def test_scores_are_normal_quantiles_that_end_somewhere():
    assert normal_scores(np.array([0.0, 1.0])).tolist() == [-FARTHEST, FARTHEST]
    u = np.linspace(0.01, 0.99, 21)
    assert np.allclose(ndtr(normal_scores(u)), u)
    assert shape_tests(np.zeros(30)) == {}


def test_alternating_rows_are_not_alike_and_slow_waves_are():
    rng = np.random.default_rng(1)
    alternating = np.tile([1.0, -1.0], 100) + 0.1 * rng.normal(size=200)
    slow = np.sin(np.arange(200) / 20.0) + rng.normal(size=200)
    assert positive_autocorrelation(alternating) == (pytest.approx(-1.0, abs=0.03), 1.0)
    assert positive_autocorrelation(slow)[1] < 1e-3
    assert positive_autocorrelation(np.ones(50)) == autocorrelation(np.ones(50)) == (0.0, 1.0)
    assert autocorrelation(alternating)[1] < 1e-3 and autocorrelation(slow)[1] < 1e-3


@given(p_values)
@settings(max_examples=50)
def test_holm_is_between_the_p_values_and_bonferroni_and_keeps_their_order(p):
    found = holm(p)
    assert (found >= p).all() and (found <= np.minimum(len(p) * p, 1.0) + 1e-15).all()
    order = np.argsort(p, kind="stable")
    assert (np.diff(found[order]) >= 0.0).all()
    assert found.min() == pytest.approx(min(1.0, len(p) * p.min()))


@pytest.mark.parametrize(
    ("bounds", "share"),
    [([1.0], 1.0), ([1.0, 1.05], 0.0), ([1.0, 1.2], 1.0), ([0.0, 0.09, 0.18, 5.0], 0.25)],
)
def test_the_share_of_unseen_optima_is_that_of_runs_that_are_alone(bounds, share):
    assert unseen_share(np.array(bounds)) == share


def test_what_is_unseen_is_found_so_often_by_the_next_run():
    """The estimate of Good and Turing is nearly unbiased for the chance of something new."""
    rng = np.random.default_rng(6)
    chances = np.array([0.4, 0.3, 0.1, 0.1, 0.05, 0.05])
    said, happened = [], []
    for _ in range(2000):
        *seen, following = rng.choice(6, 9, p=chances)
        said.append(unseen_share(10.0 * np.array(seen)))
        happened.append(following not in seen)
    assert np.mean(said) == pytest.approx(np.mean(happened), abs=0.03)


def test_steps_of_a_response_count_only_where_rows_share_values():
    y = np.random.default_rng(1).normal(size=400)
    steps = [discreteness(np.round(y / by) * by, ndtr).step for by in (1e-9, 0.1, 0.3, 1.0)]
    assert steps[0] == 0.0 and (np.diff(steps) > 0.0).all()
    assert steps[2] == pytest.approx(0.3 * 0.282, rel=0.1)  # step / (2 sqrt(pi) sd)


def test_a_value_at_which_the_response_is_cut_off_is_found():
    y = np.random.default_rng(1).normal(size=400)
    found = discreteness(np.maximum(y, -1.0), ndtr)
    assert found.value == -1.0 and found.p_value < 1e-6
    assert found.excess == pytest.approx(ndtr(-1.0), abs=0.05)
    assert discreteness(y, ndtr).p_value > 0.5
    assert discreteness(np.zeros(5), ndtr).step == 1.0


@pytest.mark.parametrize("largest", [True, False])
def test_the_ends_of_a_response_keep_their_level(largest):
    def p(rng):
        y = rng.normal(size=80)
        end = y.max() if largest else y.min()
        return rows_beyond(end, ndtr, 80, largest=largest)[1]

    assert abs(rejected(p)) < 3.5
    assert rows_beyond(9.0 if largest else -9.0, ndtr, 80, largest=largest)[0] < 1e-6
    assert rows_beyond(0.0, ndtr, 80, largest=largest)[0] > 40.0
