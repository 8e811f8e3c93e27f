"""Columns at several sites: their levels in one order, and values that represent all rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Float

from bayesvb.errors import DataError

LEVELS = (str, bool, int, float)
"""Kinds of levels that a message can hold."""

SHARES = 257
"""Shares at which values of the rows of all sites are known."""

FINE = 4096
"""Values into which the quantiles of each site are spread before they are put together."""


def check_levels(told: Mapping[str, Sequence[object]]) -> None:
    """Refuse levels that are neither text nor numbers.

    Raises
    ------
    DataError
        With the first of them.
    """
    for name, values in told.items():
        strange = [value for value in values if not isinstance(value, LEVELS)]
        if strange:
            raise DataError(
                f"`{name}` has the level {strange[0]!r}, but sites exchange text and numbers only",
                hint="convert the column to text",
            )


def pooled_levels(parts: Sequence[Mapping[str, list[object]]]) -> dict[str, list[object]]:
    """Levels of all sites: sorted if they are so at each, else in the order that all share.

    Raises
    ------
    DataError
        If such an order does not exist.
    """
    different = [name for part in parts for name in part.keys() ^ parts[0].keys()]
    different += [
        name
        for name in parts[0]
        for part in parts
        if not different and bool(part[name]) != bool(parts[0][name])
    ]
    if different:
        raise DataError(
            f"`{different[0]}` has levels at some sites only",
            hint="give it one type at all sites: it is numeric or absent at some of them",
        )
    return {name: _together(name, [part[name] for part in parts]) for name in parts[0]}


def _together(name: str, every: Sequence[list[Any]]) -> list[object]:
    union = {value for values in every for value in values}
    try:
        if all(values == sorted(values) for values in every):
            return sorted(union)
    except TypeError as error:
        raise DataError(
            f"`{name}` has both text and numbers as levels", hint="give it one type at all sites"
        ) from error
    before: dict[object, set[object]] = {value: set() for values in every for value in values}
    for values in every:
        for lower, upper in pairwise(values):
            before[upper].add(lower)
    try:
        return list(TopologicalSorter(before).static_order())
    except CycleError as error:
        raise DataError(
            f"`{name}` has these levels in different orders at two sites: "
            + ", ".join(map(repr, error.args[1])),
            hint="give all sites the same categories, or convert the column to text",
        ) from error


def pooled_quantiles(
    every: Sequence[Float[np.ndarray, "columns values"]], sizes: Sequence[int]
) -> Float[np.ndarray, "columns shares"]:
    """Values at evenly spaced proportions of the rows of all sites, from the values of each site.

    Between the values that a site reports, its rows are assumed to be evenly spaced.

    Parameters
    ----------
    every : sequence of ndarray, shape (columns, values)
        Values at evenly spaced shares, the ends among them, by site.
    sizes : sequence of int
        Rows of each site.

    Examples
    --------
    >>> low, high = np.array([[0.0, 1.0]]), np.array([[1.0, 3.0]])
    >>> pooled_quantiles([low, high], [10, 20])[0, [0, 128, 256]].round(2).tolist()
    [0.0, 1.5, 3.0]
    """
    middles = (np.arange(FINE) + 0.5) / FINE
    weight = np.repeat(np.asarray(sizes, dtype=float) / FINE, FINE)
    quantiles = []
    for column in range(len(every[0])):
        fine = [
            np.interp(middles, np.linspace(0.0, 1.0, one.shape[1]), one[column]) for one in every
        ]
        values = np.concatenate(fine)
        order = np.argsort(values, kind="stable")
        upto = (np.cumsum(weight[order]) - 0.5 * weight[order]) / weight.sum()
        pooled = np.interp(np.linspace(0.0, 1.0, SHARES), upto, values[order])
        pooled[0] = min(one[column, 0] for one in every)
        pooled[-1] = max(one[column, -1] for one in every)
        quantiles.append(pooled)
    return np.array(quantiles).reshape(len(every[0]), SHARES)
