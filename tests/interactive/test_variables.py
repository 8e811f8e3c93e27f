"""Columns in words: what is odd in them is said."""

import numpy as np
import pandas as pd
import pytest

from bayesvb.interactive.variables import variables

LONG = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "3a"]

COLUMNS = {
    # column -> kind, text, odd
    "numbers": (np.arange(20.0), "number", "0 to 19", ""),
    "missing": ([1.0, None, 3.0], "number", "1 to 3, 1 missing", ""),
    "infinite": ([1.0, np.inf, 3.0], "number", "1 to 3", "1 infinite"),
    "constant": ([2.5, 2.5], "number", "always 2.5", "constant"),
    "empty": ([np.nan, np.nan], "number", "no value, 2 missing", ""),
    "truth": ([True, False], "number", "0 to 1", ""),
    "levels": (["a", "b", "a"], "levels", "2 levels", ""),
    "nearly": (LONG, "levels", "10 levels", "1 of 10 values is not a number: '3a'"),
    "text": (LONG[:9], "levels", "9 levels", "numbers written as text"),
    "dates": (pd.to_datetime(["2020-01-01"]), "not usable", "", "holds dates"),
    "mixed": ([1.0, "a", b"b"], "not usable", "", "values of several types"),
}


@pytest.mark.parametrize("case", COLUMNS)
def test_a_column_is_described(case):
    values, kind, text, odd = COLUMNS[case]
    (variable,) = variables(pd.DataFrame({"my column": values}))
    assert (variable.kind, variable.text) == (kind, text)
    assert odd in variable.odd and bool(odd) == bool(variable.odd)
    assert variable.word == "`my column`"
    assert all(0.0 <= bar <= 1.0 for bar in variable.bars)
