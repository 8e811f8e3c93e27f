"""Data of any library as pandas, and columns as numbers or levels."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.data.frames import (
    as_frame,
    columns_of,
    kind_of,
    levels,
    missing_rows,
    nearest,
    numbers,
    writes_dates,
)
from bayesvb.errors import DataError, DesignWarning
from bayesvb.formula.design import build_design
from bayesvb.formula.parser import parse_formula

FRAME = pd.DataFrame({"x": [1.5, np.nan, 3.0], "k": [1, 2, 3], "g": ["a", None, "b"]})


def polars_frame():
    polars = pytest.importorskip("polars")
    return polars.DataFrame({"x": [1.5, None, 3.0], "k": [1, 2, 3], "g": ["a", None, "b"]})


def arrow_table():
    return pytest.importorskip("pyarrow").Table.from_pandas(FRAME)


OTHERS = {
    "polars": polars_frame,
    "pyarrow": arrow_table,
    "mapping of arrays": lambda: {name: FRAME[name].to_numpy() for name in FRAME},
    "mapping of lists": lambda: {name: FRAME[name].to_list() for name in FRAME},
    "record array": lambda: FRAME.to_records(index=False),
    "structured array": lambda: np.asarray(FRAME.to_records(index=False)),
}


@pytest.mark.parametrize("library", OTHERS)
def test_every_library_gives_the_same_columns(library):
    frame = as_frame(OTHERS[library]())
    assert list(frame.columns) == ["x", "k", "g"]
    np.testing.assert_array_equal(numbers(frame["x"], "x"), FRAME["x"])
    np.testing.assert_array_equal(numbers(frame["k"], "k"), [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(missing_rows(frame["g"]), [False, True, False])
    assert kind_of(frame["g"], "g") == "levels"


def test_a_pandas_frame_is_taken_as_it_is():
    assert as_frame(FRAME) is FRAME


def test_column_names_become_text_and_the_frame_of_the_user_keeps_its_own():
    frame = pd.DataFrame({0: [1.0], ("a", 1): [2.0]})
    assert list(as_frame(frame).columns) == ["0", "('a', 1)"]
    assert list(frame.columns) == [0, ("a", 1)]


@pytest.mark.parametrize(
    "data",
    [
        3,
        "x",
        [1, 2],
        [{"x": 1}],
        np.ones((3, 2)),
        FRAME["x"],
        None,
        {"x": [1], "y": []},
    ],
    ids=lambda data: type(data).__name__,
)
def test_what_is_no_table_is_refused_by_type(data):
    with pytest.raises(DataError, match=f"cannot read data of type {type(data).__name__}"):
        as_frame(data)


def test_a_lazy_frame_is_refused():
    polars = pytest.importorskip("polars")
    with pytest.raises(DataError, match="LazyFrame"):
        as_frame(polars.LazyFrame({"x": [1.0]}))


@pytest.mark.parametrize("data", [pd.DataFrame(), pd.DataFrame(index=[0, 1]), {}])
def test_no_columns(data):
    with pytest.raises(DataError, match="no columns"):
        as_frame(data)


NUMBERS = {
    "float64": ([1.5, 2.0], "float64"),
    "float32": ([1.5, 2.0], "float32"),
    "float16": ([1.5, 2.0], "float16"),
    "int8": ([100, -128], "int8"),
    "uint64": ([2**64 - 1, 0], "uint64"),
    "bool": ([True, False], "bool"),
    "boolean": ([True, None], "boolean"),
    "Int64": ([1, None], "Int64"),
    "Float32": ([1.5, None], "Float32"),
    "int64[pyarrow]": ([1, None], "int64[pyarrow]"),
    "bool[pyarrow]": ([True, None], "bool[pyarrow]"),
    "objects": ([1, 2.5, None], object),
    "decimals": ([Decimal("1.5"), None], object),
    "truth values": ([True, None], object),
    "large whole numbers": ([10**30, 1], object),
    "nothing": ([None, None], object),
    "Sparse": ([0.0, 1.0], "Sparse[float64]"),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_numbers_of_every_type_become_doubles(case):
    values, dtype = NUMBERS[case]
    if "pyarrow" in str(dtype):
        pytest.importorskip("pyarrow")
    column = pd.Series(values, dtype=dtype)
    expected = [np.nan if value is None else float(value) for value in values]
    found = numbers(column, "x")
    assert kind_of(column, "x") == "number"
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(missing_rows(column), np.isnan(expected))


def test_doubles_are_not_copied():
    frame = pd.DataFrame({"x": np.arange(5.0), "z": np.arange(5.0)})
    column = columns_of(frame, ["x"], whose="the data")["x"]
    assert np.shares_memory(numbers(column, "x"), frame["x"].to_numpy())


LEVELS = {
    "str": pd.Series(["b", "a", "b"]),
    "string": pd.Series(["b", "a", "b"], dtype="string"),
    "object": pd.Series(["b", "a", "b"], dtype=object),
    "category": pd.Series(pd.Categorical(["b", "a", "b"], categories=["a", "b", "unused"])),
}


@pytest.mark.parametrize("case", LEVELS)
def test_text_of_every_type_becomes_the_levels_that_occur(case):
    assert kind_of(LEVELS[case], "g") == "levels"
    found = levels(LEVELS[case], "g")
    assert list(found.categories) == ["a", "b"]
    assert list(found) == ["b", "a", "b"]


def test_a_category_keeps_its_order():
    column = pd.Series(pd.Categorical(["low", "high"], categories=["low", "high"], ordered=True))
    assert list(levels(column, "g").categories) == ["low", "high"]


@pytest.mark.parametrize("dtype", ["int8", "Int64", "float64", "bool", "boolean", object])
def test_numbers_can_be_levels(dtype):
    found = levels(pd.Series([1, 0, 1], dtype=dtype), "k")
    assert [int(level) for level in found.categories] == [0, 1]


REFUSED = {
    "dates": (pd.Series(pd.date_range("2020", periods=2)), "dates or durations"),
    "dates with a zone": (pd.Series(pd.date_range("2020", periods=2, tz="UTC")), "dates"),
    "durations": (pd.Series(pd.to_timedelta([1, 2])), "dates or durations"),
    "periods": (pd.Series(pd.period_range("2020", periods=2)), "dates or durations"),
    "date objects": (pd.Series([datetime.date(2020, 1, 1), None], dtype=object), "dates"),
    "complex": (pd.Series([1j, 2.0]), "complex"),
    "mixed": (pd.Series([1, "a", 2.5, None], dtype=object), r"int \(1\), str \(1\), float \(1\)"),
    "numbers and truth values": (pd.Series([True, 2], dtype=object), "several types"),
    "bytes": (pd.Series([b"a", b"b"], dtype=object), "type bytes"),
    "lists": (pd.Series([[1], [2]]), "type list"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_columns_that_are_neither_numbers_nor_levels_are_refused_by_name(case):
    column, why = REFUSED[case]
    with pytest.raises(DataError, match=f"`when` holds .*{why}"):
        kind_of(column, "when")


def test_text_where_numbers_are_needed_shows_the_values_that_are_no_numbers():
    column = pd.Series(["1.5", "n/a", "2", "?", "n/a"])
    with pytest.raises(DataError, match=r"`x` holds text .* for example 'n/a', '\?'") as caught:
        numbers(column, "x")
    assert "to_numeric(data['x'])" in caught.value.hint


def test_dates_that_are_text_are_to_be_made_dates_and_not_numbers():
    days = pd.Series([f"2020-01-{day:02d}" for day in range(1, 11)])
    with pytest.raises(DataError, match="`when` holds text") as caught:
        numbers(days, "when")
    assert "pandas.to_datetime(data['when'])" in caught.value.hint
    data = {"y": np.arange(10.0) ** 2, "when": days}
    as_text = pytest.warns(DesignWarning, match="`when` holds dates as text and becomes 10 levels")
    with as_text, pytest.raises(DataError, match=r"`s\(when\)` needs numbers") as caught:
        build_design(parse_formula("y ~ s(when)"), data)
    assert "pandas.to_datetime(data['when'])" in caught.value.hint
    with pytest.warns(DesignWarning, match=r"pandas.to_datetime\(data\['when'\]\)"):
        build_design(parse_formula("y ~ when"), data)
    build_design(parse_formula("y ~ s(when, k=4)"), {**data, "when": pd.to_datetime(days)})


@pytest.mark.parametrize(
    ("values", "found"),
    [
        (["1999-12-31", None], True),
        (["1999-12-31T23:59", "2000-01-01 00:00:01.5"], True),
        (["1999-12-31", "soon"], False),
        (["1999-02-30"], False),
        (["19991231"], False),
        ([None, None], False),
        ([19991231, 20000101], False),
    ],
)
def test_what_writes_dates(values, found):
    assert writes_dates(pd.Series(values)) is found
    assert writes_dates(pd.Series(values, dtype=object)) is found


def test_a_number_too_large_for_a_double_is_refused():
    with pytest.raises(DataError, match="`x` cannot be read as numbers"):
        numbers(pd.Series([10**400, 1], dtype=object), "x")


def test_columns_that_are_absent_or_double_are_named():
    frame = pd.DataFrame([[1.0, 2.0, 3.0]], columns=["speed", "x", "x"])
    with pytest.raises(
        DataError, match=r"the new data lack `spead`\nhint: rename `speed` to `spead`"
    ):
        columns_of(frame, ["spead"], whose="the new data")
    with pytest.raises(
        DataError, match=r"lack `Speed`\nhint: add it; the columns are `speed`, `x`$"
    ):
        columns_of(frame, ["Speed", "speed"], whose="the new data")
    with pytest.raises(DataError, match="several columns called `x`"):
        columns_of(frame, ["x"], whose="the data")
    assert list(columns_of(frame, ["speed"], whose="the data")) == ["speed"]


def test_the_hint_lists_a_few_columns_if_none_is_near():
    columns = [f"column{i}" for i in range(12)]
    assert nearest("q", columns).endswith("`column7` ...")
    assert nearest("LWT", ["age", "lwt", "LW"]) == "did you mean `lwt`?"
    assert nearest("colum3", columns).startswith("did you mean `column3`")


def test_single_values_make_one_row_or_are_the_same_in_all():
    assert as_frame({"x": 1.0, "site": "north"}).to_dict("list") == {"x": [1.0], "site": ["north"]}
    assert as_frame({"x": [1.0, 2.0], "n": 3}).to_dict("list") == {"x": [1.0, 2.0], "n": [3, 3]}


def test_lazy_tables_are_told_how_they_become_tables():
    pl = pytest.importorskip("polars")
    with pytest.raises(DataError, match=r"hint: .*\.collect\(\)"):
        as_frame(pl.LazyFrame({"x": [1.0]}))


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_tables_of_other_libraries_are_fitted_and_predicted_like_those_of_pandas(library):
    pytest.importorskip(library)
    rng = np.random.default_rng(2)
    data = pd.DataFrame({"x": rng.normal(size=40), "k": np.where(rng.random(40) < 0.5, "a", "b")})
    data["y"] = data["x"] + (data["k"] == "a") + rng.normal(size=40)
    if library == "polars":
        import polars

        other = polars.from_pandas(data)
    else:
        import pyarrow

        other = pyarrow.Table.from_pandas(data)
    few = {"seed": 1, "restarts": 1, "draws": 30}
    fit, same = (
        bvb.DensityRegression("y ~ x + k", table, n_components=1).fit(**few)
        for table in (data, other)
    )
    for table in (data, other):
        assert np.array_equal(same.predict(table), fit.predict(data))
    effects = [bvb.effects.predictions(fit, data=table).summary for table in (data, other)]
    assert np.array_equal(effects[0]["estimate"], effects[1]["estimate"])


def test_a_modin_frame_is_read_as_pandas_is(monkeypatch):
    monkeypatch.setenv("MODIN_ENGINE", "python")
    modin = pytest.importorskip("modin.pandas")
    given = {"x": [1.0, 2.5, None], "g": ["a", "b", "a"]}
    pd.testing.assert_frame_equal(as_frame(modin.DataFrame(given)), pd.DataFrame(given))


@pytest.mark.parametrize("form", ["relation", "batches"])
def test_what_duckdb_sends_is_a_table(form):
    duckdb = pytest.importorskip("duckdb")
    given = duckdb.connect().sql("select 1.5 as x, 'a' as g union all select 2.5, 'b' order by x")
    found = as_frame(given if form == "relation" else given.arrow())
    assert found["x"].tolist() == [1.5, 2.5] and found["g"].tolist() == ["a", "b"]
