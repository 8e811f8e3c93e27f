"""Kinds of columns, and reasons why one is not what it seems to be."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.errors import DataError

COLUMNS = {
    "number": ([1.0, 2.0, np.nan, 2.0], ("number", 1, 2, "")),
    "infinite": ([1.0, np.inf, -np.inf, 2.0], ("number", 0, 4, "2 infinite")),
    "truth": ([True, False, True, True], ("number", 0, 2, "")),
    "levels": (["a", "b", None, "a"], ("levels", 1, 2, "")),
    "text": (["1", "2", "3", "4"], ("levels", 0, 4, "numbers written as text")),
    "date": (pd.date_range("2020-01-01", periods=4), ("date", 0, 4, "")),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_has_a_kind(name):
    values, expected = COLUMNS[name]
    found = bvb.column_kinds(pd.DataFrame({name: values}))
    assert tuple(found.loc[name]) == expected


def test_text_among_numbers_is_named():
    dose = [*map(str, range(398)), "3a", "n/k"]
    found = bvb.column_kinds({"dose": dose, "few": ["1", "a"] * 200})
    assert found.loc["dose", "reason"] == "2 of 400 values are not a number: '3a', 'n/k'"
    assert found.loc["few", "reason"] == ""


def test_a_column_of_several_types_is_not_usable():
    mixed = pd.DataFrame({"a": pd.Series([1, "b", {2}], dtype=object)})
    kind, _, _, reason = bvb.column_kinds(mixed).loc["a"]
    assert kind == "unusable" and "values of several types" in reason
    with pytest.raises(DataError):
        bvb.column_kinds(3)
