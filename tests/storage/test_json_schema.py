import pytest

from bayesvb.errors import DataError
from bayesvb.storage.json_schema import (
    ANYTHING,
    ListOf,
    MapOf,
    OneOf,
    Record,
    check_json,
    parsed_json,
)

FITTING = [
    (3, int), (3, float), (2.5, float), (True, bool), ("", str), (None, OneOf((None, str))),
    ([1, 2], ListOf(int)), ({"a": [True]}, MapOf(ListOf(bool))),
    ({"x": 1, "y": 2}, Record({"x": int})), ({}, Record({}, {"x": int})), ([{}], ANYTHING),
]  # fmt: skip

OTHERS = [
    (True, int), (True, float), (1, bool), (2.5, int), (None, str), ([1, "2"], ListOf(int)),
    ({"a": 1}, MapOf(str)), ({}, Record({"x": int})), ({"x": "1"}, Record({}, {"x": int})),
    ([], Record({})), ({}, ListOf(int)), (3, OneOf((None, str))),
]  # fmt: skip


@pytest.mark.parametrize(("value", "kind"), FITTING)
def test_what_fits(value, kind):
    check_json(value, kind, "here")


@pytest.mark.parametrize(("value", "kind"), OTHERS)
def test_what_does_not_fit_is_named(value, kind):
    with pytest.raises(DataError, match="here"):
        check_json(value, kind, "here")


@pytest.mark.parametrize("text", ["", "{", "[1,]", "[" * 100_000, '{"a":' * 5000, "1" * 10_000])
def test_what_is_no_json_gets_a_message(text):
    with pytest.raises(DataError, match="a description is"):
        parsed_json(text)


def test_brackets_inside_texts_nest_nothing():
    assert parsed_json('["' + "[" * 100 + '\\"[[["]') == ["[" * 100 + '"[[[']
