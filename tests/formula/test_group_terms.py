"""``(x | g)`` and its sides, read before any data are seen."""

import pytest

from bayesvb.errors import FormulaError
from bayesvb.formula.parser import parse_formula

# Formula -> for every effect: constant, slopes, groups.
READ = {
    "y ~ (1 | g)": [(True, [], ("g",))],
    "y ~ x + (x|g) + z": [(True, ["x"], ("g",))],
    "y ~ (1 + x | g)": [(True, ["x"], ("g",))],
    "y ~ (0 + x + log(z) | g)": [(False, ["x", "log(z)"], ("g",))],
    "y ~ (x - 1 | g)": [(False, ["x"], ("g",))],
    "y ~ (-1 + x || g)": [(False, ["x"], ("g",))],
    "y ~ ({x**2} | `my g`)": [(True, ["x**2"], ("my g",))],
    "y ~ (1 | a) + (1 | b)": [(True, [], ("a",)), (True, [], ("b",))],
    "y ~ (1 | a:b)": [(True, [], ("a", "b"))],
    "y ~ (x | a/b/c)": [
        (True, ["x"], ("a",)), (True, ["x"], ("a", "b")), (True, ["x"], ("a", "b", "c")),
    ],
}  # fmt: skip


def read(text, part="mean"):
    own = parse_formula(text).read[part].own
    return [(one.intercept, [code.text for code in one.numbers], one.groups) for one in own]


@pytest.mark.parametrize("text", READ)
def test_effects_and_groups(text):
    assert read(text) == READ[text]


@pytest.mark.parametrize("text", READ)
def test_the_canonical_form_says_the_same(text):
    canonical = parse_formula(text).canonical()
    assert parse_formula(canonical).canonical() == canonical
    assert read(canonical) == read(canonical, "gating") == READ[text]


def test_bars_of_groups_and_of_parts_are_told_apart():
    formula = parse_formula("y ~ x + (x|g) | z + (1||h)")
    assert dict(formula.parts) == {"mean": "x + (x|g)", "gating": "z + (1||h)"}
    assert formula.canonical() == "y ~ x + (x | g) | gating(z + (1 || h))"
    assert parse_formula("y ~ x | (1 | g)").parts["gating"] == "(1 | g)"
    assert parse_formula("y ~ x | gating((1 | g))").parts["gating"] == "(1 | g)"


REFUSED = {
    "y ~ (1 | g | h)": "more than one bar",
    "y ~ ( | g)": "nothing stands left",
    "y ~ (1 | )": "right of the bar",
    "y ~ (1 | 2)": "right of the bar",
    "y ~ (1 | g + h)": "right of the bar",
    "y ~ (1 | g*h)": "right of the bar",
    "y ~ (1 | a/b:c)": "right of the bar",
    "y ~ (1 | a:a)": "right of the bar",
    "y ~ (1 | log(g))": "right of the bar",
    "y ~ (1 | .)": "right of the bar",
    "y ~ (0 | g)": "neither an intercept nor a slope",
    "y ~ (x*z | g)": "left of the bar",
    "y ~ (x z | g)": "left of the bar|cannot read",
    "y ~ (2 | g)": "left of the bar",
    "y ~ (. | g)": "left of the bar",
    "y ~ (1 - x | g)": "left of the bar",
    "y ~ (x.max() | g)": "attributes",
    "y ~ x*(1 | g)": "term of its own",
    "y ~ ((1 | g) + x)": "term of its own",
    "y ~ x - (1 | g)": "cannot be subtracted",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_effect_of_groups_is_refused(text):
    with pytest.raises(FormulaError, match=REFUSED[text]) as caught:
        parse_formula(text)
    assert caught.value.at
