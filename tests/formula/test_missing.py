"""Missing values that stay, with ``missing="keep"``, and rows that are left out."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from bayesvb.errors import DataError
from bayesvb.formula.design import build_design
from bayesvb.formula.parser import parse_formula

NAN = np.nan


@pytest.fixture
def data():
    columns = {
        "a": [1.0, NAN, 3.0, -4.0, 5.0],
        "b": [NAN, NAN, 1.0, 2.0, 3.0],
        "c": [1, 2, 3, 4, 5],
    }
    return pd.DataFrame(columns)


def kept(formula, data, **options):
    parsed = parse_formula(formula, one_sided=True)
    return build_design(parsed, data, response="none", missing="keep", **options)


def test_missing_values_are_nan_where_their_column_is_read(data):
    design = kept("~ a + log(c) + I(b > 1)", data)
    found = np.isnan(design.matrices["variables"])
    assert_array_equal(found[:, 0], data["a"].isna())
    assert not found[:, 1].any()
    assert_array_equal(found[:, 2], data["b"].isna())  # NaN > 1 is False, and not a number here
    assert design.n_missing == 0


def test_a_term_of_two_columns_is_missing_where_either_is():
    """A comparison is a number wherever a value is missing: the columns say it, one by one."""
    data = pd.DataFrame({"a": [NAN, 1.0, 2.0, 3.0], "b": [1.0, NAN, 2.0, 1.0], "c": np.ones(4)})
    for term in ("I(a > b)", "I(b > a)"):
        found = kept(f"~ c + {term}", data).matrices["variables"][:, 1]
        assert_array_equal(np.isnan(found), [True, True, False, False])


def test_a_row_without_any_value_is_left_out_and_counted(data):
    design = kept("~ a + b", data)
    assert design.complete.tolist() == [True, False, True, True, True]
    assert design.n_missing == 1


def test_new_rows_may_lack_values_too(data):
    rows = kept("~ a + b", data).new({"a": [1.0, None], "b": [None, None]})
    assert rows.complete.tolist() == [True, False]
    assert_array_equal(rows.matrices["variables"], [[1.0, NAN]])


def test_nullable_columns_are_read(data):
    design = kept("~ a + b", data.convert_dtypes())
    assert_array_equal(design.matrices["variables"], kept("~ a + b", data).matrices["variables"])


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("~ log(a) + c", "`log(a)` is not finite in 1 of 4 rows"),
        ("~ scale(a) + c", "`scale(a)` is not finite"),
        ("~ a + void", "`void` has no value in any row"),
        ("~ a + huge", "`huge` is not finite in 1 of 5 rows"),
    ],
)
def test_what_is_undefined_is_not_taken_for_missing(data, formula, message):
    data = data.assign(void=NAN, huge=[1.0, 2.0, np.inf, 3.0, 4.0])
    with (
        np.errstate(all="ignore"),
        pytest.raises(DataError, match=message.replace("(", r"\(").replace(")", r"\)")),
    ):
        kept(formula, data)


def test_data_without_any_value_are_refused(data):
    with pytest.raises(DataError, match="no row has a value: of 5 rows"):
        kept("~ a + b", data.assign(a=NAN, b=NAN))


def test_a_response_cannot_stay_missing(data):
    with pytest.raises(DataError, match="missing='keep' is not known"):
        build_design(parse_formula("a ~ c"), data, missing="keep")


def test_collinear_columns_are_no_cause_for_a_warning_if_the_model_says_so(data):
    parsed = parse_formula("~ c + I(2 * c)", one_sided=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        build_design(parsed, data, response="none", warn=False)
    with pytest.warns(UserWarning, match="sums of others"):
        build_design(parsed, data, response="none")


@pytest.mark.parametrize("n_left", [2, 49, 50, 98, 99])
def test_dropped_rows_are_counted_by_column(n_left):
    some = np.where(np.arange(100) < n_left, np.arange(100.0), NAN)
    data = pd.DataFrame({"y": np.arange(100.0), "x": np.arange(100.0) ** 2, "rare": some})
    data.loc[99, "x"] = NAN
    data = data.drop(columns="rare") if n_left == 99 else data
    formula = "y ~ x" if n_left == 99 else "y ~ x + rare | 1"
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        design = build_design(parse_formula(formula), data, warn=False)
    (one,) = told
    start = f"{100 - n_left} of 100 rows lack a value and are not used: `x` in 1"
    assert design.n_rows == n_left and str(one.message).startswith(start)
    assert ("or impute them" in str(one.message)) is (n_left < 50)
    assert ("data.dropna(subset=['x'" in str(one.message)) is (n_left >= 50)
