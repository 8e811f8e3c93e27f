"""Formulas as text: their parts, and where a mistake is."""

import dataclasses
import re
import subprocess
import sys

import pytest
from formulaic.parser import DefaultFormulaParser
from hypothesis import given
from hypothesis import strategies as st

from bayesvb.errors import FormulaError
from bayesvb.formula.parser import parse_formula

PARTS = {
    "y ~ x1 + x2 | gating(x1)": {"mean": "x1 + x2", "gating": "x1"},
    "y ~ x1 | z": {"mean": "x1", "gating": "z"},
    "y ~ x1 | 1": {"mean": "x1", "gating": "1"},
    "y ~ x1": {"mean": "x1", "gating": "x1"},
    "y ~ 1 | gating(1)": {"mean": "1", "gating": "1"},
    "y ~ 0 + x1 | -1 + z": {"mean": "0 + x1", "gating": "-1 + z"},
    "y ~ x1 -1|-1+z": {"mean": "x1 -1", "gating": "-1+z"},
    "y ~ x1 | gating(x1*g + bs(z, df=4))": {"mean": "x1", "gating": "x1*g + bs(z, df=4)"},
    "log(y + 5) ~ x1 | gating(`my col`)": {"mean": "x1", "gating": "`my col`"},
    "y ~ scale(x1) | scale(z)": {"mean": "scale(x1)", "gating": "scale(z)"},
    "y ~ . | gating(.)": {"mean": ".", "gating": "."},
    "y ~ x1 | gating()": {"mean": "x1", "gating": "1"},
    "y1 + y2 ~ x": {"mean": "x", "gating": "x"},
    "`my y` ~ `a | b` | `c ~ d`": {"mean": "`a | b`", "gating": "`c ~ d`"},
    " y~x1|gating( x1 + C(g, contr.sum) ) ": {"mean": "x1", "gating": "x1 + C(g, contr.sum)"},
    "y ~ x1\n  | gating(\n    x2)": {"mean": "x1", "gating": "x2"},
}


@pytest.mark.parametrize("text", PARTS)
def test_parts(text):
    assert dict(parse_formula(text).parts) == PARTS[text]


@pytest.mark.parametrize("text", PARTS)
def test_the_canonical_form_says_the_same_and_is_its_own_canonical_form(text):
    formula = parse_formula(text)
    again = parse_formula(formula.canonical())
    assert again.canonical() == formula.canonical()
    squeezed = [{k: v.replace(" ", "") for k, v in f.parts.items()} for f in (formula, again)]
    assert squeezed[0] == squeezed[1]


CANONICAL = {
    "y~x1+x2|x1": "y ~ x1 + x2 | gating(x1)",
    "y ~ x": "y ~ x | gating(x)",
    "y1+y2~a*b-1": "y1 + y2 ~ a*b - 1 | gating(a*b - 1)",
    "y ~ (a+b)**2 | -1 + x": "y ~ (a + b)**2 | gating(-1 + x)",
    "y ~ a %in% b | 1": "y ~ a %in% b | gating(1)",
}


@pytest.mark.parametrize("text", CANONICAL)
def test_the_canonical_form_is_the_one_printed(text):
    assert parse_formula(text).canonical() == CANONICAL[text]


def test_the_formula_remembers_whether_a_gating_was_written():
    assert parse_formula("y ~ x | gating(x)").gating_given
    assert not parse_formula("y ~ x").gating_given


def test_a_formula_with_one_part():
    formula = parse_formula("y ~ 1", parts=("mean",))
    assert dict(formula.parts) == {"mean": "1"}
    with pytest.raises(FormulaError, match="part 2 is one too many"):
        parse_formula("y ~ 1 | x", parts=("mean",))


@pytest.mark.parametrize("text", ["~ a + b", "~ .", "~ log(a) + I(b**2)", "~a"])
def test_a_one_sided_formula_has_variables_and_no_response(text):
    formula = parse_formula(text, one_sided=True)
    assert formula.response is None
    assert dict(formula.parts) == {"variables": text.removeprefix("~").strip()}
    assert parse_formula(formula.canonical(), one_sided=True).parts == formula.parts


def test_a_formula_is_a_value():
    formula = parse_formula("y ~ x")
    assert formula == parse_formula("y ~ x")
    with pytest.raises(dataclasses.FrozenInstanceError):
        formula.text = "y ~ z"


# Formula -> what is said, and the characters that are marked.
ERRORS = {
    "": ("is empty", ""),
    "   ": ("is empty", ""),
    "y x1": ("`~` is missing", ""),
    "x1 + x2": ("`~` is missing", ""),
    "y = x1": ("uses `~`, not `=`", "="),
    "(g == 'a') ~ x1": ("must stand in I", "="),
    "y ~ x1 >= 2": ("must stand in I", ">"),
    "y ~ x1 ~ z": ("more than one `~`", "~"),
    "~ x1": ("response left of", "~"),
    "y | x1 ~ z": ("right of `~`", "|"),
    "y ~ x1 |": ("part is empty", "|"),
    "y ~ | x1": ("part is empty", "~"),
    "y ~ x1 || z": ("between the bars", "||"),
    "y ~ x1 | | z": ("between the bars", "| |"),
    "y ~ x1:(1 | g)": ("term of its own", "|"),
    "y ~ x1 | gatng(x1)": ("not a part of this model", "gatng"),
    "y ~ x1 | gate(z)": ("not a part of this model", "gate"),
    "y ~ x1 | weights(z)": ("not a part of this model", "weights"),
    "y ~ x1 | theta(z)": ("not a part of this model", "theta"),
    "y ~ x1 | concomitant(z)": ("not a part of this model", "concomitant"),
    "y ~ x1 | precision(z)": ("is reserved", "precision"),
    "y ~ x1 | z | precision(1)": ("is reserved", "precision"),
    "y ~ x1 | sigma(z)": ("is reserved", "sigma"),
    "y ~ x1 | z | 1": ("part 3 is one too many", "1"),
    "y ~ x1 | z | 1 | x2": ("part 3 is one too many", "1"),
    "y ~ x1 | gating(x1) | gating(z)": ("given twice", "gating(z)"),
    "y ~ x1 | z | gating(z)": ("given twice", "gating(z)"),
    "y ~ x1 | gating(x1) + z": ("part of its own", "gating(x1)"),
    "y ~ x1 | 1 + gating(x1)": ("part of its own", "gating(x1)"),
    "y ~ gating(x1)": ("first part is the mean", "gating(x1)"),
    "y ~ x1 | gating": ("has no terms", "gating"),
    "y ~ x1 | gating(~ x1)": ("more than one `~`", "~"),
    "y ~ x1 | gating(x1 | z)": ("cannot stand inside one", "|"),
    "y ~ x1 | gating(x1, z)": ("not by commas", ","),
    "y ~ x1, x2": ("not by commas", ","),
    "y ~ x1 + (x2": ("cannot read", "("),
    "y ~ bs(x1": ("bracket or quote is not closed", "bs(x1"),
    "y ~ `` + x1": ("the backquotes are empty", "``"),
    "y ~ `x1` + s(``)": ("the backquotes are empty", "``"),
    "`` ~ x1": ("the backquotes are empty", "``"),
    "y ~ `x1": ("bracket or quote is not closed", "`x1"),
    "y ~ x1 +": ("cannot read", "+"),
    "y ~ x1 + 2": ("cannot read", "2"),
    "y ~ 'x1'": ("cannot read", "'x1'"),
    "y ~ x1 & x2": ("cannot read", "&"),
    "y ~ x1^2": ("would be `x1` itself", "x1^"),
    "y ~ x1**2 + z": ("would be `x1` itself", "x1**"),
    "y ~ log(x1)^2": ("would be `log(x1)` itself", "log(x1)^"),
    "y ~ (a + b)**99": ("interactions go up to", "99"),
    "2 ~ x1": ("cannot stand in a response", "2"),
    ". ~ x1": ("cannot stand in a response", "."),
    "y*z ~ x1": ("cannot stand in a response", "*"),
    "y - 1 ~ x1": ("cannot stand in a response", "-"),
}


@pytest.mark.parametrize("text", ERRORS)
def test_the_message_says_what_is_wrong_and_where(text):
    why, marked = ERRORS[text]
    with pytest.raises(FormulaError) as caught:
        parse_formula(text)
    error = caught.value
    assert why in error.why
    assert error.formula == text
    start, last = error.at or (0, -1)
    assert text[start : last + 1] == marked


@pytest.mark.parametrize("sign", ["**", "^"])
def test_interactions_go_up_to_nine_terms(sign):
    assert parse_formula(f"y ~ (a + b){sign}9").response is not None
    with pytest.raises(FormulaError, match="interactions go up to 9"):
        parse_formula(f"y ~ (a + b){sign}10")


def test_the_caret_stands_under_the_mistake():
    with pytest.raises(FormulaError) as caught:
        parse_formula("y ~ x1 | gating(x1) + z")
    assert str(caught.value) == (
        "`gating(...)` must be a part of its own\n\n"
        "    y ~ x1 | gating(x1) + z\n"
        "             ^^^^^^^^^^\n\n"
        "hint: put all its terms inside: gating(x + z)"
    )


@pytest.mark.parametrize(
    ("text", "remedy"),
    [("(g == 'a') ~ x", "I(g == 'a') ~"), ("g > 1 ~ x", "I(g > 1) ~"), ("y ~ x > 1", "I(x > 0)")],
)
def test_a_comparison_outside_of_a_call_has_a_remedy(text, remedy):
    with pytest.raises(FormulaError) as caught:
        parse_formula(text)
    assert remedy in str(caught.value.hint)


@pytest.mark.parametrize("text", ["a + b", "y ~ a", "~ a | b", "~", ""])
def test_what_a_one_sided_formula_cannot_be(text):
    with pytest.raises(FormulaError):
        parse_formula(text, one_sided=True)


@pytest.mark.parametrize("text", [None, 3, ["y ~ x"], b"y ~ x"])
def test_a_formula_is_text(text):
    with pytest.raises((FormulaError, TypeError)):  # the type checker may be quicker
        parse_formula(text)


def test_deep_brackets_are_an_error_or_nothing_at_all():
    for depth in (50, 500, 5000):
        text = "y ~ " + "(" * depth + "x" + ")" * depth
        try:
            assert parse_formula(text).response == "y"
        except FormulaError as error:
            assert re.search("cannot read|the limit is", error.why)


@given(st.text(alphabet="yxzg~|+-*:()^., 012`'\"[]{}%=\\\nC", max_size=25))
def test_any_text_is_a_formula_or_a_formula_error(text):
    try:
        formula = parse_formula(text)
    except FormulaError as error:
        assert error.at is None or 0 <= error.at[0] <= error.at[1] < max(len(text), 1)
    else:
        assert set(formula.parts) == {"mean", "gating"}


def test_importing_the_module_does_not_import_the_formula_package():
    program = "import bayesvb.formula.parser, sys; print('formulaic' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert found.stdout.strip() == "False"


def test_the_formula_package_reads_the_terms_of_a_part_once(monkeypatch):
    read, parse = [], DefaultFormulaParser.get_tokens_from_formula
    monkeypatch.setattr(
        DefaultFormulaParser,
        "get_tokens_from_formula",
        lambda parser, text, *, context: read.append(text) or parse(parser, text, context=context),
    )
    parse_formula("y ~ x + z | gating(w)")
    assert read == ["y", "x + z", "w"]


ALL = ("mean", "gating", "sigma")


@pytest.mark.parametrize(
    ("text", "gating"),
    [
        ("y ~ x | sigma(z)", "1"),
        ("y ~ x | sigma(z) | gating(w)", "w"),
        ("y ~ x | w | sigma(z)", "w"),
    ],
)
def test_a_formula_with_sigma_has_constant_weights_unless_it_says_otherwise(text, gating):
    formula = parse_formula(text, parts=ALL)
    assert dict(formula.parts) == {"mean": "x", "gating": gating, "sigma": "z"}
    assert formula.gating_given == (gating == "w")


def test_words_near_sigma_suggest_it_and_scale_alone_is_a_gate():
    for text in (
        "y ~ x | sd(z)",
        "y ~ x | dispersion(z)",
        "y ~ x | shape(z)",
        "y ~ x | w | scale(z)",
        "y ~ x | sigm(z)",
    ):
        with pytest.raises(FormulaError, match=r"did you mean sigma\(...\)\?"):
            parse_formula(text, parts=ALL)
    with pytest.raises(FormulaError, match="dispersions and shapes are constants"):
        parse_formula("y ~ x | shape(z)", parts=ALL)
    assert parse_formula("y ~ x | scale(z)", parts=ALL).parts["gating"] == "scale(z)"
