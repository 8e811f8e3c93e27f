"""Standardisation of columns, and the exact way back of coefficients."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from bayesvb.data.column_moments import ColumnMoments
from bayesvb.data.responses import AllResponses
from bayesvb.data.scaling import Scaling
from bayesvb.errors import DataError

NAMES = ["Intercept", "a", "b"]


def matrix(rng, n_rows=50):
    columns = rng.normal(size=(n_rows, 2)) * [3.0, 1e-3] + [100.0, 5.0]
    return np.column_stack([np.ones(n_rows), columns])


def test_columns_have_mean_zero_and_deviation_one_and_the_intercept_stays(rng):
    given = matrix(rng)
    standard = scaling_of(given, NAMES).rows_last(given)
    assert standard.shape == (3, 50)
    assert standard.flags.c_contiguous
    assert_array_equal(standard[0], 1.0)
    assert_allclose(standard[1:].mean(axis=1), 0.0, atol=1e-10)
    assert_allclose(standard[1:].std(axis=1), 1.0, rtol=1e-12)


def test_without_an_intercept_nothing_is_shifted(rng):
    given = matrix(rng)[:, 1:]
    scaling = scaling_of(given, NAMES[1:])
    assert_array_equal(scaling.centre, 0.0)
    assert_allclose((scaling.rows_last(given) ** 2).mean(axis=1), 1.0, rtol=1e-12)


def scaling_of(matrix, names, weight=None, **options):
    return Scaling.of_moments(ColumnMoments.of(matrix, weight), names, **options)


def responses(matrix):
    return AllResponses.from_matrix(matrix)


@pytest.mark.parametrize("names", [NAMES, ["a", "Intercept", "b"], ["a", "b", "c"]])
@pytest.mark.parametrize("active", [True, False])
def test_coefficients_of_either_scale_predict_the_same(rng, names, active):
    given = matrix(rng)
    if "Intercept" in names:
        given = given[:, [NAMES.index(name) for name in names]]
    scaling = scaling_of(given, names, active=active)
    standard = rng.normal(size=(4, 5, 3))
    there = standard @ scaling.rows_last(given)
    assert_allclose(scaling.coefficients(standard) @ given.T, there, rtol=0, atol=1e-8)


def test_coefficients_leave_what_they_are_given_alone(rng):
    standard = rng.normal(size=(2, 3))
    before = standard.copy()
    scaling_of(matrix(rng), NAMES).coefficients(standard)
    assert_array_equal(standard, before)


def test_inactive_is_the_identity(rng):
    given = matrix(rng)
    for scaling in (
        scaling_of(given, NAMES, active=False),
        Scaling.of_response(responses(given), centred=True, active=False),
        Scaling.of_response_by_medians(responses(given), centred=True, active=False),
    ):
        assert_array_equal(scaling.rows_last(given), given.T)


@pytest.mark.parametrize("value", [0.0, 7.0, -1e150, 1e-150])
def test_a_constant_column_keeps_its_unit(value):
    centre, scale = ColumnMoments.of(np.full((6, 1), value)).scales(centred=True)
    assert centre[0] == pytest.approx(value, rel=1e-15)
    assert scale[0] == 1.0


@given(exponent=st.integers(-150, 150), shift=st.floats(-100.0, 100.0))
def test_moments_follow_a_change_of_units(exponent, shift):
    values = np.array([[0.3], [1.7], [-0.4], [2.2], [0.9]])
    factor = 10.0**exponent
    centre, scale = ColumnMoments.of((values + shift) * factor).scales(centred=True)
    assert_allclose(centre, (values.mean() + shift) * factor, rtol=1e-12, atol=1e-14 * factor)
    assert_allclose(scale, values.std() * factor, rtol=1e-9)


def test_a_small_spread_around_a_large_mean_is_seen():
    values = 1e6 + np.array([[0.0], [1e-3], [2e-3]])
    assert ColumnMoments.of(values).scales(centred=True)[1][0] == pytest.approx(
        np.std([0, 1e-3, 2e-3]), rel=1e-6
    )


# -- by medians ----------------------------------------------------------------------------------


def test_of_a_normal_sample_both_scalings_are_the_same(rng):
    """To five standard errors; those of a median and of its deviations are larger."""
    given = 3.0 + 2.0 * rng.normal(size=(100_000, 1))
    found = Scaling.of_response_by_medians(responses(given), centred=True)
    assert found.centre[0] == pytest.approx(3.0, abs=5 * 2.0 * 1.2533 / 100_000**0.5)
    assert found.scale[0] == pytest.approx(2.0, abs=5 * 2.0 * 1.17 / 100_000**0.5)
    about_zero = Scaling.of_response_by_medians(responses(given - 3.0), centred=False)
    assert about_zero.centre[0] == 0.0
    assert about_zero.scale[0] == pytest.approx(2.0, abs=5 * 2.0 * 1.17 / 100_000**0.5)


@pytest.mark.parametrize("centred", [True, False])
def test_how_far_out_gross_errors_are_does_not_matter(rng, centred):
    given = rng.normal(size=(50, 2)) + 4.0
    errors = [given.copy() for _ in range(2)]
    for size, other in zip((1e2, 1e140), errors, strict=True):
        other[:24, 0] = size
    near, far = (Scaling.of_response_by_medians(responses(one), centred=centred) for one in errors)
    assert_array_equal(far.centre, near.centre)
    assert_array_equal(far.scale, near.scale)
    assert far.scale[0] < 20.0


def test_a_response_whose_square_overflows_is_refused():
    given = np.array([[1.0], [2.0], [3.0], [1e200]])
    with pytest.raises(DataError, match="median absolute deviations from the median"):
        Scaling.of_response_by_medians(responses(given), centred=True)
    assert Scaling.of_response(responses(given), centred=True).scale[0] > 1e199


def test_a_column_with_more_than_half_of_its_rows_alike_has_its_standard_deviation():
    given = np.array([[0.1 + 0.2], [0.3], [0.3], [0.9], [2.0]])  # 0.1 + 0.2 > 0.3
    found = Scaling.of_response_by_medians(responses(given), centred=True)
    assert found.centre[0] == pytest.approx(0.3, rel=1e-15)
    assert found.scale[0] == pytest.approx(given.std(), rel=1e-15)
    half = np.array([[0.0], [0.0], [3.0], [1.0]])
    assert Scaling.of_response_by_medians(responses(half), centred=True).scale[0] == pytest.approx(
        0.5 * 1.482602218505602
    )


@pytest.mark.parametrize("value", [0.0, 7.0, -1e150, 1e-150])
def test_a_constant_column_keeps_its_unit_by_medians_too(value):
    centre, scale = responses(np.full((6, 1), value)).median_moments(centred=True)
    assert (centre[0], scale[0]) == (value, 1.0)


@given(exponent=st.integers(-150, 150), shift=st.floats(-100.0, 100.0))
def test_medians_follow_a_change_of_units(exponent, shift):
    values = np.array([[0.3], [1.7], [-0.4], [2.2], [0.9]])
    factor = 10.0**exponent
    centre, scale = responses((values + shift) * factor).median_moments(centred=True)
    assert_allclose(centre, (0.9 + shift) * factor, rtol=1e-12, atol=1e-14 * factor)
    assert_allclose(scale, 0.8 * 1.482602218505602 * factor, rtol=1e-9)


def test_columns_with_one_unit_keep_their_ratios_and_are_together_like_one_column(rng):
    given = np.hstack([np.ones((40, 1)), rng.normal(3.0, [1.0, 5.0, 0.1, 2.0], (40, 4))])
    names = ("Intercept", "a", "b", "c", "d")
    found = scaling_of(given, names, together=[(1, 3), (2, 4)])
    standard = found.rows_last(given)
    assert found.centre[1:].tolist() == [0.0] * 4
    assert found.scale[1] == found.scale[3] and found.scale[2] == found.scale[4]
    for places in ([1, 3], [2, 4]):
        assert_allclose((standard[places] ** 2).mean(axis=1).sum(), 1.0)
    alone = scaling_of(given, names)
    assert_array_equal(found.scale[0], alone.scale[0])


def test_weights_count_rows_of_columns_with_one_unit(rng):
    given, weight = rng.normal(size=(30, 3)), rng.integers(0, 4, 30).astype(float)
    twice = np.repeat(given, weight.astype(int), axis=0)
    one = scaling_of(given, ("a", "b", "c"), weight=weight, together=[(0, 2)])
    two = scaling_of(twice, ("a", "b", "c"), together=[(0, 2)])
    assert_allclose(one.scale, two.scale)


def test_a_column_of_zeros_takes_no_part_in_the_unit_and_zeros_alone_have_one():
    given = np.array([[3.0, 0.0, 0.0], [4.0, 0.0, 0.0]])
    found = scaling_of(given, ("a", "b", "c"), together=[(0, 1), (2,)])
    assert_allclose(found.scale, [np.sqrt(12.5), np.sqrt(12.5), 1.0])
    idle = scaling_of(given, ("a", "b", "c"), together=[(0, 1)], active=False)
    assert_array_equal(idle.scale, np.ones(3))
