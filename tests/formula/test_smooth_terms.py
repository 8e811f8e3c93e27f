"""``s()`` and its arguments, read before any data are seen."""

import pytest

from bayesvb.errors import FormulaError
from bayesvb.formula.parser import parse_formula

# Formula -> variable, by, role of by, knots.
READ = {
    "y ~ s(x)": ("x", None, "lookup", 10),
    "y ~ s( log(x + 1) , k = 5 )": ("log(x + 1)", None, "lookup", 5),
    "y ~ z*w + s(`my x`, by=g)": ("`my x`", "g", "lookup", 10),
    "y ~ s(x, by=C(`a b`), k=20) - 1": ("x", "a b", "levels", 20),
    "y ~ s(np.sqrt(ü))": ("np.sqrt(ü)", None, "lookup", 10),
}


@pytest.mark.parametrize("text", READ)
def test_arguments(text):
    (term,) = parse_formula(text).read["mean"].own
    assert (term.variable.text, term.by, term.by_role, term.n_knots) == READ[text]


@pytest.mark.parametrize("text", READ)
def test_the_canonical_form_says_the_same(text):
    formula = parse_formula(text)
    again = parse_formula(formula.canonical())
    assert again.canonical() == formula.canonical()
    assert [one.variable.text for one in again.read["gating"].own] == [READ[text][0]]


def test_the_other_terms_stay():
    part = parse_formula("y ~ a + s(x) + b - 1").read["mean"]
    assert part.code.text.replace(" ", "") == "a+b-1"
    assert part.text == "a + s(x) + b - 1"


REFUSED = {
    "y ~ s()": "curve of nothing",
    "y ~ s(x, z)": "curve of 2 covariates",
    "y ~ s(x, bs='cr')": "not `bs`",
    "y ~ s(x, **z)": "takes a covariate|unpacked",
    "y ~ s(x, k=2)": "at least 3",
    "y ~ s(x, k=4.5)": "whole number",
    "y ~ s(x, k=z)": "whole number",
    "y ~ s(x, k=True)": "whole number",
    "y ~ s(x, k=100000)": "at most 200",
    "y ~ s(x, by=log(z))": "is a column",
    "y ~ s(x, by=C(g, contr.sum))": "is a column",
    "y ~ s(3)": "reads no column",
    "y ~ s(C(g))": "reads no column",
    "y ~ s(x.max())": "attributes",
    "y ~ s(x)*z": "term of its own",
    "y ~ (s(x) + z)": "term of its own",
    "y ~ x:s(z)": "term of its own",
    "y ~ z - s(x)": "cannot be taken out",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_smooth_is_refused(text):
    with pytest.raises(FormulaError, match=REFUSED[text]) as caught:
        parse_formula(text)
    assert caught.value.at


def test_a_model_without_coefficients_has_none():
    with pytest.raises(FormulaError, match="no coefficients"):
        parse_formula("~ s(x) + z", one_sided=True)
