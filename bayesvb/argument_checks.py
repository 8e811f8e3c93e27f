"""Checks of arguments at the border: each message names the argument, the value and the remedy."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

import numpy as np

from bayesvb.errors import DataError


def check_choice(name: str, value: object, allowed: Sequence[str]) -> None:
    """Raise unless ``value`` is one of ``allowed``."""
    if value in allowed:
        return
    near = get_close_matches(str(value), allowed, 1)
    hint = f"did you mean {near[0]!r}?" if near else None
    listed = ", ".join(repr(option) for option in allowed)
    raise DataError(f"{name}={value!r} is not known; it is one of {listed}", hint=hint)


def check_count(
    name: str, value: object, *, least: int = 1, most: int | None = None, what: str = ""
) -> None:
    """Raise unless ``value`` is a whole number in the range."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise DataError(f"{name}={value!r} must be a whole number")
    if value < least:
        raise DataError(f"{name}={value!r} must be at least {least}")
    if most is not None and value > most:
        raise DataError(f"{name}={value!r} is more than the {most} {what}")


def check_positive(name: str, value: object) -> None:
    """Raise unless ``value`` is a positive, finite number."""
    if not isinstance(value, int | float | np.number) or not 0.0 < float(value) < np.inf:
        raise DataError(f"{name}={value!r} must be a positive, finite number")


def fresh_seed(seed: int | None) -> int:
    """The seed, or one of fresh entropy for None."""
    if seed is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    check_count("seed", seed, least=0, most=2**63 - 1, what="of the largest seed that a file holds")
    return int(seed)
