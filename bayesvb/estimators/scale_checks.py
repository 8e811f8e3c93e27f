"""Numbers of a design that double precision can square, and so standardise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from bayesvb.errors import DataError
from bayesvb.formula.checks import LARGEST
from bayesvb.formula.design import Design

__all__ = ["check_columns", "check_scales"]


def check_scales(design: Design) -> None:
    """Refuse columns whose numbers, or the differences between them, cannot be squared.

    Raises
    ------
    DataError
        Naming the column.
    """
    for part, matrix in design.matrices.items():
        check_columns(matrix, design.terms[part])
    response = design.response
    if response is not None and response.ndim == 2 and response.dtype.kind == "f":
        check_columns(np.asarray(response, dtype=float), design.response_names)


def check_columns(matrix: Float[np.ndarray, "rows terms"], names: Sequence[str]) -> None:
    """Refuse columns with such numbers; their smallest and largest ones are enough to see it.

    Raises
    ------
    DataError
        Naming the column.
    """
    lowest, highest = np.fmin.reduce(matrix, axis=0), np.fmax.reduce(matrix, axis=0)
    size = np.maximum(np.abs(lowest), np.abs(highest))
    with np.errstate(over="ignore"):
        spread = highest - lowest
    small = (spread > 0.0) & (spread < 1.0 / LARGEST)
    for j in np.flatnonzero((size > LARGEST) | small).tolist():
        what = f"differences of {spread[j]:g}" if small[j] else f"values of {size[j]:g}"
        raise DataError(
            f"`{names[j]}` has {what}, whose squares leave the range of double precision",
            hint="give it in another unit",
        )
