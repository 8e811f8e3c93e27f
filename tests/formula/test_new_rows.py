"""New rows: groups and levels that were not there, and rows that cannot be used."""

import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bayesvb.errors import DataError, DesignWarning, FormulaError
from bayesvb.formula.design import build_design
from bayesvb.formula.new_rows import Unseen
from bayesvb.formula.parser import parse_formula

N = 60


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "y": rng.normal(size=N),
            "x": rng.uniform(1.0, 2.0, size=N),
            "g": rng.permutation(np.resize(list("aabc"), N)),
            "h": pd.Categorical(rng.permutation(np.resize(["u", "v", "v"], N))),
        }
    )


def design_of(text, data, **unseen):
    return build_design(parse_formula(text), data).with_unseen(Unseen(**unseen))


def test_a_new_group_has_the_last_column_if_it_is_sampled(data):
    new = data.iloc[:2].assign(g=["a", "zz"])
    design = design_of("y ~ x + (x | g)", data, groups="marginal")
    found = dict(zip(design.terms["mean"], design.new(new).matrices["mean"].T, strict=True))
    assert found["(1 | g)[new group]"].tolist() == [0.0, 1.0]
    assert_allclose(found["(x | g)[new group]"][1], new.x.iloc[1] - data.x.mean(), atol=1e-12)
    with pytest.raises(DataError, match="no group-level effects"):
        design_of("y ~ x + g", data, groups="marginal")


TYPES = {
    "text": str,
    "text with leading zeros": "{:03d}".format,
    "truth values": lambda number: number > 4,
    "fractions": float,
    "dates": lambda number: pd.Timestamp("2020-01-01") + pd.Timedelta(days=number),
}
"""The same labels in other types than whole numbers."""


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(
    "text", ["y ~ x + (1 | k)", "y ~ x + (x | k)", "y ~ x + C(k)", "y ~ s(x, k=4) + (1 | k:h)"]
)
def test_groups_and_levels_are_the_same_in_another_type(text, kind, data):
    first = data.assign(k=[TYPES[kind](number % 9) for number in range(N)])
    new = first.iloc[:20]
    other = new.assign(k=[int(one) if kind.startswith("text") else str(one) for one in new.k])
    design = design_of(text, first)
    expected = design.new(new).matrices["mean"]
    assert_array_equal(design.new(other).matrices["mean"], expected)
    assert_array_equal(design.new(other.astype({"k": "category"})).matrices["mean"], expected)
    many = build_design(parse_formula(text), first, eliminates_groups=True)
    assert_array_equal(many.new(other).matrices["mean"], many.new(new).matrices["mean"])


@pytest.mark.parametrize(
    ("text", "name"), [("y ~ x + g", "x"), ("y ~ g*x | 1", "x"), ("y ~ I(x**3)", "I(x ** 3)")]
)
@pytest.mark.parametrize("size", [1e160, -1e300])
def test_numbers_that_cannot_be_squared_are_refused_by_name(text, name, size, data):
    new = data.assign(x=np.where(np.arange(N) == 4, np.cbrt(size) if "3" in text else size, data.x))
    with pytest.raises(DataError, match=f"`{re.escape(name)}` has values up to .*e.* in size"):
        design_of(text, data).new(new)
    with pytest.raises(DataError, match="`y` has values up to 1e\\+200"):
        design_of(text, data).new(data.assign(y=1e200), response=True)


def test_groups_none_of_which_was_there_are_told(data):
    design = design_of("y ~ x + (1 | g)", data)
    new = data.iloc[:3].assign(g=["A", "B", "A"])
    told = r"no group of `g` in the new data \('A', 'B'\) was in .* \('a', 'b', 'c'\)"
    with pytest.warns(DesignWarning, match=told):
        design.new(new)
    design.new(new.assign(g=["A", "b", "A"]))
    design.with_unseen(Unseen(groups="marginal")).new(new)


def test_a_new_level_is_refused_or_missing(data):
    new = data.iloc[:4].assign(g=["a", "zz", "b", "yy"])
    with pytest.raises(DataError, match="in the data of the fit: 'zz', 'yy'"):
        design_of("y ~ x*g", data).new(new)
    found = design_of("y ~ x*g", data, levels="missing").new(new)
    assert found.complete.tolist() == [True, False, True, False]
    known = design_of("y ~ x*g", data).new(new.iloc[[0, 2]]).matrices["mean"]
    assert_array_equal(found.matrices["mean"], known)


@pytest.mark.parametrize("text", ["y ~ x*g", "y ~ 0 + g + s(x, by=g, k=4)", "y ~ C(g, contr.sum)"])
def test_a_new_level_is_the_average_of_those_that_were_there(text, data):
    new = data.iloc[:4].assign(g=["a", "zz", "b", "yy"])
    found = design_of(text, data, levels="population").new(new)
    assert found.complete.all()
    plain = design_of(text, data)
    for row in (1, 3):
        each = {one: plain.new(new.iloc[[row]].assign(g=one)).matrices["mean"][0] for one in "abc"}
        expected = sum((data.g == one).mean() * columns for one, columns in each.items())
        assert_allclose(found.matrices["mean"][row], expected, atol=1e-14)
    assert_array_equal(found.matrices["mean"][[0, 2]], plain.new(new.iloc[[0, 2]]).matrices["mean"])


def test_new_levels_of_two_columns_are_averaged_as_they_were_together(data):
    new = data.iloc[:3].assign(g=["zz", "a", "zz"], h=["u", "ww", "ww"])
    design = design_of("y ~ g*h", data, levels="population")
    found = dict(zip(design.terms["mean"], design.new(new).matrices["mean"].T, strict=True))
    b, v = data.g == "b", data.h == "v"
    assert_allclose(found["g[T.b]:h[T.v]"], [0.0, 0.0, (b & v).mean()], atol=1e-14)
    assert_allclose(found["h[T.v]"], [0.0, v.mean(), v.mean()], atol=1e-14)


@pytest.mark.parametrize("levels", ["missing", "population"])
@pytest.mark.parametrize(
    ("text", "bad"),
    [
        ("y ~ x", np.inf),
        ("y ~ x", -1e200),
        ("y ~ I(x**3)", 1e60),
        ("y ~ log(x)", -1.0),
        ("y ~ bs(x, df=4)", 7.0),
    ],
)
def test_a_row_that_cannot_be_used_leaves_the_others(text, bad, levels, data):
    new = data.iloc[:9].assign(x=np.where(np.arange(9) == 4, bad, data.x.iloc[:9]))
    with pytest.raises((DataError, FormulaError)):
        design_of(text, data).new(new)
    found = design_of(text, data, levels=levels).new(new)
    assert found.complete.tolist() == [row != 4 for row in range(9)]
    rest = design_of(text, data).new(new.drop(index=new.index[4]))
    assert_array_equal(found.matrices["mean"], rest.matrices["mean"])
    assert not design_of(text, data, levels=levels).new(new.iloc[[4]]).complete.any()


def test_responses_and_missing_values_go_with_their_rows(data):
    new = data.iloc[:4].assign(g=["a", "zz", "b", "b"], x=[1.5, 1.5, np.nan, 1.6])
    found = design_of("y ~ x + g", data, levels="missing").new(new, response=True)
    assert found.complete.tolist() == [True, False, False, True]
    assert_array_equal(found.response[:, 0], new.y.to_numpy()[[0, 3]])
