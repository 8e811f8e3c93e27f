"""A model with other values of some of its fields."""

from __future__ import annotations

from copy import copy
from typing import TypeVar

ModelT = TypeVar("ModelT")


def with_fields(model: ModelT, **fields: object) -> ModelT:
    """A copy of a frozen model with other values of these fields, the rest as it is.

    ``dataclasses.replace`` would make the model anew from its arguments; here nothing is derived.
    """
    changed = copy(model)
    for name, value in fields.items():
        object.__setattr__(changed, name, value)
    return changed
