"""Levels of columns at several sites: in one order, and at each site rows with all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from bayesvb.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

    from bayesvb.formula.design import Design

LEVELS = (str, bool, int, float)
"""Kinds of levels that a message can hold."""


def levels_of(design: Design) -> dict[str, list[Any]]:
    """Levels of the columns of a design that have some.

    Raises
    ------
    DataError
        If they are neither text nor numbers.
    """
    found = {name: index.tolist() for name, index in design.column_levels.items()}
    for name, values in found.items():
        strange = [value for value in values if not isinstance(value, LEVELS)]
        if strange:
            raise DataError(
                f"`{name}` has the level {strange[0]!r}, and sites exchange text and numbers only",
                hint="make text of it",
            )
    return found


def pooled_levels(parts: Sequence[Mapping[str, list[Any]]]) -> dict[str, list[Any]]:
    """Levels of all sites: sorted if they are so at each, else in the order that all share.

    Raises
    ------
    DataError
        If there is no such order.
    """
    if any(part.keys() != parts[0].keys() for part in parts):
        raise DataError(
            "the sites do not have levels in the same columns",
            hint="a column of numbers at one site is text at another",
        )
    return {name: _together(name, [part[name] for part in parts]) for name in parts[0]}


def _together(name: str, every: Sequence[list[Any]]) -> list[Any]:
    union = {value for values in every for value in values}
    try:
        if all(values == sorted(values) for values in every):
            return sorted(union)
    except TypeError as error:
        raise DataError(f"`{name}` has text and numbers for levels") from error
    longest = max(every, key=len)
    for values in every:
        if values != [value for value in longest if value in values]:
            raise DataError(
                f"`{name}` has its levels in another order at one site: {values}, {longest}",
                hint="give all sites the same categories, or text",
            )
    return list(longest)


def with_every_level(
    frame: pd.DataFrame,
    weights: Float[np.ndarray, " rows"] | None,
    present: Mapping[str, list[Any]],
    wanted: Mapping[str, list[Any]],
) -> tuple[pd.DataFrame, Float[np.ndarray, " all_rows"] | None]:
    """The rows, and rows of weight zero with the levels that are not among them."""
    import pandas as pd

    frame = frame.copy()
    for name, values in wanted.items():
        if isinstance(frame[name].dtype, pd.CategoricalDtype):
            ordered = frame[name].cat.ordered
            frame[name] = pd.Categorical(frame[name], categories=values, ordered=ordered)
    more = []
    for name, values in wanted.items():
        for level in values:
            if level not in present[name]:
                row = frame.iloc[[0]].copy()
                row[name] = pd.Series([level], index=row.index).astype(frame[name].dtype)
                more.append(row)
    if not more:
        return frame, weights
    own = np.ones(len(frame)) if weights is None else weights
    return pd.concat([frame, *more]), np.concatenate([own, np.zeros(len(more))])
