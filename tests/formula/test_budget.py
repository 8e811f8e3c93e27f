import time

import numpy as np
import pandas as pd
import pytest

from bayesvb.errors import BayesVBError, FormulaError
from bayesvb.formula.design import build_design
from bayesvb.formula.limits import LIMITS
from bayesvb.formula.parser import parse_formula

LETTERS = "abcdefghijklm"

COSTLY = {
    "y ~ I(I(9**9)**I(9**9)+x)": "power",
    "y ~ I(x**9**9)": "power of a power",
    "y ~ I(x**99999)": "at most 64",
    "y ~ I(9 ** ...)": "cannot stand",
    "y ~ (x+g)* *99999999": "interactions go up to 9",
    "y ~ (x+g)**10": "interactions go up to 9",
    "y ~ (x+g)**²": "interactions go up to 9",
    "y ~ (.)**9": "multiply out to more than 10000",
    "y ~ (a+b+c+d)**9": "multiply out to more than 10000",
    "y ~ (a+b)**9**9": "interactions go up to 9",
    "y ~ " + "*".join(LETTERS): "interactions go up to 9",
    "y ~ " + ":".join(LETTERS): "interactions go up to 9",
    "y ~ " + "/".join(LETTERS): "interactions go up to 9",
    "y ~ bs(x, df=100000)": "at most 200 columns",
    "y ~ bs(x, df=10**9)": "at most 200 columns",
    "y ~ bs(x, df=5, degree=21)": "a degree of at most 20",
    "y ~ bs(x, knots=[" + "1, " * 300 + "])": "at most 200 columns",
    "y ~ poly(x, 100000)": "at most 200 columns",
    "y ~ hashed(x, levels=1000000)": "at most 1000 columns",
    "y ~ "
    + ":".join(
        f"bs({name}, df=100)" for name in "abc"
    ): "would have 1,000,001 columns; the limit is 5,000, with interactions",
    "y ~ " + "x + " * 3_000_000: "characters; the limit is 10000",
    "y ~ " + "+".join("x" * 4000): "5000 are the most",
    "y ~ " + "(" * 3000: "more than 40 deep",
    "y ~ I(" + "+".join("x" * 900) + ")": "nested",
    "y ~ I(" + "-" * 5000 + "x)": "nested",
}

UNREADABLE = [
    "y ~ {x + ", "y ~ [x) g", "y ~ x %in% .", "y ~ x**²", "y ~ \ud800", "y ~ x\x00",
    "y ~ (x+a)**(-1)", "y ~ `a\tb`", "y ~ `a\u2028b`", "y ~ ( contr.treatment ] 0 *",
]  # fmt: skip


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({name: rng.normal(size=40) for name in f"{LETTERS}xy"})
    return frame.assign(g=list("pq") * 20)


def seen(formula, data):
    """What is said of a formula, and the processor seconds until it is said."""
    begin = time.process_time()
    with pytest.raises(BayesVBError) as error:
        build_design(parse_formula(formula), data, response="numeric")
    return str(error.value), time.process_time() - begin


@pytest.mark.parametrize("formula", COSTLY, ids=lambda text: text[:40])
def test_what_would_cost_too_much_is_refused_before_it_is_expanded(formula, data):
    said, seconds = seen(formula, data)
    assert COSTLY[formula] in said
    assert len(said) < 1500
    assert seconds < 5  # most take a millisecond


@pytest.mark.parametrize("formula", UNREADABLE, ids=ascii)
def test_what_cannot_be_read_gets_a_message(formula, data):
    assert "^" in seen(formula, data)[0]


def test_ordinary_formulas_stay_within_the_budget(data):
    for formula in (
        "y ~ bs(x, df=20) + poly(a, 5) + hashed(g, levels=50) | (a + b + c)**3",
        "y ~ (.)**2",
        "y ~ I(abs(x)**(1/3)) + I((x - 1)**2) + np.power(x, 2)",
        "y ~ a*b*c*d",
        "y ~ " + " + ".join(f"I(x + {k})" for k in range(100)),
    ):
        build_design(parse_formula(formula), data, response="numeric", warn=False)


def test_the_bound_of_terms_is_never_below_their_number(data):
    for formula in ("(a+b+c)**3", "a*b*c", "(a+b)/(c+d)", "(c+d) %in% (a+b)", "(a+b):(c+d) - a:c"):
        terms = build_design(parse_formula(f"y ~ {formula}"), data, warn=False).terms["mean"]
        tight = pytest.MonkeyPatch()
        tight.setitem(vars(LIMITS), "products", len(terms) - 1)
        with tight.context(), pytest.raises(FormulaError, match="multiply out"):
            parse_formula(f"y ~ {formula}")
        tight.undo()


def test_levels_count_as_columns(data):
    many = data.assign(g=[f"g{i}" for i in range(40)], k=[f"k{i}" for i in range(40)])
    with pytest.raises(FormulaError, match="would have 32,001 columns; the limit is 5,000"):
        build_design(parse_formula("y ~ g:k:bs(x, df=20)"), many)


def test_an_interaction_with_too_many_columns_is_refused_before_it_is_encoded(data):
    many = data.assign(g=[f"g{i}" for i in range(40)])
    said, _ = seen("y ~ (.) * g * C(g)", many)
    assert "the mean part would have 23,534 columns; the limit is 5,000, with interactions" in said
    assert "omit an interaction" in said


def test_a_message_shows_the_place_in_a_long_formula(data):
    formula = "y ~ " + " + ".join(LETTERS * 50) + " + nowhere"
    said, _ = seen(formula, data)
    shown, carets = said.splitlines()[2:4]
    at = carets.index("^")
    assert shown[at : at + len("nowhere")] == "nowhere"
    assert carets.count("^") == len("nowhere")


def test_a_message_holds_no_sign_that_moves_its_words(data):
    said, _ = seen("y ~ x\u202e + `a\nb`", data)
    assert "\u202e" not in said


def test_data_in_place_of_the_formula_are_told_from_one(data):
    with pytest.raises((FormulaError, TypeError)) as error:  # the type checker may be quicker
        parse_formula(data)
    assert len(str(error.value)) < 20_000
    if isinstance(error.value, FormulaError):
        assert "the formula is a DataFrame" in str(error.value)
