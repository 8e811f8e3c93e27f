"""``s()`` and its arguments, read before any data are seen."""

import pytest

from bayesvb.errors import FormulaError
from bayesvb.formula.parser import parse_formula

# Formula -> variables, by, role of by, knots, periods.
READ = {
    "y ~ s(x)": (["x"], None, "lookup", (10,), (None,)),
    "y ~ s( log(x + 1) , k = 5 )": (["log(x + 1)"], None, "lookup", (5,), (None,)),
    "y ~ z*w + s(`my x`, by=g)": (["`my x`"], "g", "lookup", (10,), (None,)),
    "y ~ s(x, by=C(`a b`), k=20) - 1": (["x"], "a b", "levels", (20,), (None,)),
    "y ~ s(np.sqrt(ü))": (["np.sqrt(ü)"], None, "lookup", (10,), (None,)),
    "y ~ s(x, bs='cc', period=(0, 24))": (["x"], None, "lookup", (11,), ((0, 24),)),
    "y ~ te(x, log(z))": (["x", "log(z)"], None, "lookup", (5, 5), (None, None)),
    "y ~ te(x, z, k=(4, 7), bs=('cr', 'cc'), period=(-1, .5))": (
        ["x", "z"], None, "lookup", (4, 7), (None, (-1, 0.5)),
    ),
    "y ~ te(x, z, k=6, bs='cc', period=((0, 1), (0, 2)))": (
        ["x", "z"], None, "lookup", (6, 6), ((0, 1), (0, 2)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", READ)
def test_arguments(text):
    (term,) = parse_formula(text).read["mean"].own
    variables = [one.text for one in term.variables]
    assert (variables, term.by, term.by_role, term.n_knots, term.periods) == READ[text]


@pytest.mark.parametrize("text", READ)
def test_the_canonical_form_says_the_same(text):
    formula = parse_formula(text)
    again = parse_formula(formula.canonical())
    assert again.canonical() == formula.canonical()
    (term,) = again.read["gating"].own
    assert [one.text for one in term.variables] == READ[text][0]


def test_the_other_terms_stay():
    part = parse_formula("y ~ a + s(x) + b - 1").read["mean"]
    assert part.code.text.replace(" ", "") == "a+b-1"
    assert part.text == "a + s(x) + b - 1"


REFUSED = {
    "y ~ s()": "no covariate",
    "y ~ s(x, z)": r"(?s)has 2 covariates.*te\(x, z\) for a surface",
    "y ~ te(x)": "te.. takes two",
    "y ~ te(x, z, w)": "has 3 covariates",
    "y ~ te(x, z, by=g)": "not `by`",
    "y ~ te(x, z, k=15)": "at most 200",
    "y ~ te(x, z, k=(3, 4, 5))": "whole number",
    "y ~ s(x, bs='tp')": r"must be 'cr' \(natural cubic\)",
    "y ~ s(x, bs='cc')": r"(?s)the start and the end.*period=\(0, 24\)",
    "y ~ s(x, period=(0, 24))": "the start and the end",
    "y ~ s(x, bs='cc', period=(24, 0))": "the start and the end",
    "y ~ s(x, bs='cc', period=(0, True))": "the start and the end",
    "y ~ s(x, bs='cc', period=w)": "the start and the end",
    "y ~ te(x, z, bs=('cc', 'cc'), period=(0, 1))": "the start and the end",
    "y ~ s(x, **z)": "takes covariates|unpacked",
    "y ~ s(x, k=2)": "at least 3",
    "y ~ s(x, k=4.5)": "whole number",
    "y ~ s(x, k=z)": "whole number",
    "y ~ s(x, k=True)": "whole number",
    "y ~ s(x, k=100000)": "at most 200",
    "y ~ s(x, by=log(z))": "must be a column",
    "y ~ s(x, by=C(g, contr.sum))": "must be a column",
    "y ~ s(3)": "reads no column",
    "y ~ s(C(g))": "reads no column",
    "y ~ s(x.max())": "attributes",
    "y ~ s(x)*z": "term of its own",
    "y ~ (s(x) + z)": "term of its own",
    "y ~ x:s(z)": "term of its own",
    "y ~ z - s(x)": "cannot be subtracted",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_smooth_is_refused(text):
    with pytest.raises(FormulaError, match=REFUSED[text]) as caught:
        parse_formula(text)
    assert caught.value.at


def test_a_model_without_coefficients_has_none():
    with pytest.raises(FormulaError, match="only a DensityRegression"):
        parse_formula("~ s(x) + z", one_sided=True)
