"""Schema of a JSON text, as data, checked before anything is built from it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bayesvb.errors import DataError

DEEPEST = 20
"""Lists and mappings inside one another."""

ANYTHING = object()
"""Any value at all."""

Kind = Any
"""A type, `ANYTHING`, or one of the classes below."""


@dataclass(frozen=True)
class ListOf:
    """A list whose items are of one kind."""

    item: Kind


@dataclass(frozen=True)
class MapOf:
    """A mapping from text to values of one kind."""

    value: Kind


@dataclass(frozen=True)
class OneOf:
    """One of several kinds; None is one."""

    kinds: tuple[Kind, ...]


@dataclass(frozen=True)
class Record:
    """A mapping with these entries; others are not looked at."""

    required: Mapping[str, Kind]
    optional: Mapping[str, Kind] = field(default_factory=dict)


def parsed_json(text: str) -> Any:
    """The value of a JSON text.

    Raises
    ------
    DataError
        If it is none, or nested too deeply to be read.

    Examples
    --------
    >>> parsed_json('{"n": [1, 2]}')
    {'n': [1, 2]}
    """
    depth = deepest = 0
    quoted = escaped = False
    for sign in text:
        if quoted:
            quoted, escaped = escaped or sign != '"', sign == "\\" and not escaped
        elif sign == '"':
            quoted = True
        else:
            depth += (sign in "[{") - (sign in "]}")
            deepest = max(deepest, depth)
    if deepest > DEEPEST:
        raise DataError(f"a description is nested {deepest} deep, {DEEPEST} is the most")
    try:
        return json.loads(text)
    except ValueError as error:
        raise DataError(f"a description is not JSON: {error}") from error


def check_json(value: Any, kind: Kind, place: str) -> None:
    """Raise unless the value is of the kind.

    Raises
    ------
    DataError
        Naming the place.

    Examples
    --------
    >>> check_json({"n": 3}, Record({"n": int}), "options")
    >>> check_json({"n": "3"}, Record({"n": int}), "options")
    Traceback (most recent call last):
    bayesvb.errors.DataError: options.n is '3', which is not of type int
    """
    match kind:
        case ListOf(item=item):
            _check_type(value, list, place)
            for position, each in enumerate(value):
                check_json(each, item, f"{place}[{position}]")
        case MapOf(value=item):
            _check_type(value, dict, place)
            for name, each in value.items():
                check_json(each, item, f"{place}.{name}")
        case OneOf(kinds=kinds):
            if not any(_is(value, one, place) for one in kinds):
                raise DataError(f"{place} is {_short(value)}, which it cannot be")
        case Record(required=required, optional=optional):
            _check_type(value, dict, place)
            for name in required:
                if name not in value:
                    raise DataError(f"{place}.{name} is not there")
            for name, each in {**required, **optional}.items():
                if name in value:
                    check_json(value[name], each, f"{place}.{name}")
        case _:
            _check_type(value, kind, place)


def _is(value: object, kind: Kind, place: str) -> bool:
    try:
        check_json(value, kind, place)
    except DataError:
        return False
    return True


def _check_type(value: object, kind: Kind, place: str) -> None:
    """A truth value is not a number, an integer is a number."""
    if kind is ANYTHING or (kind is None and value is None):
        return
    fits = kind is not None and isinstance(value, (int, float) if kind is float else kind)
    if not fits or (isinstance(value, bool) and kind is not bool):
        name = getattr(kind, "__name__", str(kind))
        raise DataError(f"{place} is {_short(value)}, which is not of type {name}")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
