from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from pandas.testing import assert_frame_equal, assert_series_equal

from bayesvb.distributions.prediction import (
    KINDS,
    PredictionOptions,
    _count,
    interval_probability,
    predict,
)
from bayesvb.distributions.student_mixture import StudentMixture
from bayesvb.errors import DataError

OPTIONS = {"cdf": {"at": [0.0, 1.5]}, "density": {"at": [0.0, 1.5]}, "draws": {"n": 3, "seed": 1}}
COMPLETE = np.array([True, False, True, True, False])
INDEXES = {
    "range": pd.RangeIndex(5),
    "text": pd.Index(list("edcba"), name="id"),
    "not unique": pd.Index([1, 1, 2, 1, 2]),
    "MultiIndex": pd.MultiIndex.from_product([["a"], [5, 4, 3, 2, 1]], names=["g", "t"]),
    "dates": pd.date_range("2024-01-01", periods=5),
}


@pytest.fixture
def mixture():
    rng = np.random.default_rng(3)
    weights = rng.dirichlet(np.ones(2), 3).T.copy()
    return StudentMixture(
        weights, rng.normal(size=(2, 3)), rng.gamma(3.0, size=(2, 3)), np.array([4.0, 9.0])
    )


@pytest.fixture
def ask(mixture):
    def ask(kind, *, index=INDEXES["text"], **options):
        return predict(mixture, index, COMPLETE, kind, PredictionOptions(**options))

    return ask


OF_DENSITIES = [kind for kind in KINDS if kind != "probability"]


@pytest.mark.parametrize("kind", OF_DENSITIES)
@pytest.mark.parametrize("index", INDEXES.values(), ids=INDEXES)
def test_every_row_is_kept_and_incomplete_rows_are_nan(kind, index, ask):
    table = ask(kind, index=index, **OPTIONS.get(kind, {}))
    assert table.index.equals(index) and table.index.names == index.names
    values = table.to_numpy().reshape(5, -1)
    assert np.isnan(values[~COMPLETE]).all() and np.isfinite(values[COMPLETE]).all()


@pytest.mark.parametrize("kind", OF_DENSITIES)
def test_empty_data_give_an_empty_table(kind):
    nothing = StudentMixture(*(np.empty((2, 0)) for _ in range(3)), np.ones(2))
    index = pd.Index([], dtype="str", name="id")
    options = PredictionOptions(**OPTIONS.get(kind, {}))
    table = predict(nothing, index, np.empty(0, bool), kind, options)
    assert len(table) == 0 and table.index.name == "id"


@pytest.mark.parametrize("kind", OF_DENSITIES)
def test_no_complete_row_gives_nan_everywhere(kind):
    nothing = StudentMixture(*(np.empty((2, 0)) for _ in range(3)), np.ones(2))
    options = PredictionOptions(**OPTIONS.get(kind, {}))
    table = predict(nothing, pd.RangeIndex(2), np.zeros(2, bool), kind, options)
    assert len(table) == 2 and table.isna().to_numpy().all()


@pytest.mark.parametrize("kind", ["mean", "sd"])
def test_moments_are_series_named_after_the_kind(kind, ask, mixture):
    series = ask(kind)
    assert series.name == kind
    assert_array_equal(series[COMPLETE], getattr(mixture, kind)())


def test_interval_has_its_probability_inside(ask, mixture):
    table = ask("interval", prob=0.8)[COMPLETE]
    assert list(table.columns) == ["lower", "upper"]
    assert_allclose(mixture.cdf(table["lower"].to_numpy()), 0.1)
    assert_allclose(mixture.cdf(table["upper"].to_numpy()), 0.9)


def test_defaults_are_those_of_the_documentation(ask):
    assert_frame_equal(ask("interval"), ask("interval", prob=0.89))
    assert_frame_equal(ask("quantile"), ask("quantile", q=[0.05, 0.5, 0.95]))
    assert ask("draws").shape == (5, 100)


def test_columns_of_quantiles_are_q_in_the_order_given(ask, mixture):
    table = ask("quantile", q=[0.9, 0.1])
    assert list(table.columns) == [0.9, 0.1]
    assert_array_equal(table[COMPLETE].to_numpy().T, mixture.quantile(np.array([0.9, 0.1])))
    assert ask("quantile", q=[]).shape == (5, 0)


def test_one_quantile_is_a_series(ask):
    assert_series_equal(ask("quantile", q=0.9), ask("quantile", q=[0.9])[0.9], check_names=False)
    assert ask("quantile", q=0.9).name == "quantile"


@pytest.mark.parametrize("kind", ["cdf", "density"])
def test_at_a_number_a_list_an_array_and_a_series_agree(kind, ask):
    table = ask(kind, at=[-1, 2.5])
    assert list(table.columns) == [-1, 2.5]
    assert_frame_equal(ask(kind, at=np.array([-1, 2.5])), table)
    one = ask(kind, at=2.5)
    assert one.name == kind
    assert_series_equal(one, table[2.5], check_names=False)
    by_row = pd.Series([2.5, -1, -1, 2.5, -1], index=INDEXES["text"])
    request = np.where(by_row == 2.5, table[2.5], table[-1])
    assert_allclose(ask(kind, at=by_row), request)


def test_density_is_the_slope_of_the_cdf(ask):
    step = 1e-5
    cdf = ask("cdf", at=[0.3 - step, 0.3 + step])
    slope = (cdf.iloc[:, 1] - cdf.iloc[:, 0]) / (2 * step)
    assert_allclose(ask("density", at=0.3), slope, rtol=1e-8)


def test_series_is_matched_by_its_index_and_not_by_its_order(ask):
    at = pd.Series([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], index=list("abcdef"))
    shuffled = at.sample(frac=1.0, random_state=4)
    request = ask("cdf", at=pd.Series([5.0, 4.0, 3.0, 2.0, 1.0], index=list("edcba")))
    assert_series_equal(ask("cdf", at=shuffled), request)


def test_series_of_the_same_index_is_taken_row_by_row_even_if_not_unique(ask):
    index = INDEXES["not unique"]
    at = pd.Series([1.0, 9.0, 2.0, 3.0, 9.0], index=index)
    request = ask("cdf", at=pd.Series(at.to_numpy(), index=INDEXES["text"]))
    assert_array_equal(ask("cdf", index=index, at=at), request)


def test_missing_value_of_a_series_gives_nan_in_its_row(ask):
    at = pd.Series([1, pd.NA, 2, None, 3], index=INDEXES["text"], dtype="Int64")
    assert ask("cdf", at=at).isna().tolist() == [False, True, False, True, True]
    assert ask("density", at=at).isna().tolist() == [False, True, False, True, True]


def test_components_are_numbered_from_one_and_sum_to_one(ask):
    table = ask("component")
    assert list(table.columns) == [1, 2]
    assert_allclose(table[COMPLETE].sum(axis=1), 1.0)


def test_draws_depend_on_the_seed_only(ask):
    table = ask("draws", n=4, seed=7)
    assert list(table.columns) == [0, 1, 2, 3]
    assert_frame_equal(ask("draws", n=4, seed=np.random.default_rng(7)), table)
    assert not ask("draws", n=4, seed=8)[COMPLETE].equals(table[COMPLETE])
    assert not ask("draws", n=4)[COMPLETE].equals(ask("draws", n=4)[COMPLETE])


def test_unknown_kind_lists_the_kinds_and_the_nearest(ask):
    with pytest.raises(DataError, match=r"(?s)'quantiles' .*mean, sd, .*did you mean 'quantile'"):
        ask("quantiles")
    with pytest.raises(DataError, match="choose one of") as caught:
        ask("zzz")
    assert caught.value.hint is None


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("mean", {"q": 0.5}, "does not use q(?s:.*)choose kind='quantile'"),
        ("draws", {"at": 0.5}, "does not use at(?s:.*)choose kind='cdf' or 'density'"),
        ("mean", {"seed": 1}, "does not use seed"),
        ("cdf", {}, "kind='cdf' needs at"),
        ("density", {}, "kind='density' needs at"),
        ("cdf", {"at": "high"}, "at = 'high' is not a number"),
        ("cdf", {"at": [0.0, None]}, "is not a number or a list"),
        ("cdf", {"at": [0.0, np.nan]}, "holds a missing value"),
        ("cdf", {"at": np.zeros((2, 2))}, r"shape \(2, 2\)(?s:.*)pandas Series"),
        ("cdf", {"at": pd.Series(list("abcde"))}, "not of numbers"),
        ("cdf", {"at": pd.Series([1.0, 2.0], list("ab"))}, "no value for 3 rows, .* 'e'"),
        ("cdf", {"at": pd.Series([1.0, 2.0], list("aa"))}, "has duplicates"),
        ("interval", {"prob": 0.0}, "prob = 0.0 is not between 0 and 1"),
        ("interval", {"prob": 89.0}, "prob = 89.0 is not between"),
        ("interval", {"prob": np.nan}, "prob = nan holds a missing value"),
        ("quantile", {"q": [0.5, 95]}, "q = 95 is not a probability"),
        ("quantile", {"q": -0.1}, "q = -0.1 is not a probability"),
        ("draws", {"n": 0}, "n = 0 is not a number of draws"),
        ("draws", {"n": True}, "n = True is not a number of draws"),
    ],
)
def test_options_that_cannot_be_used_are_refused(kind, options, message, ask):
    with pytest.raises(DataError, match=message):
        ask(kind, **options)


def test_options_of_the_wrong_type_are_refused():
    with pytest.raises(DataError, match="prob = 'wide' is not a number"):
        interval_probability("wide")
    with pytest.raises(DataError, match=r"n = 2\.5 is not a number of draws"):
        _count(2.5)


@pytest.mark.parametrize(
    ("kind", "here"),
    [("median", "kind='quantile', q=0.5"), ("pdf", "kind='density'"), ("intervall", "'interval'")],
)
def test_a_kind_by_the_name_it_has_elsewhere_leads_to_ours(mixture, kind, here):
    with pytest.raises(DataError) as error:
        predict(mixture, INDEXES["range"], COMPLETE, kind, PredictionOptions())
    assert here in str(error.value) and kind in str(error.value)
