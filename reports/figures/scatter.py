"""Positions of rows on the axis of a covariate, spread where it has levels."""

from __future__ import annotations

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from ..rows.profiles import Covariate

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
