"""Smooth curves in a formula: their columns, blocks and names, and what they refuse."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bayesvb.errors import DataError, FormulaError
from bayesvb.formula.design import build_design
from bayesvb.formula.parser import parse_formula
from bayesvb.formula.smooth_margins import row_products
from bayesvb.numerics.natural_splines import natural_spline, spread_knots

N = 80


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "y": rng.normal(size=N),
            "x": rng.normal(size=N),
            "my x": rng.normal(size=N),
            "z": rng.uniform(1.0, 2.0, N),
            "g": rng.choice(list("abc"), N),
            "h": rng.choice([1, 2], N),
            "few": rng.choice([0.0, 1.0, 5.0, 7.0], N),
        }
    )


def design_of(text, data):
    return build_design(parse_formula(text), data)


# Formula -> names of the columns of the mean, and its blocks.
SMOOTHS = {
    "y ~ s(x, k=4)": (
        ["Intercept", "s(x).line", "s(x).1", "s(x).2"],
        [("s(x).line", (1,), "covariate"), ("s(x)", (2, 3), "smooth")],
    ),
    "y ~ 0 + z + s(log(z), k=3)": (
        ["z", "s(log(z)).line", "s(log(z)).1"],
        [
            ("z", (0,), "covariate"),
            ("s(log(z)).line", (1,), "covariate"),
            ("s(log(z))", (2,), "smooth"),
        ],
    ),
    "y ~ s(`my x`, k=3, by=z)": (
        ["Intercept", "s(`my x`):z.constant", "s(`my x`):z.line", "s(`my x`):z.1"],
        [
            ("s(`my x`):z.constant", (1,), "covariate"),
            ("s(`my x`):z.line", (2,), "covariate"),
            ("s(`my x`):z", (3,), "smooth"),
        ],
    ),
    "y ~ C(h) + s(x, k=3, by=C(h))": (
        "Intercept C(h)[T.2] s(x):h[1].line s(x):h[2].line s(x):h[1].1 s(x):h[2].1".split(),
        [
            ("C(h)", (1,), "factor"),
            ("s(x):h.line", (2, 3), "factor"),
            ("s(x):h[1]", (4,), "smooth"),
            ("s(x):h[2]", (5,), "smooth"),
        ],
    ),
    "y ~ s(z, bs='cc', period=(1, 2), k=5, by=g)": (
        ["Intercept", *(f"s(z):g[{level}].{i}" for level in "abc" for i in range(1, 5))],
        [(f"s(z):g[{level}]", tuple(range(i, i + 4)), "smooth") for level, i in
         [("a", 1), ("b", 5), ("c", 9)]],
    ),
    "y ~ te(x, z, k=3)": (
        ["Intercept", "te(x, z).x", "te(x, z).z", "te(x, z).x:z", "te(x, z):x.1", "te(x, z):x.2",
         "te(x, z):z.1", "te(x, z):z.2", "te(x, z):x:z.1"],
        [("te(x, z).x", (1,), "covariate"), ("te(x, z).z", (2,), "covariate"),
         ("te(x, z).x:z", (3,), "covariate"), ("te(x, z):x", (4, 5), "smooth"),
         ("te(x, z):z", (6, 7), "smooth"), ("te(x, z):x:z", (8,), "smooth")],
    ),
    "y ~ te(x, z, k=3, bs=('cr', 'cc'), period=(1, 2))": (
        ["Intercept", "te(x, z).x", "te(x, z):x.1", *(f"te(x, z):z.{i}" for i in range(1, 5)),
         "te(x, z):x:z.1", "te(x, z):x:z.2"],
        [("te(x, z).x", (1,), "covariate"), ("te(x, z):x", (2,), "smooth"),
         ("te(x, z):z", (3, 4, 5, 6), "smooth"), ("te(x, z):x:z", (7, 8), "smooth")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", SMOOTHS)
def test_names_and_blocks(text, data):
    names, blocks = SMOOTHS[text]
    design = design_of(text, data)
    assert list(design.terms["mean"]) == names
    assert [(one.name, one.columns, one.kind) for one in design.term_blocks["mean"]] == blocks


@pytest.mark.parametrize("text", [*SMOOTHS, "y ~ x | gating(s(x) + s(z, by=g))"])
def test_new_rows_get_the_same_columns_whatever_else_is_there(text, data):
    design = design_of(text, data)
    some = data.iloc[[5, 1, 70]].drop(columns="y")
    for part, matrix in design.matrices.items():
        assert_allclose(design.new(some).matrices[part], matrix[[5, 1, 70]], atol=1e-13)
    assert design.new(some.iloc[:0]).matrices["mean"].shape == (0, len(design.terms["mean"]))


def test_the_columns_are_those_of_the_spline(data):
    found = design_of("y ~ s(x, k=6)", data).matrices["mean"]
    x = data.x.to_numpy()
    spline = natural_spline(np.unique(x), spread_knots(np.unique(x), 6))
    assert_allclose(found[:, 1], x - x.mean(), atol=1e-14)
    assert_allclose(found[:, 2:], spline.wiggles(x), atol=1e-13)


def test_a_surface_spans_the_products_of_the_splines_of_its_covariates(data):
    found = design_of("y ~ te(x, z, k=(4, 5))", data).matrices["mean"]
    sides = [design_of(f"y ~ s({one}, k={k})", data).matrices["mean"] for one, k in ("x4", "z5")]
    products = row_products(*sides)
    assert found.shape == products.shape == (N, 20)
    fitted = products @ np.linalg.lstsq(products, found, rcond=None)[0]
    assert_allclose(fitted, found, atol=1e-9)
    assert np.linalg.matrix_rank(found) == 20


@pytest.mark.parametrize("change", [lambda v: 3.0 * v - 7.0, lambda v: -v])
def test_a_surface_is_the_same_in_other_units(change, data):
    design = design_of("y ~ te(x, z, k=4)", data)
    other = design_of("y ~ te(x, z, k=4)", data.assign(x=change(data.x)))
    for block in design.term_blocks["mean"]:
        own, changed = (one.matrices["mean"][:, list(block.columns)] for one in (design, other))
        assert_allclose(changed @ changed.T, own @ own.T * (changed**2).sum() / (own**2).sum())


def test_a_periodic_curve_meets_itself(data):
    (curve,) = design_of("y ~ s(z, bs='cc', period=(1, 3), k=9)", data).curves("mean")
    around = curve.functions(np.array([1.0, 1.001, 2.999, 3.0, 4.7, 2.7]))
    assert_allclose(around[0], around[3], atol=1e-9)
    assert_allclose(around[1] - around[0], around[3] - around[2], atol=1e-4)
    assert_allclose(around[4], around[5], atol=1e-9)
    assert curve.ends == (1.0, 3.0)


def test_rows_that_occur_twice_change_no_column(data):
    once = design_of("y ~ s(x)", data).matrices["mean"]
    twice = design_of("y ~ s(x)", pd.concat([data, data])).matrices["mean"]
    assert_allclose(twice[:N], once, atol=1e-12)


def test_by_levels_there_is_a_curve_for_each(data):
    plain = design_of("y ~ s(x, k=5)", data).matrices["mean"][:, 1:]
    design = design_of("y ~ g + s(x, k=5, by=g)", data)
    found = dict(zip(design.terms["mean"], design.matrices["mean"].T, strict=True))
    for level in "abc":
        own = (data.g == level).to_numpy()
        assert_allclose(found[f"s(x):g[{level}].line"], plain[:, 0] * own)
        assert_allclose(found[f"s(x):g[{level}].3"], plain[:, 3] * own)
    assert len(design.together["mean"]) == 1


def test_by_numbers_the_curve_is_their_coefficient(data):
    plain = design_of("y ~ s(x, k=5)", data).matrices["mean"]
    found = design_of("y ~ s(x, k=5, by=z)", data).matrices["mean"]
    assert_allclose(found[:, 1:], plain * data.z.to_numpy()[:, None])


def test_the_dot_leaves_out_what_is_smooth(data):
    terms = design_of("y ~ . + s(x) + s(z)", data).terms["mean"]
    assert "x" not in terms and "z" not in terms and "few" in terms
    assert "s(x).line" in terms


def test_columns_that_are_penalised_alike_give_no_warning_of_collinear_columns(data, recwarn):
    design_of("y ~ s(x, k=40) + s(z, k=40) + s(few, k=4)", data)
    assert not [str(one.message) for one in recwarn]
    with pytest.warns(match="sums of others"):
        design_of("y ~ x + s(x)", data)


def test_the_parts_share_a_matrix_if_they_have_the_same_terms(data):
    design = design_of("y ~ s(x)", data)
    assert design.matrices["mean"] is design.matrices["gating"]
    assert design.term_blocks["gating"] == design.term_blocks["mean"]


# Formula -> what is said.
REFUSED = {
    "y ~ s(few)": "10 knots, and `few` has 4 distinct values",
    "y ~ s(h)": "2 distinct values",
    "y ~ s(g)": "holds text",
    "y ~ s(x, by=nowhere)": "nowhere",
    "y ~ s(nowhere)": "nowhere",
    "y ~ s(y)": "both sides",
    "y ~ s(log(x))": "not finite",
    "y ~ s(x) + s(x)": "two terms called",
    "s(y) ~ x": "term of its own, right of",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_cannot_be_smoothed_is_refused(text, data):
    with pytest.raises((DataError, FormulaError), match=REFUSED[text]):
        design_of(text, data)


def test_the_remedy_is_named(data):
    with pytest.raises(DataError, match=r"write s\(few, k=4\)"):
        design_of("y ~ s(few)", data)
    with pytest.raises(DataError, match=r"write h for a line, or C\(h\)"):
        design_of("y ~ s(h)", data)
    close = data.assign(x=1.0 + 1e-13 * np.arange(N) * (np.arange(N) < N - 1))
    with pytest.raises(DataError, match="nearly coincide"):
        design_of("y ~ s(x)", close.assign(x=np.r_[close.x[:-1], 1e6]))


def test_a_level_of_by_that_was_not_there_is_refused(data):
    design = design_of("y ~ s(x, by=g)", data)
    with pytest.raises(DataError, match="in the data of the fit: 'd'"):
        design.new(data.iloc[:2].assign(g="d"))


def test_the_order_of_rows_does_not_matter(data):
    design = design_of("y ~ s(x, by=g)", data)
    turned = design_of("y ~ s(x, by=g)", data.iloc[::-1])
    assert_allclose(turned.matrices["mean"][::-1], design.matrices["mean"], atol=1e-12)
    assert_array_equal(turned.terms["mean"], design.terms["mean"])
