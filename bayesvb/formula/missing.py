"""Stage 2, bind: which rows of a table can be used, where values are missing."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from jaxtyping import Bool

from bayesvb.errors import DataError

__all__ = ["check_rows", "usable_rows"]


def usable_rows(
    missing: Mapping[str, Bool[np.ndarray, " rows"]], rows: int, *, keep: bool
) -> Bool[np.ndarray, " rows"]:
    """Rows with a value in every column; in any column, if missing values are kept."""
    usable = np.full(rows, not keep)
    for absent in missing.values():
        usable = usable | ~absent if keep else usable & ~absent
    return usable


def check_rows(
    missing: Mapping[str, Bool[np.ndarray, " rows"]],
    usable: Bool[np.ndarray, " rows"],
    *,
    policy: str,
) -> None:
    """Refuse data without a row that can be used, and incomplete rows if the policy is "raise".

    Raises
    ------
    DataError
        With the number of missing values in each column.
    """
    counts = {name: int(absent.sum()) for name, absent in missing.items() if absent.any()}
    listed = ", ".join(f"`{name}` in {count}" for name, count in counts.items())
    left, rows = int(usable.sum()), len(usable)
    if not left and policy == "keep":
        raise DataError(f"no row has a value: of {rows} rows, all are missing from {listed}")
    if not left:
        raise DataError(f"no row is complete: of {rows} rows, values are missing from {listed}")
    if policy == "raise" and left < rows:
        raise DataError(
            f"{rows - left} of {rows} rows lack a value: {listed}",
            hint="missing='drop' leaves these rows out and counts them",
        )
