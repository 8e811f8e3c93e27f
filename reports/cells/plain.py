"""Plain summaries: what sections return, as values that JSON can hold."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

Summary: TypeAlias = dict[str, Any]
"""JSON-able values by name; figures also hold their drawing."""

FOR_THE_EYE = frozenset(
    {
        "decimals",
        "text",
        "id",
        "approach",
        "head_width",
        "drawing",
        "drawings",
        "named",
        "height",
        "x_labels",
        "y_labels",
        "end_labels",
        "inner_labels",
        "legend",
        "places",
        "less",
        "ruler",
        "series",
        "compact",
        "signed",
    }
)
"""Keys that only the page needs; the JSON file omits them."""


DIGITS, DECIMALS = 10, 6
"""Significant digits of a number, and decimals that are kept in any case."""


def plain(value: object) -> Any:
    """The value without numpy and pandas types; NaN is None, infinity a sign for it.

    Numbers have ``DIGITS`` digits, and at least six decimals: pages show fewer.

    Examples
    --------
    >>> plain({"a": np.array([1.0, np.nan]), "b": np.int64(3)})
    {'a': [1.0, None], 'b': 3}
    >>> plain([2.0 / 3.0, 1e-4 / 3.0, 1700000000.123456])
    [0.6666666667, 3.333333333e-05, 1700000000.123456]
    """
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return _finite(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value)


def _finite(value: float) -> float | str | None:
    if math.isnan(value):
        return None
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0.0:
        return value
    leading = math.floor(math.log10(abs(value)))
    return round(value, max(DIGITS - 1 - leading, DECIMALS))


def numbers_only(value: Any) -> Any:
    """A plain summary without purely visual entries.

    Examples
    --------
    >>> numbers_only({"table": {"cells": [0.5], "decimals": [2]}, "plot": {"drawing": "<path/>"}})
    {'table': {'cells': [0.5]}, 'plot': {}}
    """
    if isinstance(value, dict):
        kept = {key: one for key, one in value.items() if key not in FOR_THE_EYE}
        return {key: numbers_only(one) for key, one in kept.items()}
    if isinstance(value, list):
        return [numbers_only(one) for one in value]
    return value
