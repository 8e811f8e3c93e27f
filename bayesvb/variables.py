"""Variables of a formula without a response: numbers, all of them."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from bayesvb.encoding import Terms
from bayesvb.errors import DataError
from bayesvb.frames import kind_of

__all__ = ["numeric_columns", "require_numbers"]


def numeric_columns(frame: pd.DataFrame) -> list[str]:
    """Columns that hold numbers, for `.` in a formula that takes nothing else."""

    def is_numeric(position: int, name: str) -> bool:
        try:
            return kind_of(frame.iloc[:, position], name) == "number"
        except DataError:
            return False

    found = (name for position, name in enumerate(frame.columns) if is_numeric(position, name))
    return list(dict.fromkeys(found))


def require_numbers(terms: Terms, columns: Mapping[str, pd.Series]) -> None:
    """Variables of a one-sided formula are numbers."""
    for slot in terms.slots("variables"):
        if slot.role == "levels" or kind_of(columns[slot.column], slot.column) != "number":
            raise DataError(
                f"`{slot.column}` holds text or levels, and all variables of this "
                "model are numbers",
                hint="leave it out",
            )
