"""Case weights: a column's name or numbers, checked, and sums that use them."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.argument_checks import check_choice
from bayesvb.data.frames import as_frame
from bayesvb.errors import DataError
from bayesvb.numerics.arrays import RowVector
from bayesvb.numerics.special import ROUNDING

MEANINGS = ("frequency", "sampling")
"""Meanings of case weights: how often a row was observed, or how much of a population it
represents."""

HEAVIEST = 1e15
"""Largest weight: rows beyond that cannot be counted in double precision."""


class CaseWeights(NamedTuple):
    """Weights of the rows used, and their meaning."""

    values: RowVector | None
    meaning: str


def weights_and_frame(
    weights: object, data: object
) -> tuple[Float[np.ndarray, " given"] | None, pd.DataFrame]:
    """Weight of each row, and the data as a frame in which ``.`` does not see the weights.

    Raises
    ------
    DataError
        If a weight is negative, missing or infinite, if all are zero, or if there is not one per
        row.
    """
    frame = as_frame(data)
    if weights is None:
        return None, frame
    if isinstance(weights, str):
        if weights not in frame.columns:
            raise DataError(
                f"weights={weights!r} is not a column of the data",
                hint="the columns are " + ", ".join(map(str, frame.columns[:8])),
            )
        return _checked(frame[weights], len(frame)), frame.drop(columns=weights)
    index = getattr(weights, "index", None)
    if isinstance(index, type(frame.index)) and not index.equals(frame.index):
        raise DataError(
            "the index of the Series weights differs from the index of the data",
            hint="give it the index of the data; if weights are in the order of the rows, pass "
            "weights.to_numpy()",
        )
    return _checked(weights, len(frame)), frame


def sum_and_error(
    values: RowVector, weights: RowVector | None = None, *, ddof: int = 1
) -> tuple[float, float]:
    r"""Sum over the rows and its standard error, as if a row of weight w were w rows.

    .. math:: \sum_i w_i v_i, \quad
        \sqrt{\frac{W}{W - \mathrm{ddof}} \sum_i w_i (v_i - \bar v)^2}, \quad W = \sum_i w_i.

    The error is NaN unless W is above ``ddof``.

    Examples
    --------
    >>> once = sum_and_error(np.array([1.0, 4.0]), np.array([2.0, 1.0]))
    >>> np.allclose(once, sum_and_error(np.array([1.0, 1.0, 4.0])))
    True
    """
    if weights is None:
        weights = np.ones_like(values)
    total = float(weights.sum())
    whole = float(weights @ values)
    if total <= ddof:
        return whole, math.nan
    squares = float(weights @ (values - whole / total) ** 2)
    return whole, math.sqrt(total / (total - ddof) * squares)


def check_meaning(weight_type: str, weights: object) -> None:
    """Raise unless weights have a known meaning, and are there if they have one of their own.

    Raises
    ------
    DataError
        If they do not.
    """
    check_choice("weight_type", weight_type, MEANINGS)
    if weight_type == "sampling" and weights is None:
        raise DataError(
            "weight_type='sampling' needs weights, but weights=None",
            hint="name their column: weights='w'",
        )


def scaled(weights: RowVector | None) -> RowVector | None:
    """Sampling weights that sum to the number of rows with any; as they are if they do already.

    Examples
    --------
    >>> scaled(np.array([10.0, 0.0, 30.0])).tolist()
    [0.5, 0.0, 1.5]
    """
    if weights is None or not weights.any():
        return weights
    factor = np.count_nonzero(weights) / weights.sum()
    return weights if abs(factor - 1.0) < ROUNDING else weights * factor


def _checked(weights: object, n_rows: int) -> Float[np.ndarray, " given"]:
    try:
        values = np.asarray(weights, dtype=float)
    except (OverflowError, TypeError, ValueError) as error:
        raise DataError(f"weights must be numbers: {error}") from error
    if values.shape != (n_rows,):
        raise DataError(f"weights have shape {values.shape}; the data have {n_rows} rows")
    bad = ~np.isfinite(values) | (values < 0.0)
    if bad.any():
        at = int(bad.argmax())
        raise DataError(
            f"{int(bad.sum())} weights are negative, missing or infinite, the first in row {at}: "
            f"{values[at]}",
            hint="remove these rows from the data, or give them the weight 0",
        )
    largest = values.max()
    if largest > HEAVIEST or 0.0 < largest < 1.0 / HEAVIEST:
        raise DataError(
            f"weights are up to {largest:g}; they must lie between {1.0 / HEAVIEST:g} and "
            f"{HEAVIEST:g}",
            hint="divide them by their mean",
        )
    if not values.any():
        raise DataError("all weights are zero", hint="omit weights, or give some rows weight")
    return values
