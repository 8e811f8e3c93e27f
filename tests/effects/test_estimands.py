"""What is asked of a conditional distribution: its words and its columns."""

import pytest

from bayesvb.distributions.response import CONTINUOUS, Response
from bayesvb.effects.estimands import estimand


@pytest.mark.parametrize(
    ("target", "options", "words", "column"),
    [
        ("mean", {}, "mean of y", None),
        ("sd", {}, "standard deviation of y", None),
        ("quantile", {"q": [0.1, 0.9]}, "quantile of y at q = 0.1, 0.9", "q"),
        ("probability", {"above": 2.0}, "P(y > 2)", None),
        ("probability", {"below": [2.0]}, "P(y < 2)", "below"),
        ("density", {"at": 0.25}, "density of y at 0.25", None),
        ("weights", {}, "weights of the components", "component"),
    ],
)
def test_a_quantity_is_said_in_words_and_told_apart_by_a_column(target, options, words, column):
    found = estimand(target, options, CONTINUOUS)
    assert found.words("y") == words
    assert found.entries(2)[0] == column


def test_of_classes_it_is_the_probability_of_each_level():
    found = estimand(None, {}, Response(kind="classes", levels=("a", "b", "c")))
    assert found.words("kind") == "probability of each level of kind"
    assert found.entries(2) == ("level", ("a", "b", "c"))


def test_units_are_told_of_what_is_in_them():
    def label(name):
        return f"{name} (g)"

    assert estimand("mean", {}, CONTINUOUS).words("y", label) == "mean of y (g)"
    assert estimand("probability", {"above": 3.0}, CONTINUOUS).words("y", label) == "P(y > 3)"
