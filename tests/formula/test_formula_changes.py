"""Formulas changed by others: the dot stands for what was there, other parts stay."""

import pytest

from bayesvb.data.parts import PARTS
from bayesvb.errors import FormulaError
from bayesvb.formula.formula_changes import change_formula
from bayesvb.formula.parser import parse_formula

CHANGES = {
    "y ~ x": [
        ("~ . + z", "y ~ x + z"),
        (". ~ . + s(z)", "y ~ x + s(z)"),
        ("log(y) ~ .", "log(y) ~ x"),
        ("~ . | gating(z)", "y ~ x | gating(z)"),
        ("~ . | z", "y ~ x | gating(z)"),
        ("~ . | sigma(x)", "y ~ x | sigma(x)"),
        ("~ .:z", "y ~ x:z"),
        ("~ 1", "y ~ 1"),
        ("~ . - x", "y ~ 1"),
    ],
    "y ~ x + s(z, k=5) + (1 | g) | gating(x)": [
        ("~ . - s(z, k=5)", "y ~ x + (1 | g) | gating(x)"),
        ("~ . - (1 | g) + w", "y ~ x + s(z, k=5) + w | gating(x)"),
        ("~ . | gating(. + w)", "y ~ x + s(z, k=5) + (1 | g) | gating(x + w)"),
    ],
    "y ~ x + offset(e)": [("~ . + z", "y ~ x + z + offset(e)")],
    "cens(y, d) ~ x | sigma(x)": [("~ . | sigma(.)", "cens(y, d) ~ x | sigma(x)")],
}
"""Formula -> changes and what they make of it."""


def changed(text, change):
    read = parse_formula(text, parts=tuple(PARTS), offset=True, calls=True)
    return change_formula(read, change, tuple(PARTS))


@pytest.mark.parametrize("text", CHANGES)
def test_the_dot_stands_for_what_was_there(text):
    for change, expected in CHANGES[text]:
        assert changed(text, change) == expected, change


def test_a_one_sided_formula_keeps_one_part():
    read = parse_formula("~ x + z", one_sided=True)
    assert change_formula(read, "~ . + w", tuple(PARTS)) == "~ x + z + w"


@pytest.mark.parametrize("change", [". + z", "", 3, "~ . ~ z"])
def test_what_is_no_change_is_refused(change, unchecked):
    with pytest.raises(FormulaError):
        changed("y ~ x", change)
