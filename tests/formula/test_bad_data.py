"""Bad data: one clear message each, nothing lost, nothing changed."""

import datetime
import tracemalloc
import warnings
from time import perf_counter

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.errors import DataError, DesignWarning, FormulaError
from bayesvb.formula.design import build_design
from bayesvb.formula.parser import parse_formula

N = 40
RNG = np.random.default_rng(1)
DATA = pd.DataFrame(
    {
        "y": RNG.normal(size=N),
        "x1": RNG.uniform(size=N),
        "x2": RNG.normal(size=N),
        "g": RNG.choice(list("abc"), N),
        "one": 1.0,
    }
)


def design_of(text, data=DATA, **options):
    return build_design(parse_formula(text), data, **options)


def numbers_as_text():
    return DATA.assign(x1=DATA["x1"].round(3).astype(str))


# --- missing and infinite values


def test_one_missing_value_costs_one_row():
    data = DATA.copy()
    data.loc[3, "x2"] = np.nan
    data.loc[5, "y"] = np.nan
    design = design_of("y ~ x1 | scale(x2)", data)
    assert design.n_missing == 2
    assert list(design.index) == [i for i in range(N) if i not in (3, 5)]
    assert len(design.response) == len(design.frame) == N - 2


@pytest.mark.parametrize("none", [None, np.nan, pd.NA, pd.NaT])
def test_every_way_to_write_a_missing_value(none):
    data = DATA.assign(
        g=[none, *DATA["g"][1:]], x2=pd.Series([none, *DATA["x2"][1:]], dtype=object)
    )
    assert design_of("y ~ g + x2", data).n_missing == 1


def test_missing_values_in_columns_that_are_not_read_cost_nothing():
    assert design_of("y ~ x1", DATA.assign(x2=np.nan)).n_missing == 0


def test_missing_values_can_be_refused():
    data = DATA.copy()
    data.loc[:3, "x2"] = np.nan
    data.loc[3:4, "g"] = None
    with pytest.raises(DataError, match="5 of 40 rows lack a value: `x2` in 4, `g` in 2") as caught:
        design_of("y ~ x2 + g", data, missing="raise")
    assert "missing='drop'" in caught.value.hint
    assert design_of("y ~ x1", data, missing="raise").n_missing == 0


def test_other_policies_and_kinds_of_response_are_unknown():
    with pytest.raises(DataError, match=r"missing='omit' is not known.*'drop', 'raise'"):
        design_of("y ~ x1", missing="omit")
    with pytest.raises((DataError, TypeError), match="response"):
        design_of("y ~ x1", response="counts")


def test_no_complete_row():
    with pytest.raises(DataError, match=r"no row is complete: of 40 rows.* `x2` in 40"):
        design_of("y ~ x2", DATA.assign(x2=np.nan))


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("column", ["y", "x1", "x2"])
def test_infinite_values_are_counted_by_column(value, column):
    data = DATA.copy()
    data.loc[[2, 7], column] = value
    with pytest.raises(
        DataError, match=f"`{column}` is not finite in 2 of 40 rows, first in row 2"
    ):
        design_of("y ~ x1 | I(x2 > 0)", data)
    if column != "y":
        with pytest.raises(
            DataError, match=f"`{column}` is not finite in 2 of 40 rows, first in row 2"
        ):
            design_of("y ~ x1 | I(x2 > 0)").new(data)


def test_infinite_values_in_rows_left_out_do_no_harm():
    data = DATA.assign(x1=[np.inf, *DATA["x1"][1:]], y=[np.nan, *DATA["y"][1:]])
    assert design_of("y ~ x1", data).n_missing == 1


@pytest.mark.parametrize("code", ["log(x1 - 0.5)", "I(1/(x1 - x1))", "sqrt(x2)", "scale(one)"])
def test_transforms_that_are_undefined_somewhere_are_named(code):
    with pytest.raises(DataError, match=r"`.*\(.*` is not finite in \d+ of 40 rows"):
        design_of(f"y ~ {code}")
    with pytest.raises(DataError, match=r"`.*\(.*` is not finite in \d+ of 40 rows"):
        design_of(f"{code} ~ 1")


# --- rows, columns, names


def test_an_empty_frame():
    with pytest.raises(DataError, match="no rows"):
        design_of("y ~ x1", DATA.head(0))
    with pytest.raises(DataError, match="no columns"):
        design_of("y ~ x1", DATA[[]])


def test_one_row():
    with pytest.raises(DataError, match="one complete row only"):
        design_of("y ~ x1", DATA.head(1))
    with pytest.raises(DataError, match="one complete row only"):
        design_of("y ~ x1", DATA.assign(x1=[0.5] + [np.nan] * (N - 1)))


def test_one_class():
    with pytest.raises(DataError, match="`g` has one class only, 'a'"):
        design_of("g ~ x1", DATA.assign(g="a"), response="categorical")


def test_names_that_occur_twice_matter_only_if_they_are_read():
    data = pd.concat([DATA, DATA[["x1"]]], axis=1)
    assert design_of("y ~ x2", data).frame.shape == (N, 2)
    for text in ("y ~ x1", "y ~ log(x1)", "x1 ~ x2", "y ~ ."):
        with pytest.raises(DataError, match="several columns called `x1`"):
            design_of(text, data)
    with pytest.raises(DataError, match="the new data have several columns called `x1`"):
        design_of("y ~ x1").new(data)


UNKNOWN = {
    "y ~ x3": ("x3", "`x"),
    "y ~ x1 | gating(speed)": ("speed", "the columns are"),
    "Y ~ x1": ("Y", "did you mean `y`"),
    "y ~ log(xx1)": ("xx1", "did you mean `x1`"),
    "y ~ C(gg)": ("gg", "did you mean `g`"),
    "y ~ x1 | `my col`": ("my col", "the columns are"),
    "y ~ y.x": ("y.x", "`y"),
}


@pytest.mark.parametrize("text", UNKNOWN)
def test_unknown_names_are_marked_and_near_ones_offered(text):
    name, hint = UNKNOWN[text]
    with pytest.raises(FormulaError, match=f"`{name}` is neither a column") as caught:
        design_of(text)
    start, last = caught.value.at
    assert text[start : last + 1] == name
    assert hint in caught.value.hint


def test_every_index_is_kept():
    for index in (
        pd.Index([7] * N),
        pd.MultiIndex.from_product(
            [range(2), list("abcdefghij"), ["u", "v"]], names=["i", None, "k"]
        ),
        pd.date_range("2020", periods=N),
        pd.Index(list("ab") * (N // 2), name="who"),
    ):
        data = DATA.set_axis(index)
        data.iloc[3, 0] = np.nan
        design = design_of("y ~ x1 + C(g) | scale(x2)", data)
        pd.testing.assert_index_equal(design.index, index.delete(3))
        pd.testing.assert_index_equal(design.new(data).index, index)
        pd.testing.assert_frame_equal(
            design.frame, data[["y", "x1", "x2", "g"]][data["y"].notna().to_numpy()]
        )


# --- kinds of values


@pytest.mark.parametrize(
    "code", ["log(g)", "I(g * 2)", "bs(g, df=4)", "poly(g, 2)", "scale(g)", "-g"]
)
def test_text_where_numbers_are_needed(code):
    code = "I(-g)" if code == "-g" else code
    with pytest.raises(DataError, match="needs numbers, and `g` holds text"):
        design_of(f"y ~ {code}")


def test_numbers_held_as_text_are_warned_of():
    with pytest.warns(DesignWarning, match="`x1` holds numbers as text and becomes"):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*terms but the data only.*")
            warnings.filterwarnings("ignore", message=".*levels in .* rows, each with.*")
            design_of("y ~ x1 | 1", numbers_as_text())
    with pytest.raises(DataError, match="`x1` holds classes, but this model needs numbers"):
        design_of("x1 ~ x2", numbers_as_text())


@pytest.mark.parametrize("text", ["y ~ id", "y ~ x1*id", "y ~ C(id)", "y ~ s(x1, by=id, k=4)"])
def test_ids_as_levels_are_warned_of(text):
    data = DATA.assign(id=[f"{k // 2:03d}b" if k < 20 else f"{k}a" for k in range(N)])
    with pytest.warns(DesignWarning, match=rf"`id` has {N - 10} levels in {N} rows.*\(1 \| id\)"):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*terms but the data only.*")
            design_of(f"{text} | 1", data)


def test_groups_of_one_row_are_warned_of():
    with pytest.warns(DesignWarning, match=f"`id` has {N} groups in {N} rows"):
        design_of("y ~ x1 + (1 | id)", DATA.assign(id=np.arange(N)))


@pytest.mark.parametrize("width", [0.0, 1e-16, 1e-13])
def test_a_column_that_is_constant_up_to_rounding(width):
    data = DATA.assign(flat=1e6 * (1.0 + width * np.linspace(0.0, 1.0, N)))
    with pytest.warns(DesignWarning, match="constant columns: `flat`"):
        design_of("y ~ x1 + flat | 1", data)
    with pytest.raises(DataError, match=r"`s\(flat\)`: `flat` is 1e\+06 in every row"):
        design_of("y ~ x1 + s(flat) | 1", data)
    with pytest.raises(DataError, match="the response `flat` is 1e\\+06 in every row"):
        design_of("flat ~ x1", data)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "Int8", "int64", "Int64", object])
def test_whole_numbers_do_not_wrap_around(dtype):
    k = np.arange(N) % 100 + 28
    data = DATA.assign(k=pd.Series(k).astype(dtype))
    design = design_of("y ~ I(k**3) + I(-k) + k:k2 | 1", data.assign(k2=data["k"]))
    for name, expected in {"I(k ** 3)": k**3, "I(-k)": -k, "k:k2": k**2}.items():
        column = design.matrices["mean"][:, design.terms["mean"].index(name)]
        np.testing.assert_array_equal(column, expected.astype(float))


def test_large_whole_numbers_do_not_wrap_around():
    data = DATA.assign(k=2**62 + np.arange(N) * 2**40)
    design = design_of("y ~ I(k*k) | 1", data)
    np.testing.assert_allclose(
        design.matrices["mean"][:, 1], data["k"].astype(float) ** 2, rtol=1e-15
    )


@pytest.mark.parametrize("dtype", ["bool", "boolean", "bool[pyarrow]", object])
def test_truth_values_are_zero_and_one(dtype):
    flag = pd.Series(DATA["x1"] > 0.5)
    design = design_of("y ~ flag + flag:x2", DATA.assign(flag=flag.astype(dtype)))
    assert design.terms["mean"] == ("Intercept", "flag", "flag:x2")
    np.testing.assert_array_equal(design.matrices["mean"][:, 1], flag.astype(float))


@pytest.mark.parametrize("dtype", ["Float64", "float64[pyarrow]", "Float32", "float32"])
def test_nullable_numbers(dtype):
    data = DATA.assign(x2=DATA["x2"].astype("float32").astype(dtype))
    data.loc[4, "x2"] = None
    design = design_of("y ~ x2", data)
    assert design.n_missing == 1
    expected = DATA["x2"].astype("float32").drop(4)
    np.testing.assert_array_equal(design.matrices["mean"][:, 1], expected)


def test_unused_levels_make_no_column():
    level = pd.Categorical(DATA["g"], categories=["c", "never", "b", "a"])
    design = design_of("y ~ level", DATA.assign(level=level))
    assert design.terms["mean"] == ("Intercept", "level[T.b]", "level[T.a]")
    assert "never" in design.frame["level"].cat.categories


REFUSED = {
    "times of day": pd.Series([datetime.time(k % 24) for k in range(N)]),
    "a complex number": np.arange(N) * 1j,
    "several types": pd.Series([1, "a"] * (N // 2), dtype=object),
    "lists": pd.Series([[1]] * N),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("text", ["y ~ x1 + w", "y ~ x1 | log(w)", "w ~ x1", "y ~ C(w)"])
def test_columns_of_no_use_are_named(case, text):
    with pytest.raises(DataError, match="`w` holds"):
        design_of(text, DATA.assign(w=REFUSED[case]))


# --- constant and collinear columns


@pytest.mark.parametrize("value", [0.0, 1.0, -1e150])
def test_a_constant_response(value):
    with pytest.raises(DataError, match=r"the response `y` is .* in every row"):
        design_of("y ~ x1", DATA.assign(y=value))
    with pytest.raises(DataError, match=r"the response `y` is .* in every row"):
        design_of("x2 + y ~ x1", DATA.assign(y=value))


def test_constant_columns_are_named():
    with pytest.warns(DesignWarning, match="the mean has constant columns: `one`, `two`;"):
        design_of("y ~ x1 + one + two | 1", DATA.assign(two=2))
    with pytest.warns(DesignWarning, match="the formula has constant columns: `one`;"):
        design_of("y ~ x1 + one", DATA)


def test_a_text_column_of_one_level_is_named():
    with pytest.warns(DesignWarning, match="`g` has one level only, 'a'"):
        design = design_of("y ~ x1 + g", DATA.assign(g="a"))
    assert design.terms["mean"] == ("Intercept", "x1")


def test_collinear_columns_are_named():
    data = DATA.assign(sum=DATA["x1"] + 2 * DATA["x2"] + 3)
    message = "the gating has columns that are sums of others: `sum` from `Intercept`, `x1`, `x2`"
    with pytest.warns(DesignWarning, match=message) as caught:
        design_of("y ~ x1 + x2 | x1 + x2 + sum", data)
    assert len(caught) == 1


def test_combinations_of_levels_without_rows_are_the_reason():
    data = DATA.assign(a=list("pqr" * N)[:N], b=list("uuvv" * N)[:N])
    for level, message in (("p", "are sums of others"), ("q", "constant columns")):
        some = data[~((data["a"] == level) & (data["b"] == "v"))]
        with pytest.warns(DesignWarning, match=f"{message}.* combinations of levels have no rows"):
            design_of("y ~ a * b", some)


def test_a_gating_like_the_mean_is_warned_of_once():
    with pytest.warns(DesignWarning, match="the formula has") as caught:
        design_of("y ~ x1 + double", DATA.assign(double=2 * DATA["x1"]))
    assert len(caught) == 1


def test_a_spline_that_holds_the_intercept_is_warned_of():
    with pytest.warns(DesignWarning, match="constraints='center'"):
        design_of("y ~ cr(x1, df=4) | 1")


@pytest.mark.parametrize(
    "change",
    [
        lambda x: 1e9 + x,
        lambda x: 1e-200 * x,
        lambda x: 1e150 * x,
        lambda x: 1.5e308 * (x - 0.5),
        lambda x: 2000 + 20 * x,
    ],
)
@pytest.mark.parametrize("text", ["y ~ x + x2 | 1", "y ~ 0 + x + x2 | 1"])
def test_large_and_shifted_scales_are_not_collinear_and_do_not_overflow(change, text):
    design = design_of(text, DATA.assign(x=change(DATA["x1"])))
    assert np.isfinite(design.matrices["mean"]).all()


@pytest.mark.parametrize("factor", [1e-150, 1e150, 1e300])
def test_collinear_columns_of_any_scale_are_found(factor):
    with pytest.warns(DesignWarning, match="`w` from `x1`"):
        design_of("y ~ x1 + w | 1", DATA.assign(w=factor * DATA["x1"]))


def test_a_response_of_any_scale():
    for factor in (1e-150, 1e150):
        design = design_of("y ~ x1", DATA.assign(y=factor * DATA["y"]))
        np.testing.assert_array_equal(design.response[:, 0], factor * DATA["y"])


def test_fewer_rows_than_terms_are_usable():
    with pytest.warns(DesignWarning, match="the mean has 5 terms but the data only 3"):
        design = design_of("y ~ x1*x2 + I(x1**2) | 1", DATA.head(3))
    assert design.matrices["mean"].shape == (3, 5)


@pytest.mark.parametrize("text", ["y ~ 0", "y ~ -1", "y ~ x1 - x1 - 1", "y ~ x1 | gating(0)"])
def test_a_part_without_terms(text):
    with pytest.raises(FormulaError, match="part has no terms"):
        design_of(text)


def test_two_terms_of_one_name():
    with pytest.raises(FormulaError, match="two terms called `Intercept`"):
        design_of("y ~ Intercept | 1", DATA.rename(columns={"x1": "Intercept"}))


# --- the data of the user


@pytest.mark.parametrize("text", ["y ~ x1*g | scale(x2)", "log(y + 9) ~ np.maximum(x1, x2) + C(k)"])
def test_the_data_of_the_user_are_not_changed(text):
    data = DATA.assign(k=np.arange(N, dtype="int8") % 3, g=DATA["g"].astype("category"))
    data.loc[3, "x2"] = np.nan
    before = data.copy(deep=True)
    design = design_of(text, data)
    design.new(data, response=True)
    pd.testing.assert_frame_equal(data, before)
    stored = design.frame.copy(deep=True)
    data["x1"] = 0.0
    data.loc[:, "x2"] = 7.0
    pd.testing.assert_frame_equal(design.frame, stored)


def test_columns_without_gaps_are_not_copied():
    design = design_of("y ~ x1 + x2 | gating(x1)")
    for name in design.frame:
        assert np.shares_memory(design.frame[name].to_numpy(), DATA[name].to_numpy())


def large_data():
    rng = np.random.default_rng(0)
    return pd.DataFrame({name: rng.normal(size=1_000_000) for name in ("y", "x1", "x2", "z")})


def test_the_memory_of_a_large_design_is_little_more_than_its_matrices():
    formula, data = parse_formula("y ~ x1 + x2 | gating(x1)"), large_data()
    build_design(formula, data.head(100))
    tracemalloc.start()
    design = build_design(formula, data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    size = design.response.nbytes + sum(m.nbytes for m in design.matrices.values())
    assert peak < 2 * size  # measured: 1.25


@pytest.mark.timing
def test_a_million_rows_take_a_fraction_of_a_second():
    formula, data = parse_formula("y ~ x1 + x2 | gating(x1)"), large_data()
    build_design(formula, data.head(100))
    seconds = []
    for _ in range(5):
        start = perf_counter()
        build_design(formula, data)
        seconds.append(perf_counter() - start)
    assert min(seconds) < 0.3  # measured: 0.09


def test_dates_that_are_written_with_the_day_first_are_named():
    days = pd.date_range("2024-01-01", periods=30).strftime("%d/%m/%Y")
    data = pd.DataFrame({"y": np.arange(30.0) ** 0.5, "day": days})
    with pytest.warns(DesignWarning, match="30 levels in 30 rows.*to_datetime"):
        bvb.DensityRegression("y ~ day", data, n_components=1)


def test_a_level_in_other_capitals_is_named():
    data = pd.DataFrame({"y": np.arange(8.0), "g": ["yes", "no"] * 4})
    fit = bvb.DensityRegression("y ~ g", data, n_components=1).fit(seed=1, draws=25)
    with pytest.raises(DataError, match="write 'yes', as in the data of the fit"):
        fit.predict({"g": [" YES"]})


def test_columns_that_are_missing_are_to_be_added():
    data = pd.DataFrame({"y": np.arange(8.0), "one": np.arange(8.0) % 3, "two": np.arange(8) % 2})
    fit = bvb.DensityRegression("y ~ one + two", data, n_components=1).fit(seed=1, draws=25)
    with pytest.raises(DataError, match="lack `one`, `two`\nhint: add them"):
        fit.predict({"z": [1.0]})
