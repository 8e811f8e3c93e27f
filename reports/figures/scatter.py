"""Rows as points against a covariate: drawn as pixels, beside one another where it has levels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from ..rows.profiles import Covariate, labels
from .svg import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

JITTER = 0.28
"""Half the width over which the rows of one level are spread."""


def places(
    frame: pd.DataFrame, one: Covariate, at: Int[np.ndarray, " shown"]
) -> Float[np.ndarray, " shown"]:
    """Places on the axis of rows; NaN where the level is not drawn."""
    column: pd.Series = frame[one.name].iloc[at]
    if not one.discrete:
        return np.asarray(column, dtype=float)
    numbers = column.astype(float) if column.dtype.kind in "iuf" else column.astype(object)
    place = {value: number for number, value in enumerate(one.values)}
    found = np.array([place.get(value, np.nan) for value in numbers], dtype=float)
    # the golden ratio spreads consecutive rows evenly, and the same way each time
    spread = (np.arange(len(found)) * 0.6180339887498949) % 1.0
    return np.asarray(found + JITTER * (2.0 * spread - 1.0))


def cloud(
    axes: Axes,
    frame: pd.DataFrame,
    one: Covariate,
    values: Float[np.ndarray, " rows"],
    *,
    at: Int[np.ndarray, " shown"],
    **style: Any,
) -> None:
    """Points of the rows ``at``; the more there are the fainter they become."""
    size, alpha = (14.0, 0.75) if len(at) <= 400 else (8.0, 0.5)
    axes.scatter(
        places(frame, one, at), values[at], s=size, alpha=alpha, linewidths=0, rasterized=True,
        **style,
    )  # fmt: skip


def level_axis(axes: Axes, values: list[object]) -> None:
    """Levels as ticks of the horizontal axis."""
    names = [shortened(text, 20) for text in labels(values)]
    turned = len(names) > 6 or sum(map(len, names)) > 45
    axes.set_xticks(range(len(names)), names, rotation=40 if turned else 0,
                    ha="right" if turned else "center")  # fmt: skip
    axes.set_xlim(-0.6, len(names) - 0.4)
