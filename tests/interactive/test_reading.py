"""What is wrong with a formula is found without a fit, and never raises."""

import time

import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.interactive.reading import (
    ROWS,
    completions,
    read,
    sample_of,
    vocabulary,
    word_before,
)
from bayesvb.interactive.request import Request

MCYCLE = bvb.datasets.load("mcycle")


def reading(formula: str, **options):
    return read(Request(formula=formula, options=options), MCYCLE)


def test_a_readable_formula_has_nothing_to_say():
    assert reading("accel ~ s(times) | gating(times)", n_components=3).readable
    assert reading("accel ~ times").message == ""


def test_the_carets_stand_below_what_is_not_known():
    formula = "accel ~ s(tmes)"
    result = reading(formula)
    assert not result.readable
    assert formula[result.carets.index("^") : len(result.carets)] == "tmes"
    assert "times" in result.hint


@pytest.mark.parametrize(
    "formula",
    ["", "~", "accel", "accel ~ __import__('os')", "accel ~ <img onerror=1>", "a" * 42_000,
     "accel ~ times \N{RIGHT-TO-LEFT OVERRIDE}x", "accel ~ \x1b[31mtimes", "\N{SNOWMAN}" * 50],
)  # fmt: skip
def test_hostile_formulas_are_sentences(formula):
    result = reading(formula)
    assert not result.readable
    assert result.message


def test_a_family_that_the_response_contradicts_is_said():
    assert not reading("accel ~ times", family="poisson").readable


@pytest.mark.timing
def test_a_message_takes_less_than_a_tenth_of_a_second():
    rows = sample_of(pd.concat([MCYCLE] * 100, ignore_index=True), ROWS)
    request = Request(
        formula="accel ~ s(times) + poly(times, 3) | gating(times)", options={"n_components": 4}
    )
    read(request, rows)  # imports
    began = time.perf_counter()
    read(request, rows)
    assert time.perf_counter() - began < 0.1


def test_a_sample_keeps_the_order_of_the_rows():
    sample = sample_of(MCYCLE, 50)
    assert len(sample) == 50
    assert sample.index.is_monotonic_increasing
    assert sample_of(MCYCLE, 133) is MCYCLE


def test_words_complete_what_stands_before_the_caret():
    words = vocabulary(pd.DataFrame(columns=["wage", "years at school", "wages2", "gatekeeper"]))
    assert completions("wa ~ x", 2, words) == ["wage", "wages2"]
    assert completions("log(wage) ~ ye", 14, words) == ["`years at school`"]
    assert completions("y ~ `years a", 12, words) == ["`years at school`"]
    assert "gating(" in completions("y ~ x | gat", 11, words)
    assert completions("y ~ ", 4, words) == completions("wage", 4, ("wage",)) == []
    assert word_before("a ~ 2x", 6) == "x"


@pytest.mark.parametrize(
    ("formula", "instead"),
    [("side ~ times", "ConditionalMixtureNetwork"), ("~ accel + times", "BayesianPCA"),
     ("accel ~ tmes", None)],
)  # fmt: skip
def test_a_model_that_takes_the_formula_is_offered(formula, instead):
    frame = MCYCLE.assign(side=["left", "right", "left"] * 44 + ["right"])
    other = read(Request(formula=formula), frame).instead
    assert (other and other.model) == instead
