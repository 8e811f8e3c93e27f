from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, stats

from bayesvb.distributions.student_mixture import LEAST_TAIL, StudentMixture
from bayesvb.errors import DataError
from bayesvb.numerics.student_cdf import MANY

PROBS = np.array([0.0001, 0.05, 0.31, 0.5, 0.77, 0.95, 0.9999])


def random_mixture(seed: int, experts: int = 3, rows: int = 4, least_dof: float = 3.0):
    rng = np.random.default_rng(seed)
    return StudentMixture(
        rng.dirichlet(np.ones(experts), rows).T.copy(),
        3.0 * rng.normal(size=(experts, rows)),
        np.exp(rng.normal(size=(experts, rows))),
        least_dof + rng.gamma(1.0, 5.0, experts),
    )


def one_row(weights, location, scale, dof):
    column = (np.array(part, dtype=float)[:, None] for part in (weights, location, scale))
    return StudentMixture(*column, np.array(dof, dtype=float))


def whole_line():
    """Nodes and weights of the trapezoidal rule in asinh(y); its error falls exponentially."""
    u, step = np.linspace(-14.0, 14.0, 1401, retstep=True)
    return np.sinh(u), step * np.cosh(u)


@st.composite
def hard_mixtures(draw):
    """Heavy tails, vanishing weights, experts far apart and of very different widths."""
    experts = draw(st.integers(1, 4))
    parts = st.lists(st.floats(-300.0, 0.0), min_size=experts, max_size=experts)
    weights = 10.0 ** np.array(draw(parts))
    weights[draw(st.integers(0, experts - 1))] = 1.0
    location = [draw(st.floats(-1e4, 1e4)) for _ in range(experts)]
    scale = [10.0 ** draw(st.floats(-4.0, 4.0)) for _ in range(experts)]
    dof = [10.0 ** draw(st.floats(np.log10(0.2), 7.0)) for _ in range(experts)]
    return one_row(weights / weights.sum(), location, scale, dof)


def test_density_integrates_to_one():
    mixture = random_mixture(1)
    grid, weight = whole_line()
    assert_allclose(weight @ mixture.density_at(grid), 1.0, rtol=1e-9)


def test_cdf_is_the_integral_of_the_density():
    mixture = random_mixture(2)
    lower, upper = np.full(4, -1.3), np.full(4, 2.9)
    grid = np.linspace(-1.3, 2.9, 1001)
    mass = integrate.simpson(mixture.density_at(grid), x=grid, axis=0)
    assert_allclose(mixture.cdf(upper) - mixture.cdf(lower), mass, atol=1e-9)


@pytest.mark.parametrize("q", PROBS)
def test_quantile_inverts_the_cdf(q):
    mixture = random_mixture(3, experts=6, rows=50, least_dof=0.5)
    (y,) = mixture.quantile(np.array([q]))
    assert_allclose(mixture.cdf(y), q, atol=1e-12)


@settings(max_examples=150, deadline=None)
@given(hard_mixtures(), st.floats(1e-12, 1.0 - 1e-12))
@example(one_row([0.4975, 0.4975, 0.005], [0.0] * 3, [1.0, 10.0, 1.0], [10.0, 10.0, 0.237]), 1e-8)
def test_quantile_inverts_the_cdf_of_hard_mixtures(mixture, q):
    (y,) = mixture.quantile(np.array([q]))
    assert np.isfinite(y).all()
    # a last-digit change of y may change the cdf by more than 1e-9 where a narrow expert sits
    # at a large |y|; then the neighbouring doubles must enclose q
    step = 8 * np.spacing(np.abs(y) + np.abs(mixture.location).max())
    assert mixture.cdf(y - step)[0] - 1e-9 <= q <= mixture.cdf(y + step)[0] + 1e-9


@pytest.mark.parametrize("tail", [0.5 * LEAST_TAIL, LEAST_TAIL])
def test_quantiles_are_right_on_either_side_of_the_expansion(tail):
    mixture = random_mixture(5, rows=6)
    dof = np.geomspace(0.5 * MANY, 4.0 * MANY, 18).reshape(3, 6)
    mixture = replace(mixture, dof=dof)
    probs = np.array([tail, 0.3, 1.0 - tail])
    found = mixture.quantile(probs)
    assert_allclose([mixture.cdf(y) for y in found], np.tile(probs, (6, 1)).T, atol=3e-12)
    for n in range(6):  # which law is used depends on the row alone
        alone = StudentMixture(
            mixture.weights[:, [n]], mixture.location[:, [n]], mixture.scale[:, [n]], dof[:, [n]]
        )
        assert_array_equal(alone.quantile(probs)[:, 0], found[:, n])


def test_quantiles_are_right_where_only_some_components_have_many_degrees_of_freedom():
    mixture = random_mixture(5, rows=6)
    mixture = replace(mixture, dof=np.array([1.0, 1.01 * MANY, 1e6]))
    probs = np.array([LEAST_TAIL, 0.3, 1.0 - LEAST_TAIL])
    found = mixture.quantile(probs)
    assert_allclose([mixture.cdf(y) for y in found], np.tile(probs, (6, 1)).T, atol=3e-12)


@settings(max_examples=50, deadline=None)
@given(hard_mixtures(), st.lists(st.floats(0.0, 1.0), min_size=2, max_size=8))
def test_quantiles_never_cross(mixture, probs):
    y = mixture.quantile(np.array(probs))[np.argsort(probs, kind="stable"), 0]
    assert (y[1:] >= y[:-1]).all()


def test_quantiles_of_neighbouring_doubles_do_not_cross():
    probs = 0.3 + np.arange(60) * np.spacing(0.3)
    y = random_mixture(3, experts=6, rows=50).quantile(probs)
    assert (y[1:] >= y[:-1]).all()


def test_lower_tail_is_relatively_exact_far_out():
    mixture = random_mixture(4, least_dof=3.0)
    (y,) = mixture.quantile(np.array([1e-40]))
    assert_allclose(np.log(mixture.cdf(y)), np.log(1e-40), atol=1e-9)


@pytest.mark.parametrize("dof", [0.2, 1.0, 2.5, 30.0, 1e7])
def test_one_expert_is_a_student_t(dof):
    mixture = one_row([1.0], [-2.0], [3.0], [dof])
    law = stats.t(dof, loc=-2.0, scale=3.0)
    y = np.array([-40.0, -2.0, 0.3, 17.0])
    # scipy's logpdf and ppf are the less exact sides: gammaln cancels, ppf is off by 1e-9
    assert_allclose(np.log(mixture.density_at(y)[:, 0]), law.logpdf(y), rtol=1e-8, atol=3e-9)
    assert_allclose(mixture.cdf_at(y)[:, 0], law.cdf(y), rtol=1e-13)
    assert_allclose(mixture.quantile(PROBS)[:, 0], law.ppf(PROBS), rtol=2e-9)
    assert_allclose(mixture.quantile(np.array([0.5]))[0, 0], -2.0, rtol=2e-16)  # one rounding


def test_moments_agree_with_the_closed_form_of_one_expert():
    mixture = one_row([1.0], [-2.0], [3.0], [5.0])
    assert_allclose([mixture.mean()[0], mixture.sd()[0]], [-2.0, 3.0 * np.sqrt(5.0 / 3.0)])


def test_moments_agree_with_integrals():
    mixture = random_mixture(5, least_dof=6.0)
    grid, weight = whole_line()
    density = mixture.density_at(grid)
    mean, square = (weight * grid) @ density, (weight * grid**2) @ density
    assert_allclose(mixture.mean(), mean, atol=1e-9)
    assert_allclose(mixture.sd(), np.sqrt(square - mean**2), rtol=1e-9)


def test_draws_follow_the_cdf():
    mixture = random_mixture(6, least_dof=0.5)
    draws = mixture.draws(20000, np.random.default_rng(7))
    pit = np.stack([mixture.cdf(draw) for draw in draws])
    p_values = [stats.kstest(column, "uniform").pvalue for column in pit.T]
    assert min(p_values) > 0.001


def test_draws_of_two_rows_are_independent():
    row = random_mixture(6, rows=1)
    twice = StudentMixture(*(np.repeat(part, 2, axis=1) for part in
                             (row.weights, row.location, row.scale)), row.dof)  # fmt: skip
    first, second = twice.draws(5000, np.random.default_rng(1)).T
    assert abs(stats.spearmanr(first, second).statistic) < 4.0 / np.sqrt(5000)


def test_draws_agree_with_the_moments():
    mixture = random_mixture(8, least_dof=8.0)
    draws = mixture.draws(40000, np.random.default_rng(9))
    error = mixture.sd() / np.sqrt(40000)
    assert (np.abs(draws.mean(axis=0) - mixture.mean()) < 4.5 * error).all()
    assert_allclose(draws.std(axis=0), mixture.sd(), rtol=0.05)


def test_same_seed_gives_the_same_draws():
    mixture = random_mixture(6)
    first, second = (mixture.draws(10, np.random.default_rng(3)) for _ in range(2))
    assert_array_equal(first, second)


@pytest.mark.parametrize("factor", [2.5, -0.01, 1e120])
def test_change_of_units(factor):
    mixture = random_mixture(10)
    changed = mixture.affine(7.0, factor)
    y = np.array([-1.0, 0.0, 0.5, 4.0])
    new_y = 7.0 + factor * y
    assert_allclose(changed.mean(), 7.0 + factor * mixture.mean())
    assert_allclose(changed.sd(), abs(factor) * mixture.sd())
    assert_allclose(changed.log_density(new_y), mixture.log_density(y) - np.log(abs(factor)))
    below = mixture.cdf(y) if factor > 0 else 1.0 - mixture.cdf(y)
    assert_allclose(changed.cdf(new_y), below, atol=1e-13)
    probs = PROBS if factor > 0 else 1.0 - PROBS
    assert_allclose(changed.quantile(probs), 7.0 + factor * mixture.quantile(PROBS), rtol=1e-9)


def test_order_of_the_experts_changes_nothing():
    mixture = random_mixture(11, experts=5)
    order = np.array([3, 0, 4, 1, 2])
    shuffled = StudentMixture(
        mixture.weights[order], mixture.location[order], mixture.scale[order], mixture.dof[order]
    )
    y = np.array([-1.0, 0.0, 0.5, 4.0])
    for call in ("mean", "sd"):
        assert_allclose(getattr(shuffled, call)(), getattr(mixture, call)())
    for call in ("log_density", "cdf", "density_at", "cdf_at"):
        assert_allclose(getattr(shuffled, call)(y), getattr(mixture, call)(y))
    assert_allclose(shuffled.quantile(PROBS), mixture.quantile(PROBS), rtol=1e-10, atol=1e-10)


def test_rows_do_not_know_each_other():
    mixture = random_mixture(12, rows=6)
    alone = StudentMixture(
        *(part[:, 2:3].copy() for part in (mixture.weights, mixture.location, mixture.scale)),
        mixture.dof,
    )
    assert_array_equal(mixture.quantile(PROBS)[:, 2], alone.quantile(PROBS)[:, 0])


def test_quantiles_at_the_ends_are_infinite():
    y = random_mixture(13).quantile(np.array([0.0, 0.5, 1.0]))
    assert (y[0] == -np.inf).all() and np.isfinite(y[1]).all() and (y[2] == np.inf).all()


@pytest.mark.parametrize("q", [-0.1, 1.5, np.nan, np.inf])
def test_quantile_refuses_what_is_no_probability(q):
    with pytest.raises(DataError, match="is not a probability"):
        random_mixture(13).quantile(np.array([0.5, q]))


def test_quantile_is_finite_for_the_heaviest_tails_and_smallest_weights():
    mixture = one_row([1.0, 1e-300], [0.0, 1e3], [1.0, 10.0], [0.2, 0.2])
    y = mixture.quantile(np.array([1e-300, 1e-20, 0.5, 1.0 - 1e-16]))[:, 0]
    assert np.isfinite(y).all() and (np.diff(y) > 0).all()


def test_narrow_expert_far_from_the_others_is_found():
    mixture = one_row([0.5, 0.5], [0.0, 1e4], [1e3, 1e-4], [4.0, 50.0])
    q = mixture.cdf(np.array([1e4 + 3e-5]))
    assert_allclose(mixture.quantile(q)[0, 0], 1e4 + 3e-5, rtol=0, atol=1e-11)


def test_sd_is_infinite_only_where_a_component_with_weight_has_none():
    location = np.zeros((2, 2))
    weights = np.array([[1.0, 1.0 - 1e-9], [0.0, 1e-9]])
    mixture = StudentMixture(weights, location, location + 1.0, np.array([4.0, 2.0]))
    assert_allclose(mixture.sd(), [np.sqrt(2.0), np.inf])


def test_component_without_weight_changes_nothing():
    mixture = random_mixture(14, experts=2)
    row = np.zeros((1, 4))
    padded = StudentMixture(
        np.concatenate([mixture.weights, row]),
        np.concatenate([mixture.location, row + 1e9]),
        np.concatenate([mixture.scale, row + 1e-9]),
        np.append(mixture.dof, 0.2),
    )
    y = np.array([-1.0, 0.0, 0.5, 4.0])
    assert_allclose(padded.log_density(y), mixture.log_density(y))
    assert_allclose(padded.quantile(PROBS), mixture.quantile(PROBS), rtol=1e-10, atol=1e-10)
    assert np.abs(padded.draws(2000, np.random.default_rng(0))).max() < 1e6


def test_log_density_is_finite_far_out_and_minus_infinity_at_infinity():
    mixture = random_mixture(15)
    far = mixture.log_density(np.array([1e200, -1e300, np.inf, np.nan]))
    assert np.isfinite(far[:2]).all() and far[2] == -np.inf and np.isnan(far[3])
    dof = mixture.dof.min()
    slope = mixture.log_density(np.full(4, 1e250)) - mixture.log_density(np.full(4, 1e200))
    assert_allclose(slope, -(dof + 1.0) * 50.0 * np.log(10.0), rtol=1e-6)


def test_log_density_of_a_very_large_dof_is_normal():
    mixture = one_row([1.0], [0.0], [1.0], [1e12])
    assert_allclose(mixture.log_density(np.array([1.5])), stats.norm.logpdf(1.5), rtol=1e-11)


def test_no_rows():
    empty = StudentMixture(*(np.empty((2, 0)) for _ in range(3)), np.ones(2))
    assert empty.mean().shape == empty.sd().shape == (0,)
    assert empty.quantile(PROBS).shape == (7, 0)
    assert empty.density_at(PROBS).shape == (7, 0)
    assert empty.draws(3, np.random.default_rng(0)).shape == (3, 0)
    assert random_mixture(1).quantile(np.empty(0)).shape == (0, 4)


@pytest.mark.parametrize(
    ("part", "value", "message"),
    [
        ("scale", 0.0, r"scale\[1, 2\] = 0 of the mixture is not positive"),
        ("location", np.nan, r"location\[1, 2\] = nan of the mixture is not finite"),
        ("weights", -0.5, r"weights\[1, 2\] = -0.5 of the mixture is not non-negative"),
        ("weights", 3.0, r"weights\[2\] = .* is not one in sum"),
    ],
)
def test_what_is_no_mixture_is_refused(part, value, message):
    mixture = random_mixture(16)
    parts = {name: getattr(mixture, name).copy() for name in ("weights", "location", "scale")}
    parts[part][1, 2] = value
    with pytest.raises(DataError, match=message):
        StudentMixture(**parts, dof=mixture.dof)


def test_dof_zero_and_factor_zero_are_refused():
    mixture = random_mixture(16)
    with pytest.raises(DataError, match=r"dof\[0\] = 0 of the mixture is not positive"):
        StudentMixture(mixture.weights, mixture.location, mixture.scale, 0.0 * mixture.dof)
    with pytest.raises(DataError, match="factor=0"):
        mixture.affine(1.0, 0.0)
