"""Case weights: a row of weight w is w rows, in every model and in all that is said of a fit."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bayesvb.data.case_weights import sum_and_error, weights_and_frame
from bayesvb.data.column_moments import ColumnMoments
from bayesvb.data.responses import AllResponses
from bayesvb.data.scaling import Scaling
from bayesvb.data.streamed_rows import EncodedRows
from bayesvb.errors import DataError
from bayesvb.evaluation.elpd import Elpd, compare, elpd_data
from bayesvb.evaluation.linear_baseline import leave_one_out
from bayesvb.formula.passes.design_rows import column_moments
from bayesvb.results.comparison import ranked


@pytest.fixture(scope="module")
def weight(regimes):
    """Whole numbers, zeros among them; the rows that count most have the largest responses."""
    return np.argsort(np.argsort(regimes["y"])).to_numpy() // 4 % 4


def mean_moments(matrix, weight=None, *, centred):
    return ColumnMoments.of(matrix, weight).scales(centred=centred)


def median_moments(matrix, weight=None, *, centred):
    return AllResponses.from_matrix(matrix, weight).median_moments(centred=centred)


def gapped_scaling(matrix, *, common, weight=None):
    rows, names = EncodedRows({"variables": matrix}, None, weight), ("a", "b", "c")
    found = column_moments(iter([rows]), frozenset(), {"variables": names[: matrix.shape[1]]})
    return Scaling.of_gapped_moments(list(found.values()), common=common)


@pytest.mark.parametrize("moments", [mean_moments, median_moments])
def test_weighted_moments_are_those_of_repeated_rows(rng, moments):
    matrix = rng.normal(size=(40, 3)) * [1.0, 1e-3, 1e150] + [3.0, 0.0, 0.0]
    weight = np.arange(40.0) % 3
    matrix[weight == 0.0] *= 7.0
    for centred in (True, False):
        found = moments(matrix, weight, centred=centred)
        expected = moments(np.repeat(matrix, weight.astype(int), axis=0), centred=centred)
        assert_allclose(found, expected, rtol=1e-12)
        assert_allclose(moments(matrix, 2.5 * weight, centred=centred), expected, rtol=1e-12)


@pytest.mark.parametrize("common", [True, False])
def test_weighted_scales_of_gapped_columns_are_those_of_repeated_rows(rng, common):
    matrix = rng.normal(size=(40, 3)) * [1.0, 2.0, 0.0]
    matrix[rng.uniform(size=matrix.shape) < 0.2] = np.nan
    weight = np.arange(40.0) % 3
    matrix[0, 2] = 5.0  # varies only where nothing counts
    found = gapped_scaling(matrix, common=common, weight=weight)
    expected = gapped_scaling(np.repeat(matrix, weight.astype(int), axis=0), common=common)
    assert_allclose(found.centre, expected.centre, atol=1e-12)
    assert_allclose(found.scale, expected.scale, rtol=1e-12)


def test_a_column_that_no_row_of_weight_has_keeps_the_scale_one():
    matrix = np.array([[1.0, np.nan], [2.0, np.nan], [3.0, 8.0]])
    found = gapped_scaling(matrix, common=False, weight=np.array([1.0, 1.0, 0.0]))
    assert found.scale[1] == 1.0


def test_comparisons_of_weighted_rows_are_those_of_repeated_rows(rng):
    weight = rng.integers(0, 4, 60)
    found, expected = ({}, {})
    for name, level in (("a", 0.0), ("b", 0.1), ("c", 1.0)):
        pointwise = rng.normal(size=60) - level
        found[name] = Elpd(
            kind="loo", pointwise=pointwise, p=1.0, n_draws=100, weights=weight.astype(float)
        )
        expected[name] = Elpd(
            kind="loo", pointwise=np.repeat(pointwise, weight), p=1.0, n_draws=100
        )
    tables = [
        compare({name: elpd_data(one) for name, one in elpds.items()})
        for elpds in (found, expected)
    ]
    assert_allclose(tables[0]["weight"], tables[1]["weight"], atol=2e-3)
    weightless = [table.drop(columns="weight") for table in tables]
    pd.testing.assert_frame_equal(*weightless, rtol=1e-8)
    numbered = [dict(enumerate(elpds.values(), start=1)) for elpds in (found, expected)]
    pd.testing.assert_frame_equal(*map(ranked, numbered), rtol=1e-8)
    with pytest.raises(DataError, match="'a' and 'b' have different weights"):
        compare({"a": elpd_data(found["a"]), "b": elpd_data(replace(found["b"], weights=None))})


@pytest.mark.parametrize("ddof", [0, 1, 2])
def test_an_error_needs_more_than_as_many_rows_as_it_estimates_means(ddof):
    values = np.array([1.0, 2.0, 4.0])
    for weights, above in ((np.full(3, ddof / 3.0), False), (np.full(3, ddof / 3.0 + 1e-3), True)):
        whole, error = sum_and_error(values, weights, ddof=ddof)
        assert whole == pytest.approx(weights @ values)
        assert np.isfinite(error) == above
    alone = sum_and_error(np.array([3.0]), ddof=1)
    assert alone[0] == 3.0 and np.isnan(alone[1])


def test_the_baseline_of_weighted_rows_is_that_of_repeated_rows(regimes, weight):
    x, y = np.column_stack([np.ones(150), regimes[["x", "z"]]]), regimes["y"].to_numpy()
    found = leave_one_out(x, y, weight.astype(float))
    expected = leave_one_out(np.repeat(x, weight, axis=0), np.repeat(y, weight))
    assert_allclose(np.repeat(found, weight), expected, rtol=1e-8)


def test_weights_too_large_for_a_double_are_refused():
    with pytest.raises(DataError, match="weights must be numbers"):
        weights_and_frame([10**400, 1], {"x": [1.0, 2.0]})
