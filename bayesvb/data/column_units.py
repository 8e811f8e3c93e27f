"""Units of measurement of the columns of a table: their source, and their notation."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pandas as pd

from bayesvb.data.frames import nearest
from bayesvb.errors import DataError

UNITS = "units"
"""Key of ``frame.attrs`` for the units of a table's columns."""

LONGEST = 60
"""Characters of a unit."""

SPACE = "\u202f"
"""Narrow space that does not break."""


def declared_units(frame: pd.DataFrame, columns: Collection[str]) -> dict[str, str]:
    """Units of these columns declared in a table; its other attributes are ignored.

    Examples
    --------
    >>> frame = pd.DataFrame({"times": [2.4], "accel": [0.0]})
    >>> frame.attrs["units"] = {"times": "ms", "weight": "kg"}
    >>> declared_units(frame, frame.columns)
    {'times': 'ms'}
    """
    declared = frame.attrs.get(UNITS)
    if not isinstance(declared, Mapping):
        return {}
    return {
        name: unit
        for name, unit in declared.items()
        if name in columns and isinstance(unit, str) and 0 < len(unit) <= LONGEST
    }


def check_known(units: Mapping[str, str], columns: Collection[str]) -> None:
    """Raise if units are of a column that there is not.

    Raises
    ------
    DataError
        Naming the column.

    Examples
    --------
    >>> check_known({"times": "ms"}, ["times", "accel"])
    """
    for name in units:
        if name not in columns:
            hint = nearest(name[:80], list(columns))
            raise DataError(f"units: the formula does not use {name[:80]!r}", hint=hint)


def check_units(argument: str, units: object) -> None:
    """Raise unless these are texts by the names of columns.

    Raises
    ------
    DataError
        Naming the argument, or the column.

    Examples
    --------
    >>> check_units("units", {"times": "ms"})
    """
    if not isinstance(units, Mapping) or not all(isinstance(name, str) for name in units):
        raise DataError(
            f"{argument}={str(units)[:80]!r} is not a mapping of columns to units",
            hint='write {"times": "ms", ...}, a unit for each column',
        )
    for name, unit in units.items():
        if not isinstance(unit, str) or not 0 < len(unit) <= LONGEST:
            raise DataError(
                f"{argument}: the unit {str(unit)[:80]!r} of {name[:80]!r} is not valid",
                hint=f"write a string of at most {LONGEST} characters, such as 'ms'",
            )


def measured(number: str, name: str, units: Mapping[str, str]) -> str:
    """A number that is written, with the unit of its column if that is known.

    Examples
    --------
    >>> measured("2.4", "times", {"times": "ms"})
    '2.4\u202fms'
    """
    return f"{number}{SPACE}{units[name]}" if name in units else number
