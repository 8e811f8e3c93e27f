"""Formula and data together: the matrices, and the same columns for new data."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesvb.errors import DataError, DesignWarning, FormulaError
from bayesvb.formula.design import build_design
from bayesvb.formula.parser import parse_formula

N = 60


def make_data() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "y": rng.normal(size=N),
            "x1": rng.uniform(size=N),
            "x2": rng.normal(size=N),
            "z": rng.normal(size=N),
            "g": rng.choice(list("abc"), N),
            "my col": rng.normal(size=N),
            "k": rng.integers(0, 3, N),
            "log": rng.uniform(1, 2, N),
        }
    )


DATA = make_data()


def design_of(text, data=DATA, **options):
    return build_design(parse_formula(text), data, **options)


def assert_same(design, other):
    assert design.terms == other.terms
    assert design.levels == other.levels
    assert design.response_names == other.response_names
    np.testing.assert_array_equal(design.response, other.response)
    for part in design.matrices:
        np.testing.assert_array_equal(design.matrices[part], other.matrices[part])


FORMULAS = [
    "y ~ x1 + x2 | gating(x1)",
    "y ~ x1",
    "y ~ 1 | gating(1)",
    "y ~ 0 + x1 | -1 + x2",
    "y ~ .",
    "y ~ . - g | gating(. - x1)",
    "y ~ x1*g | C(k)",
    "y ~ 0 + g | gating(C(g, contr.sum))",
    "y + x2 ~ x1",
    "log(y + 5) ~ scale(`my col`) | center(x1)",
    "scale(y) ~ bs(x1, df=4) | cr(x1, df=4, constraints='center')",
    "y ~ poly(x1, 3) | standardize(x2)",
    "y ~ I(x1**2) + {x1 + x2} | np.maximum(x1, x2) + x1:g",
    "y ~ scale(`my col` * `my col` - 1)",
    "y ~ log(log) + log",
    "y ~ C(k, levels=[2, 1, 0]) | I(g == 'a')",
]


@pytest.mark.parametrize("text", FORMULAS)
def test_the_matrices_are_finite_doubles_in_rows(text):
    design = design_of(text)
    assert design.response.shape == (N, len(design.response_names))
    for part, matrix in design.matrices.items():
        assert matrix.shape == (N, len(design.terms[part]))
        assert matrix.dtype == np.float64
        assert matrix.flags.c_contiguous
        assert np.isfinite(matrix).all()


@pytest.mark.parametrize("text", FORMULAS)
def test_the_training_data_give_the_training_matrices(text):
    design = design_of(text)
    rows = design.new(DATA, response=True)
    for part, matrix in design.matrices.items():
        np.testing.assert_array_equal(rows.matrices[part], matrix)
    np.testing.assert_array_equal(rows.response, design.response)
    assert rows.complete.all()


@pytest.mark.parametrize("text", FORMULAS)
def test_a_few_new_rows_are_coded_as_they_were_among_all(text):
    design = design_of(text)
    few = DATA.iloc[[7, 3, 3]].set_axis(["p", "q", "q"])
    rows = design.new(few)
    assert list(rows.index) == ["p", "q", "q"]
    for part, matrix in design.matrices.items():
        np.testing.assert_allclose(rows.matrices[part], matrix[[7, 3, 3]], rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("text", FORMULAS)
def test_some_of_the_rows_are_those_of_their_data_made_anew(text):
    design, at = design_of(text), np.array([N - 1, 0, 5])
    found, data = design.rows_at(at, response=True), design.data_at(at)
    expected = design.new(data, response=True)
    pd.testing.assert_frame_equal(data, design.frame.iloc[[N - 1, 0, 5]])
    assert found.index.equals(expected.index) and found.complete.all() and len(found.complete) == 3
    assert design.rows_at(at).response is None
    np.testing.assert_array_equal(found.response, expected.response)
    for part, matrix in expected.matrices.items():
        np.testing.assert_allclose(found.matrices[part], matrix, rtol=1e-13)


def test_rows_are_counted_after_those_that_lack_a_value_are_left_out():
    holes = DATA.assign(x1=DATA["x1"].where(np.arange(N) != 3))
    assert design_of("y ~ x1").n_rows == N
    assert design_of("y ~ x1", holes).n_rows == N - 1 == len(design_of("y ~ x1", holes).index)


@pytest.mark.parametrize("text", FORMULAS)
def test_the_stored_frame_gives_the_same_design(text):
    design = design_of(text)
    again = build_design(parse_formula(text), design.frame)
    assert_same(design, again)
    pd.testing.assert_frame_equal(again.frame, design.frame)
    assert_same(design, build_design(parse_formula(design.formula.canonical()), design.frame))


@pytest.mark.heavy
@given(
    holes=st.lists(
        st.tuples(st.integers(0, N - 1), st.sampled_from(["y", "x1", "z", "g", "h"])), max_size=25
    ),
    dtype=st.sampled_from(["str", "string", "object", "category"]),
    text=st.sampled_from(["y ~ x1 + g | h", "y ~ scale(x1) | C(h) + z", "y ~ . | gating(x1)"]),
)
@pytest.mark.filterwarnings("ignore::bayesvb.errors.DesignWarning")
def test_the_stored_frame_gives_the_same_design_also_after_levels_lost_their_rows(
    holes, dtype, text
):
    data = DATA[["y", "x1", "z", "g"]].assign(h=["rare", "seldom"] + ["often", "never"] * 29)
    data = data.astype({"g": object, "h": object})
    for row, column in holes:
        data.loc[row, column] = None
    data = data.astype({"g": dtype, "h": dtype})
    design = design_of(text, data)
    assert_same(design, design_of(text, design.frame))
    assert design.n_missing == int(data[list(design.frame)].isna().any(axis=1).sum())
    np.testing.assert_array_equal(
        design.new(design.frame).matrices["mean"], design.matrices["mean"]
    )


def test_a_part_that_is_left_out_is_the_same_array():
    design = design_of("y ~ x1 + x2")
    assert design.matrices["gating"] is design.matrices["mean"]
    assert design.terms["gating"] == ("Intercept", "x1", "x2")


def test_only_the_columns_that_are_read_are_kept_in_their_order():
    assert list(design_of("log(log) ~ z + x1 | gating(`my col`)").frame) == [
        "x1", "z", "my col", "log",
    ]  # fmt: skip


def test_names_of_columns_appear_as_the_formula_has_them():
    design = design_of("y ~ `my col` + abs(`my col`) + np.log(log) + `my col`:g | C(k)")
    assert design.terms["mean"] == (
        "Intercept", "my col", "abs(`my col`)", "np.log(log)", "my col:g[T.b]", "my col:g[T.c]",
    )  # fmt: skip
    assert design.terms["gating"] == ("Intercept", "C(k)[T.1]", "C(k)[T.2]")
    assert design_of("log(log) ~ 1").response_names == ("log(log)",)


def test_a_logical_column_is_a_number_unless_it_is_marked():
    data = DATA.assign(b=DATA["z"] > 0)
    assert design_of("y ~ 0 + b", data).terms["mean"] == ("b",)
    assert design_of("y ~ 0 + C(b)", data).terms["mean"] == ("C(b)[False]", "C(b)[True]")


def test_values_are_those_of_the_textbook():
    design = design_of("y ~ x1*k + scale(x2) | C(g, contr.sum)")
    x1, k, x2 = DATA["x1"], DATA["k"], DATA["x2"]
    expected = np.column_stack([np.ones(N), x1, k, (x2 - x2.mean()) / x2.std(ddof=1), x1 * k])
    order = ["Intercept", "x1", "k", "scale(x2)", "x1:k"]
    assert list(design.terms["mean"]) == order
    np.testing.assert_allclose(design.matrices["mean"], expected, rtol=1e-13)
    codes = {"a": [1, 1, 0], "b": [1, 0, 1], "c": [1, -1, -1]}
    np.testing.assert_array_equal(design.matrices["gating"], [codes[g] for g in DATA["g"]])


# --- the dot


def test_the_dot_is_all_columns_but_those_of_the_response():
    assert design_of("log(y + 5) ~ .").terms["mean"][1:] == (
        "x1", "x2", "z", "g[T.b]", "g[T.c]", "my col", "k", "log",
    )  # fmt: skip
    assert "y" not in design_of("scale(y) ~ . | 1").terms["mean"]


def test_the_dot_keeps_its_meaning_for_new_data():
    design = design_of("y ~ . | gating(.)")
    rows = design.new(DATA.drop(columns="y").assign(extra=1.0)[["extra", *DATA.columns[:0:-1]]])
    np.testing.assert_array_equal(rows.matrices["gating"], design.matrices["gating"])


def test_columns_taken_out_of_the_dot_may_hold_anything():
    data = DATA.assign(day=pd.date_range("2020", periods=N), hole=np.nan)
    design = design_of("y ~ . - day - hole", data)
    assert design.n_missing == 0
    assert_same(design, design_of("y ~ . - day - hole", design.frame))
    with pytest.warns(DesignWarning, match=r"`\.` omits `day` \(dates or durations\)"):
        design = design_of("y ~ . - hole", data)
    assert "day" not in design.covariates


# --- one-sided formulas


def variables_of(text, data=DATA):
    return build_design(parse_formula(text, one_sided=True), data, response="none")


@pytest.mark.parametrize(("n_rows", "n_levels", "many"), [(130, 14, True), (130, 13, False),
                                                          (400, 16, True), (400, 15, False),
                                                          (30, 5, False)])  # fmt: skip
def test_many_levels_are_a_tenth_of_the_rows_or_more_than_fifteen(n_rows, n_levels, many):
    data = pd.DataFrame({"y": np.arange(n_rows), "g": [f"g{k % n_levels}" for k in range(n_rows)]})
    design = design_of("y ~ g", data)
    assert design.many_levels == ({"g": n_levels} if many else {})


def test_variables_have_no_intercept():
    for text in ("~ x1 + x2", "~ x1 + x2 - 1", "~ 1 + x1 + x2", "~ 0 + x1 + x2"):
        design = variables_of(text)
        assert design.terms["variables"] == ("x1", "x2")
        assert design.response is None
        assert design.response_names == ()
    assert variables_of("~ log(x1) + I(x2**2)").terms["variables"] == ("log(x1)", "I(x2 ** 2)")


def test_the_dot_of_variables_is_the_numeric_columns():
    data = DATA.assign(day=pd.date_range("2020", periods=N), mixed=[1, "a"] * 30)
    design = variables_of("~ .", data)
    assert design.terms["variables"] == ("y", "x1", "x2", "z", "my col", "k", "log")
    assert variables_of("~ .", design.frame).terms == design.terms


@pytest.mark.parametrize("text", ["~ x1 + g", "~ x1 + C(k)"])
def test_variables_are_numbers(text):
    with pytest.raises(DataError, match="all variables of this model must be numbers"):
        variables_of(text)


def test_no_variables_at_all():
    with pytest.raises(FormulaError, match="the variables part has no terms"):
        variables_of("~ 1")


# --- responses


def test_several_responses():
    design = design_of("y + log(log) ~ x1")
    assert design.response_names == ("y", "log(log)")
    np.testing.assert_array_equal(design.response[:, 1], np.log(DATA["log"]))


def test_the_response_is_not_needed_for_new_data_unless_asked_for():
    design = design_of("y ~ x1")
    new = DATA.drop(columns="y")
    assert design.new(new).response is None
    with pytest.raises(DataError, match="the new data lack `y`"):
        design.new(new, response=True)
    holes = DATA.assign(y=DATA["y"].where(DATA.index > 2))
    assert design.new(holes).complete.all()
    rows = design.new(holes, response=True)
    assert rows.complete.sum() == N - 3 == len(rows.response) == len(rows.matrices["mean"])


CLASSES = {
    "g": ("any", ("a", "b", "c")),
    "C(k)": ("any", ("0", "1", "2")),
    "k": ("categorical", ("0", "1", "2")),
    "flag": ("any", ("False", "True")),
    "level": ("any", ("low", "high")),
    "whole": ("categorical", ("0", "1", "2")),
}


@pytest.mark.parametrize("name", CLASSES)
def test_classes(name):
    level = pd.Categorical(np.where(DATA["x1"] > 0.5, "high", "low"), ["low", "unused", "high"])
    data = DATA.assign(flag=DATA["x1"] > 0.5, level=level, whole=DATA["k"].astype(float))
    kind, labels = CLASSES[name]
    design = design_of(f"{name} ~ x2", data, response=kind)
    assert design.levels == labels
    assert design.response_names == (name,)
    values = data[name.removeprefix("C(").removesuffix(")")]
    shown = [str(int(v)) if isinstance(v, float) else str(v) for v in values]
    assert [design.levels[code] for code in design.response] == shown
    np.testing.assert_array_equal(design.new(data[::-1], response=True).response,
                                  design.response[::-1])  # fmt: skip
    assert_same(design, design_of(f"{name} ~ x2", design.frame, response=kind))
    few = design.new(data[data[values.name] == values.iloc[0]], response=True)
    assert set(few.response) == {design.response[0]}


def test_numbers_stay_numbers_where_either_is_welcome():
    design = design_of("k ~ x1", response="any")
    assert design.levels is None
    assert design.response.shape == (N, 1)
    assert design_of("y + k ~ x1", response="any").response.shape == (N, 2)


def test_a_class_that_the_fit_never_saw():
    design = design_of("g ~ x1", response="categorical")
    with pytest.raises(DataError, match="`g` has classes that are not in the data of the fit: 'q'"):
        design.new(DATA.assign(g="q"), response=True)
    assert design.new(DATA.assign(g="q")).complete.all()


def test_classes_are_the_same_in_another_type():
    design = design_of("k ~ x1", response="categorical")
    new = DATA.assign(k=DATA["k"].astype(str))
    np.testing.assert_array_equal(design.new(new, response=True).response, design.response)


@pytest.mark.parametrize("text", ["g ~ x1", "C(k) ~ x1", "y + g ~ x1"])
def test_classes_where_numbers_are_needed(text):
    with pytest.raises(DataError, match="holds classes, but this model needs numbers"):
        design_of(text)


@pytest.mark.parametrize("text", ["g + k ~ x1", "log(y + 5) ~ x1"])
def test_classes_are_one_column(text):
    with pytest.raises(FormulaError, match="one column"):
        design_of(text, response="categorical")


def test_fractions_are_no_classes():
    with pytest.raises(DataError, match="`y` holds fractions"):
        design_of("y ~ x1", response="categorical")


@pytest.mark.parametrize("text", ["bs(x1, df=4) ~ x2", "poly(y, 2) ~ x1"])
def test_a_response_is_one_column_per_term(text):
    with pytest.raises(FormulaError, match="one column per term"):
        design_of(text)


@pytest.mark.parametrize("text", ["y ~ y", "y ~ x1 | y", "log(log) ~ x1 + log", "y ~ I(y + x1)"])
def test_a_response_stands_on_one_side_only(text):
    with pytest.raises(FormulaError, match="stands on both sides"):
        design_of(text)


# --- new data


def test_a_column_that_new_data_lack_is_named_once():
    design = design_of("y ~ x1 + log(x1) | scale(x1) + z")
    with pytest.raises(DataError, match=r"^the new data lack `x1`, `z`\n"):
        design.new(DATA[["x2"]])


def test_new_rows_keep_their_place():
    design = design_of("y ~ bs(x1, df=4) + g | gating(scale(z))")
    new = pd.DataFrame(
        {"x1": [0.3, 0.5, np.nan, 0.3], "z": [0.0, 1, 2, np.nan], "g": ["a", "b", "c", None]}
    )
    rows = design.new(new)
    np.testing.assert_array_equal(rows.complete, [True, True, False, False])
    assert rows.matrices["mean"].shape == (2, 7)
    assert rows.matrices["gating"].shape == (2, 2)


@pytest.mark.parametrize("text", FORMULAS)
def test_no_new_rows_and_no_complete_ones(text):
    design = design_of(text)
    for data in (DATA.head(0), DATA.head(4).assign(x1=np.nan, x2=np.nan, g=None, k=np.nan)):
        rows = design.new(data)
        if not rows.complete.any():
            assert {k: m.shape for k, m in rows.matrices.items()} == {
                k: (0, len(design.terms[k])) for k in design.matrices
            }


def test_levels_that_the_fit_never_saw_are_named():
    design = design_of("y ~ x1 + g | C(k)")
    with pytest.raises(
        DataError,
        match=r"`g` has levels that are not in the data of the "
        r"fit: 'q' \(2 rows\)",
    ):
        design.new(DATA.head(5).assign(g=["a", "q", "b", "q", "c"]))
    with pytest.raises(
        DataError,
        match=r"`k` has levels that are not in the data of the "
        r"fit: 7 \(5 rows\)",
    ):
        design.new(DATA.head(5).assign(k=7))


def test_levels_that_only_rows_left_out_had_are_not_seen():
    data = DATA.assign(g=["rare", *DATA["g"][1:]], y=[np.nan, *DATA["y"][1:]])
    design = design_of("y ~ g", data)
    assert design.terms["mean"] == ("Intercept", "g[T.b]", "g[T.c]")
    with pytest.raises(DataError, match="in the data of the fit: 'rare'"):
        design.new(data)


def test_levels_left_out_by_hand_are_an_error():
    with pytest.raises(DataError, match=r"levels that C\(\) does not list"):
        design_of("y ~ C(g, levels=['a', 'b'])")


def test_whole_numbers_and_doubles_are_the_same_levels():
    design = design_of("y ~ C(k)")
    rows = design.new(DATA.astype({"k": float}))
    np.testing.assert_array_equal(rows.matrices["mean"], design.matrices["mean"])


def test_new_data_of_another_kind_are_refused():
    design = design_of("y ~ x1 + g")
    with pytest.raises(DataError, match="`x1` holds text where numbers are needed"):
        design.new(DATA.assign(x1="n/a"))
    with pytest.raises(DataError, match="`g` has levels that are not in the data of the fit"):
        design.new(DATA.assign(g=1.0))


def test_a_spline_does_not_extrapolate_unless_told():
    new = DATA.head(3).assign(x1=[0.5, 3.0, 0.5])
    with pytest.raises(FormulaError, match="extrapolation='clip'"):
        design_of("y ~ bs(x1, df=4)").new(new)
    assert design_of("y ~ bs(x1, df=4, extrapolation='clip')").new(new).complete.all()


def test_new_data_may_come_from_any_library():
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    design = design_of("y ~ bs(x1, df=4) + g | gating(z)")
    for other in (
        polars.from_pandas(DATA), pyarrow.Table.from_pandas(DATA), dict(DATA.items()),
        DATA.to_records(index=False),
    ):  # fmt: skip
        np.testing.assert_array_equal(design.new(other).matrices["mean"], design.matrices["mean"])
        assert_same(design, design_of("y ~ bs(x1, df=4) + g | gating(z)", other))


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))])
def test_a_design_can_be_copied_to_another_process(copied):
    design = design_of("y ~ bs(x1, df=4) | scale(z) + C(g)")
    again = copied(design)
    np.testing.assert_array_equal(
        again.new(DATA.head(7)).matrices["gating"], design.new(DATA.head(7)).matrices["gating"]
    )
