"""Rows by ranges of a number with about as many rows each, or by level of a factor."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Int

from bayesvb.formula.design import Design

from .profiles import covariate, labels

BINS = 6
"""Ranges of a number."""

FEWEST_IN_BIN = 10
"""Rows of a range, or of a level, from which it is shown."""


@dataclass(frozen=True)
class Bin:
    """Rows whose covariate has a level, or lies in a range.

    Attributes
    ----------
    label : str
    low, high : float
        Ends of the range; of a level both are its place on an axis of levels.
    rows : array of int
        Positions among the requested rows.
    """

    label: str
    low: float
    high: float
    rows: Int[np.ndarray, " some"]


def bins(design: Design, name: str, at: Int[np.ndarray, " rows"]) -> list[Bin]:
    """Bins of a covariate that hold at least ten of these rows each.

    Parameters
    ----------
    design : Design
    name : str
        The covariate.
    at : array of int, shape (rows,)
        Positions of the rows in the data.
    """
    one, column = covariate(design, name), design.frame[name].iloc[at]
    if one.discrete:
        numbers = column.astype(float) if column.dtype.kind in "iuf" else column
        values = enumerate(zip(one.values, labels(list(one.values)), strict=True))
        each = [
            Bin(text, float(i), float(i), np.flatnonzero((numbers == value).to_numpy(dtype=bool)))
            for i, (value, text) in values
        ]
    else:
        x = column.to_numpy(dtype=float)
        edges = np.unique(np.quantile(x, np.linspace(0.0, 1.0, BINS + 1)))
        number = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(edges) - 2)
        names = labels([float(edge) for edge in edges])
        each = [
            Bin(f"{names[i]} to {names[i + 1]}", low, high, np.flatnonzero(number == i))
            for i, (low, high) in enumerate(pairwise(edges.tolist()))
        ]
    return [one for one in each if len(one.rows) >= FEWEST_IN_BIN]
