"""Frozen records of whose class no more is known than that it is a dataclass."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any, TypeVar, cast

RecordT = TypeVar("RecordT")


def changed(record: RecordT, **values: object) -> RecordT:
    """Copy of a record with other values of some fields."""
    return cast(RecordT, replace(cast(Any, record), **values))


def values_of(record: object) -> dict[str, object]:
    """Values of the fields of a record by name, in their order.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Point:
    ...     x: float
    ...     y: float
    >>> values_of(changed(Point(1.0, 2.0), y=3.0))
    {'x': 1.0, 'y': 3.0}
    """
    return {field.name: getattr(record, field.name) for field in fields(cast(Any, record))}
