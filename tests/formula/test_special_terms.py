"""Terms that are none of Wilkinson and Rogers': found, taken out, refused where they cannot be."""

import numpy as np
import pandas as pd
import pytest

from bayesvb.errors import DataError, FormulaError
from bayesvb.formula.design import build_design
from bayesvb.formula.parser import parse_formula
from bayesvb.formula.special_terms import OFFSET

N = 40


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "y": rng.normal(size=N),
            "x": rng.normal(size=N),
            "z": rng.normal(size=N),
            "e": rng.uniform(1.0, 2.0, N),
            "g": rng.choice(list("abc"), N),
        }
    )


def parsed(text):
    return parse_formula(text, offset=True)


def design_of(text, data):
    return build_design(parsed(text), data)


# Formula -> parts, the offset, and the canonical form.
OFFSETS = {
    "y ~ offset(z) + x": ("x", "x", "offset(z)", "y ~ x + offset(z) | gating(x)"),
    "y ~ offset(z)": ("1", "1", "offset(z)", "y ~ 1 + offset(z) | gating(1)"),
    "y ~ x+offset( log(e) )|x": (
        "x", "x", "offset( log(e) )", "y ~ x + offset( log(e) ) | gating(x)",
    ),
    "y ~ 0 + offset(z) + x": (
        "0 + x", "0 + x", "offset(z)", "y ~ 0 + x + offset(z) | gating(0 + x)",
    ),
    "y ~ offset(z) - 1 + x | 1": (
        "- 1 + x", "1", "offset(z)", "y ~ - 1 + x + offset(z) | gating(1)",
    ),
    "y ~ x*g + offset(z) + bs(e, df=4) + offset(e)": (
        "x*g + bs(e, df=4)",
        "x*g + bs(e, df=4)",
        "offset(z) + offset(e)",
        "y ~ x*g + bs(e, df=4) + offset(z) + offset(e) | gating(x*g + bs(e, df=4))",
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", OFFSETS)
def test_offsets_are_taken_out_of_the_parts(text, data):
    mean, gating, offset, canonical = OFFSETS[text]
    formula = parsed(text)
    assert dict(formula.parts) == {"mean": mean, "gating": gating}
    assert formula.read[OFFSET].text == offset
    again = parsed(formula.canonical())
    assert again.canonical() == formula.canonical()
    assert formula.canonical().replace(" ", "") == canonical.replace(" ", "")
    assert design_of(text, data).offset.shape == (N,)


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("y ~ offset(z) + x", "y ~ x"),
        ("y ~ x*g + offset(z) + bs(e, df=4) | x", "y ~ x*g + bs(e, df=4) | x"),
        ("y ~ 0 + g + offset(z)", "y ~ 0 + g"),
        ("y ~ offset(z) - 1 + x", "y ~ x - 1"),
    ],
)
def test_the_other_terms_are_those_without_the_offset(text, plain, data):
    one, other = design_of(text, data), design_of(plain, data)
    assert one.terms == other.terms
    for part in one.matrices:
        np.testing.assert_array_equal(one.matrices[part], other.matrices[part])


def test_an_offset_is_the_sum_of_its_expressions_for_new_rows_too(data):
    design = design_of("y ~ x + offset(log(e)) + offset(2 * z)", data)
    np.testing.assert_allclose(design.offset, np.log(data.e) + 2 * data.z, rtol=1e-14)
    new = design.new(data[["x", "e", "z"]].iloc[::-1])
    np.testing.assert_allclose(new.offset, design.offset[::-1], rtol=1e-14)
    assert design.covariates == ("x", "z", "e")
    assert design.rows_at(np.array([3, 1])).offset.tolist() == design.offset[[3, 1]].tolist()
    assert design_of("y ~ x", data).offset is None


def test_the_dot_stands_for_no_column_of_an_offset(data):
    assert "e" not in design_of("y ~ . + offset(log(e))", data).terms["mean"]
    assert "e" in design_of("y ~ . + e + offset(log(e))", data).terms["mean"]


def test_a_row_without_an_offset_is_left_out(data):
    gapped = data.assign(z=np.where(np.arange(N) == 3, np.nan, data.z))
    design = design_of("y ~ x + offset(z)", gapped)
    assert design.n_missing == 1
    assert design.new(gapped).complete.tolist() == (np.arange(N) != 3).tolist()


# Formula -> what is said, and the characters that are marked.
REFUSED = {
    "y ~ x | gating(z + offset(e))": ("offset of the mixing weights has no effect", "offset(e)"),
    "y ~ x - offset(e)": ("cannot be subtracted", "offset(e)"),
    "y ~ x:offset(e)": ("term of its own", "offset(e)"),
    "y ~ (x + offset(e))": ("term of its own", "offset(e)"),
    "y ~ x + offset(2)": ("reads no column", "offset(2)"),
    "y ~ x + offset()": ("cannot read", ""),
    "y ~ x + offset(e, z)": ("cannot stand in a formula", "e, z"),
    "y ~ x + offset(e.max())": ("attributes", "e.max()"),
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_cannot_be_said_is_refused_with_its_place(text):
    why, marked = REFUSED[text]
    with pytest.raises(FormulaError, match="(?s)" + why) as caught:
        parsed(text)
    if marked and why != "attributes":
        first, last = caught.value.at
        assert text[first : last + 1] == marked


def test_a_model_without_offsets_says_so():
    with pytest.raises(FormulaError, match="no offset"):
        parse_formula("y ~ x + offset(z)")
    with pytest.raises(FormulaError, match="no offset"):
        parse_formula("~ x + offset(z)", one_sided=True)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("y ~ x + offset(g)", "several columns|needs numbers|holds text"),
        ("y ~ x + offset(C(g))", "several columns|needs numbers|reads no column"),
        ("y ~ x + offset(log(x))", "not finite"),
        ("y ~ x + offset(nowhere)", "nowhere"),
        ("y + x ~ z + offset(e)", "several"),
        ("y ~ x + offset(y)", "both sides"),
    ],
)
def test_what_the_data_do_not_have_is_refused(text, why, data):
    with pytest.raises((DataError, FormulaError), match=why):
        design_of(text, data)


def test_an_offset_of_a_further_part_is_told_to_be_a_term():
    with pytest.raises(FormulaError, match=r"zero has no offset(.|\n)*write z as a term here"):
        parse_formula("y ~ x | zero(offset(e))", parts=("gating", "zero"), offset=True)


@pytest.mark.parametrize("text", ["y ~ s(x) * g", "y ~ s(x):g", "y ~ g * s(x)"])
def test_an_interaction_with_a_smooth_is_told_how_to_write_a_curve_per_level(text):
    with pytest.raises(FormulaError, match=r"write g \+ s\(x, by=g\)"):
        parse_formula(text, parts=("gating",), offset=True)
