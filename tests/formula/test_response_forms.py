"""Responses of several numbers per row: how they are written, and where a mistake is."""

import pytest

from bayesvb.errors import FormulaError
from bayesvb.formula.parser import parse_formula

CALLS = {
    "cens(y, s) ~ x": ("cens", ("y", "s"), (None, None)),
    "cens(log(y), s, y2=log(u)) ~ x": ("cens", ("log(y)", "s", "log(u)"), (None, None, None)),
    "y | cens(s == 'dead') ~ x | gating(z)": ("cens", ("y", "s == 'dead'"), (None, None)),
    "Surv(time=`my t`, event=d) ~ x": ("Surv", ("`my t`", "d"), (None, None)),
    "rounded(y, 0.5) ~ x": ("rounded", ("y", "0.5"), (None, 0.5)),
}


@pytest.mark.parametrize("text", CALLS)
def test_a_call_is_its_form_and_its_arguments(text):
    formula = parse_formula(text, calls=True)
    call = formula.read["response"].call
    assert (call.form.name, call.texts, call.constants) == CALLS[text]
    assert parse_formula(formula.canonical(), calls=True).canonical() == formula.canonical()


def test_roles_say_which_columns_may_be_text_or_absent():
    codes = parse_formula("cens(y, s, y2=log(u)) ~ x", calls=True).read["response"].call.codes
    assert [[use.role for use in code.uses] for code in codes] == [
        ["value"], ["status"], ["call", "upper"],
    ]  # fmt: skip


WRONG = {
    "cens(y) ~ x": "cens(y, status)",
    "cens(y, s, u, v) ~ x": "cens(y, status)",
    "cens(y, s, k=u) ~ x": "cens(y, status)",
    "rounded(3, 0.5) ~ x": "rounded(y, 0.5)",
    "cens(y, s) + z ~ x": "one model for each response",
    "y | trunc(lb=0) ~ x": "takes one of cens(...)",
    "y | s ~ x": "takes one of cens(...)",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_mistake_shows_what_to_write(text):
    with pytest.raises(FormulaError) as caught:
        parse_formula(text, calls=True)
    assert WRONG[text] in str(caught.value)


def test_other_models_refuse_such_responses():
    with pytest.raises(FormulaError, match="this model has no `cens"):
        parse_formula("cens(y, s) ~ x")
