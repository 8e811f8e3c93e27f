"""Stage 2, bind: columns of dates and of durations become numbers, in days."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from bayesvb.data.frames import TEMPORAL, writes_dates
from bayesvb.errors import DataError
from bayesvb.numerics.arrays import RowMask

DAY = pd.Timedelta(days=1)

DURATIONS = {"timedelta", "timedelta64"}

CLOCK = {"time"}
"""Times of day, which belong to no date: no number is made of them."""


@dataclass(frozen=True, eq=False)
class Dates:
    """Columns of a table that hold dates or durations, and where their days are counted from.

    Attributes
    ----------
    origins : mapping of str to Timestamp or None
        First date among the rows used, by column; None of durations.
    """

    origins: Mapping[str, pd.Timestamp | None] = field(default_factory=dict)

    @classmethod
    def of(cls, columns: Mapping[str, pd.Series], usable: RowMask) -> Dates:
        """The temporal ones of these columns, days counted from the first date that is used."""
        dates: dict[str, pd.Timestamp | None] = {}
        for name, column in columns.items():
            kind = _kind(column)
            if kind in DURATIONS:
                dates[name] = None
            elif kind is not None and usable.any():
                dates[name] = _instants(column[usable]).min()
        return cls(dates)

    def in_days(self, columns: Mapping[str, pd.Series]) -> dict[str, pd.Series]:
        """The columns, with dates as days; numbers in such a column are days already.

        Text of ISO 8601 stands for dates. A column stays as it is where its origin is not known.
        """
        return {name: self._days(name, column) for name, column in columns.items()}

    def _days(self, name: str, column: pd.Series) -> pd.Series:
        if name not in self.origins:
            return column
        origin = self.origins[name]
        if origin is not None and writes_dates(column):
            return (pd.to_datetime(column, format="ISO8601") - origin) / DAY
        if _kind(column) is None:
            return column
        if origin is None:
            return pd.to_timedelta(column) / DAY
        return (_instants(column) - origin) / DAY

    def read(self, name: str, values: pd.Series) -> pd.Series:
        """Values of a column of dates, texts among them as dates.

        Raises
        ------
        DataError
            If a text is not a date of ISO 8601.
        """
        if self.origins.get(name) is None or not values.map(lambda one: isinstance(one, str)).all():
            return values
        try:
            return pd.to_datetime(values, format="ISO8601")
        except ValueError:
            raise DataError(
                f"{values.iloc[0]!r} is not a value of `{name}`, which holds dates",
                hint="write them as '2020-01-31', or as pandas.Timestamp",
            ) from None

    def restored(self, frame: pd.DataFrame) -> pd.DataFrame:
        """A frame whose days are dates, or durations, again; missing values stay."""
        if not self.origins:
            return frame
        back = {
            name: pd.to_timedelta((frame[name] * (DAY / MICROSECOND)).round(), unit="us")
            for name in self.origins
            if name in frame and frame[name].dtype.kind in "iuf"
        }
        dated = {
            name: spans if (origin := self.origins[name]) is None else origin + spans
            for name, spans in back.items()
        }
        return frame.assign(**dated)

    @property
    def texts(self) -> dict[str, str]:
        """Unit of each column, in words."""
        return {
            name: "days" if origin is None else f"days since {_written(origin)}"
            for name, origin in self.origins.items()
        }


MICROSECOND = pd.Timedelta(microseconds=1)


def is_temporal(column: pd.Series) -> bool:
    """Whether a column holds dates or durations."""
    return _kind(column) is not None


def _kind(column: pd.Series) -> str | None:
    """Kind of temporal values of a column; None if it has none."""
    dtype = column.dtype
    plain = isinstance(dtype, np.dtype) and dtype.kind not in "OmM"
    if plain or isinstance(dtype, pd.CategoricalDtype | pd.StringDtype):
        return None
    kind = str(pd.api.types.infer_dtype(column, skipna=True))
    return kind if kind in TEMPORAL - CLOCK else None


def _instants(column: pd.Series) -> pd.Series:
    """Dates as instants without a time zone, converted to UTC."""
    if isinstance(column.dtype, pd.PeriodDtype):
        column = column.dt.to_timestamp()
    if pd.api.types.infer_dtype(column, skipna=True) == "period":
        column = column.map(lambda one: one.to_timestamp(), na_action="ignore")
    return pd.to_datetime(column, utc=True).dt.tz_localize(None)


def _written(origin: pd.Timestamp) -> str:
    """A date, with its time of day if it has one."""
    return str(origin.date()) if origin == origin.normalize() else str(origin)
