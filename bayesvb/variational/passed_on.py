"""Members that a wrapper takes, unchanged, from the object that it wraps."""

from __future__ import annotations

from typing import Any


class _PassedOn:
    """Descriptor that reads the attribute of its own name from the object in another one."""

    def __init__(self, wrapped: str) -> None:
        self.wrapped = wrapped

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, wrapper: object, owner: type) -> object:
        return self if wrapper is None else getattr(getattr(wrapper, self.wrapped), self.name)


def passed_on(wrapped: str) -> Any:
    """Member of this name of the object in the attribute ``wrapped``.

    Examples
    --------
    >>> class Wrapper:
    ...     text = "abc"
    ...     upper = passed_on("text")
    >>> Wrapper().upper()
    'ABC'
    """
    return _PassedOn(wrapped)
