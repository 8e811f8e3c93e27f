"""What a family says of its response: possible values, their words, and what is not a density."""

import numpy as np
import pytest

from bayesvb.distributions.response import CONTINUOUS, NO_RESPONSE, Response
from bayesvb.errors import DataError

BINARY = Response(kind="binary", support=(0.0, 1.0))
COUNT = Response(kind="count", support=(0.0, np.inf))


def column(*values):
    return np.array(values, dtype=float)[:, None]


@pytest.mark.parametrize(
    ("response", "values"),
    [(BINARY, (0, 1, 1)), (COUNT, (0, 3, 250)), (CONTINUOUS, (-2.5, 0.0, 7e9))],
    ids=lambda one: getattr(one, "kind", ""),
)
def test_possible_values_pass(response, values):
    response.check(column(*values), ("y",))


@pytest.mark.parametrize(
    ("response", "values", "words"),
    [
        (BINARY, (0, 2, 1), "`y` holds 2, and must be 0 or 1"),
        (BINARY, (0, 0.5, 1), "`y` holds 0.5, and must be 0 or 1"),
        (COUNT, (3, -1), "`y` holds -1, and must be a whole number"),
        (COUNT, (3, 1.5), "`y` holds 1.5, and must be a whole number"),
        (Response(kind="continuous", support=(0.0, np.inf)), (3, -0.1), "`y` holds -0.1"),
    ],
)
def test_a_value_that_a_family_cannot_have_is_named_with_its_remedy(response, values, words):
    with pytest.raises(DataError, match=words) as caught:
        response.check(column(*values), ("y",))
    assert "hint: " in str(caught.value)


def test_a_discrete_response_comes_alone_and_has_no_offset():
    two = np.zeros((3, 2))
    with pytest.raises(DataError, match="must be the only one"):
        BINARY.check(two, ("y", "z"))
    with pytest.raises(DataError, match="is subtracted from the response"):
        COUNT.check(column(1, 2), ("y",), has_offset=True)
    CONTINUOUS.check(two, ("y", "z"), has_offset=True)


def test_classes_have_no_numbers_and_others_do():
    assert not Response(kind="classes", levels=("a", "b")).is_numeric
    assert not NO_RESPONSE.is_numeric and not NO_RESPONSE.is_categorical
    assert [one.is_binary for one in (BINARY, COUNT, CONTINUOUS)] == [True, False, False]
    assert all(one.is_numeric for one in (BINARY, COUNT, CONTINUOUS))
    assert [one.is_discrete for one in (BINARY, COUNT, CONTINUOUS)] == [True, True, False]


def test_targets_and_their_names_are_those_of_the_kind():
    assert Response(kind="classes", levels=("a", "b")).targets == ("probability",)
    assert BINARY.targets == ("mean",) and COUNT.targets == CONTINUOUS.targets == ("mean", "sd")
    assert BINARY.label("mean") == "probability of {y} = 1"
    assert COUNT.label("mean") is None and CONTINUOUS.label("density") is None
    assert BINARY.label("density") == COUNT.label("density") == "P({y} = {v})"
