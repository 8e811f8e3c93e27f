"""Results of a fit that are computed once: on first use, or when its file is read."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Literal, TypeVar

ValueT = TypeVar("ValueT")

Cached = Literal[
    "posterior",
    "exact draws",
    "named draws",
    "leave-one-out state",
    "leave-one-out predictions",
    "first order",
    "fold statistics",
    "held-out probabilities",
    "recalibrations",
    "local support",
    "linear baseline",
    "class evaluation",
    "deletion",
    "report parts",
    "complete draws",
    "average contrasts",
    "known rows",
    "labelled fits",
    "gain of a split",
    "prior table",
    "invariance",
]
"""Names of the results; leave-one-out predictions are saved with the fit."""


class FitCache:
    """Results of one fit by name.

    A fit that ``dataclasses.replace`` makes of another begins with an empty cache: any field may
    change any result.

    Examples
    --------
    >>> cache = FitCache()
    >>> cache.once("local support", lambda: 3.0), cache.once("local support", lambda: 4.0)
    (3.0, 3.0)
    """

    def __init__(self) -> None:
        self._values: dict[Cached, Any] = {}

    def __contains__(self, name: Cached) -> bool:
        return name in self._values

    def __setitem__(self, name: Cached, value: object) -> None:
        self._values[name] = value

    def take(self, other: FitCache, *, but: Collection[Cached] = ()) -> None:
        """Copy the results of a fit that differs in words only, except results of these names."""
        self._values |= {name: value for name, value in other._values.items() if name not in but}

    def get(self, name: Cached) -> Any:
        """Return the result, or None if it has not been computed."""
        return self._values.get(name)

    def once(self, name: Cached, compute: Callable[[], ValueT]) -> ValueT:
        """Return the result, which is computed if it is not there."""
        if name not in self._values:
            self._values[name] = compute()
        value: ValueT = self._values[name]
        return value
