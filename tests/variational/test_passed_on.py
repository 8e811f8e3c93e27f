"""Members of wrapped objects: methods, properties and attributes under their own names."""

from dataclasses import dataclass, fields

import pytest

from bayesvb.variational.passed_on import passed_on


@dataclass(frozen=True)
class Wrapper:
    inner: str
    upper = passed_on("inner")
    missing = passed_on("inner")


def test_members_are_read_from_the_wrapped_object_and_are_no_fields():
    assert Wrapper("abc").upper() == "ABC"
    assert [each.name for each in fields(Wrapper)] == ["inner"]
    with pytest.raises(AttributeError, match="missing"):
        _ = Wrapper("abc").missing
