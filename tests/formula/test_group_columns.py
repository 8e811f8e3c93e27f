"""Effects of groups in a formula: their columns, blocks and names, and what they refuse."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bayesvb.errors import DataError, FormulaError
from bayesvb.formula.design import build_design
from bayesvb.formula.parser import parse_formula
from bayesvb.linear.structure import LIMITS, only_columns

N = 60


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "y": rng.normal(size=N),
            "x": rng.normal(5.0, size=N),
            "g": rng.permutation(np.resize(list("bca"), N)),
            "h": rng.permutation(np.resize([20, 3], N)),
        }
    )


def design_of(text, data):
    return build_design(parse_formula(text), data)


def test_every_group_has_a_column_and_so_has_a_new_one(data):
    design = design_of("y ~ (1 | g)", data)
    names = ["(1 | g)[a]", "(1 | g)[b]", "(1 | g)[c]", "(1 | g)[new group]"]
    assert list(design.terms["mean"]) == ["Intercept", *names]
    (block,) = design.term_blocks["mean"]
    assert (block.name, block.columns, block.kind) == ("(1 | g)", (1, 2, 3, 4), "group")
    found = design.matrices["mean"][:, 1:]
    assert_array_equal(found[:, :3], data.g.to_numpy()[:, None] == np.array(list("abc")))
    assert not found[:, 3].any()


def test_slopes_are_of_the_distance_from_the_mean(data):
    design = design_of("y ~ x + (x | g)", data)
    assert [(one.name, one.kind) for one in design.term_blocks["mean"]] == [
        ("x", "covariate"), ("(1 | g)", "group"), ("(x | g)", "group"),
    ]  # fmt: skip
    found = dict(zip(design.terms["mean"], design.matrices["mean"].T, strict=True))
    distance = (data.x - data.x.mean()).to_numpy()
    assert_allclose(found["(x | g)[b]"], distance * (data.g == "b"), atol=1e-12)
    assert design.together["mean"] == ((2, 3, 4, 5), (6, 7, 8, 9))


def test_combinations_and_nested_groups(data):
    names = design_of("y ~ (1 | g/h)", data).terms["mean"]
    assert names[1:5] == ("(1 | g)[a]", "(1 | g)[b]", "(1 | g)[c]", "(1 | g)[new group]")
    assert names[5:7] == ("(1 | g:h)[a:3]", "(1 | g:h)[a:20]")
    found = design_of("y ~ (1 | h:g)", data)
    column = list(found.terms["mean"]).index("(1 | h:g)[20:b]")
    own = ((data.h == 20) & (data.g == "b")).to_numpy()
    assert_array_equal(found.matrices["mean"][:, column], own)
    assert design_of("y ~ (1 | g) + (1 | h)", data).matrices["mean"].shape == (N, 1 + 4 + 3)


@pytest.mark.parametrize(
    "text",
    [
        "y ~ (1 | g)",
        "y ~ x + (x | g:h)",
        "y ~ (g | h)",
        "y ~ (0 + g || h)",
        "y ~ (0 + x | h) | (1 | g)",
        "y ~ (x | g/h) + (1 | h)",
    ],
)
def test_new_rows_get_the_same_columns(text, data):
    design = design_of(text, data)
    some = data.iloc[[5, 1, 50]].drop(columns="y")
    for part, matrix in design.matrices.items():
        assert_allclose(design.new(some).matrices[part], matrix[[5, 1, 50]], atol=1e-13)


def test_a_group_that_was_not_there_has_no_effect(data):
    design = design_of("y ~ x + (x | g:h)", data)
    new = data.iloc[:3].assign(g=["a", "zz", "b"], h=[20, 20, 7])
    found = design.of_typical_groups.new(new)
    assert found.complete.all()
    effects = found.matrices["mean"][:, 2:]
    assert effects[0].any() and not effects[1:].any()


def test_whole_numbers_and_texts_are_groups_and_a_grouping_is_not_in_the_dot(data):
    assert "h" not in design_of("y ~ . + (x | h)", data).terms["mean"]
    assert "x" in design_of("y ~ . + (x | h)", data).terms["mean"]
    categories = data.assign(g=pd.Categorical(data.g, list("cabd")))
    assert design_of("y ~ (1 | g)", categories).terms["mean"][1] == "(1 | g)[c]"


def test_no_warning_of_collinear_or_constant_columns_or_of_too_few_rows(data, recwarn):
    many = data.assign(g=np.arange(N) // 2)
    design_of("y ~ (x | g) + (x | h)", many)
    assert not [str(one.message) for one in recwarn]


def test_effects_of_two_levels_are_those_of_a_column_of_zeros_and_ones(data):
    data = data.assign(two=np.where(data.x > 5.0, "b", "a"), number=1.0 * (data.x > 5.0))
    levels, numbers = (design_of(f"y ~ ({name} | h)", data) for name in ("two", "number"))
    assert_array_equal(levels.matrices["mean"], numbers.matrices["mean"])
    (term,) = levels.group_terms("mean")
    assert term.effects == ("1", "two[T.b]") and term.correlated


def test_levels_may_have_any_name():
    names = ["a{b}", "it's `x` + |", "_bvb_value_78_"]
    data = pd.DataFrame({"y": np.arange(12.0), "f": names * 4, "g": np.repeat([1, 2, 3], 4)})
    design = design_of("y ~ (0 + f | g)", data)
    for name in names:
        column = list(design.terms["mean"]).index(f"(f[{name}] | g)[2]")
        assert_array_equal(design.matrices["mean"][:, column], (data.f == name) & (data.g == 2))
    (term,) = design_of("y ~ (0 + f | g)", data.replace(names[0], "a\x1bb")).group_terms("mean")
    assert all(name.isprintable() for name in term.effects)


def test_effects_of_levels_span_the_same_columns_with_and_without_reference(data):
    with_reference, every = (
        design_of(text, data) for text in ("y ~ (g | h)", "y ~ (0 + C(g) | h)")
    )
    (term,) = every.group_terms("mean")
    assert term.effects == ("g[a]", "g[b]", "g[c]") and term.correlated
    found, other = (one.matrices["mean"] for one in (with_reference, every))
    assert_array_equal(other[:, 1], (data.g == "a") & (data.h == 3))
    (first, *_) = np.linalg.lstsq(other, found, rcond=None)
    assert_allclose(other @ first, found, atol=1e-12)


# Formula -> what is said.
REFUSED = {
    "y ~ (1 | nowhere)": "nowhere",
    "y ~ (log(g) | h)": "needs numbers, and `g` holds text",
    "y ~ (g || h)": r"write \(1 \| h\) \+ \(1 \| h:g\) for independent",
    "y ~ (g + x + exp(x) | h)": r"(?s)5 correlated effects .* write \(1 \| h\) \+ \(1 \| h:g\)",
    "y ~ (1 | y)": "both sides",
    "y ~ (log(0 * x) | g)": "not finite",
    "y ~ (1 | g) + (1 | g)": "two terms called",
    "y ~ (1 | one)": "only one group",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_has_no_groups_is_refused(text, data):
    with pytest.raises((DataError, FormulaError), match=REFUSED[text]):
        design_of(text, data.assign(one="only"))


def test_of_too_many_effects_those_of_the_most_groups_stay_apart(data, monkeypatch):
    formula = parse_formula("y ~ x + (1 | h) + (x | g)")
    monkeypatch.setitem(vars(LIMITS), "columns", 11)  # 3 and 2 x 4 with new ones
    assert build_design(formula, data, eliminates_groups=True).groups is None
    monkeypatch.setitem(vars(LIMITS), "columns", 10)
    assert build_design(formula, data).groups is None
    with only_columns():
        assert build_design(formula, data, eliminates_groups=True).groups is None
    design = build_design(formula, data, eliminates_groups=True)
    assert design.groups.names == () and design.groups.effects == ("(1 | g)", "(x | g)")
    assert design.terms["mean"][2:] == ("(1 | h)[3]", "(1 | h)[20]", "(1 | h)[new group]")


def test_too_many_groups_are_refused_with_their_number():
    n = LIMITS.groups + 1
    data = {"y": np.random.default_rng(0).normal(size=2 * n), "g": np.arange(2 * n) // 2}
    with pytest.raises(DataError, match=rf"{n} groups, and at most {LIMITS.groups} .* entries"):
        design_of("y ~ (1 | g)", data)


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("y ~ x + (x | g)", ["g"]),
        ("y ~ x + (1 | g) + (0 + x | g)", ["g"]),
        ("y ~ x + (x | g/h)", ["g", "g:h"]),
        ("y ~ x + (x | g) + (x | h)", ["g", "h"]),
    ],
)
def test_levels_at_zero_have_the_linear_predictor_of_the_columns(text, groups, data):
    design = design_of(text, data.assign(x=data.x + 40.0))
    names, matrix = design.terms["mean"], design.matrices["mean"]
    given = np.random.default_rng(2).normal(size=(3, len(names)))
    found = design.at_zero("mean", given)
    frame = data.assign(x=data.x + 40.0, **{"g:h": data.g + ":" + data.h.astype(str)})
    at = {name: place for place, name in enumerate(names)}
    x = frame.x.to_numpy()
    expected = found[:, [at["Intercept"]]] + found[:, [at["x"]]] * x
    for group in groups:
        levels, slopes = (
            found[:, [at[f"({effect} | {group})[{label}]"] for label in frame[group]]]
            for effect in ("1", "x")
        )
        expected = expected + levels + slopes * x
    assert_allclose(given @ matrix.T, expected, atol=1e-11)
