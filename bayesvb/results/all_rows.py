"""Fits to rows that are not all in memory: what a sample of them can tell, and what it cannot."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from bayesvb.errors import DataError
from bayesvb.formula.design import Design


@runtime_checkable
class HasRows(Protocol):
    """A model, as far as its rows go."""

    @property
    def design(self) -> Design:
        """Of the rows in memory."""


def is_sample(model: HasRows) -> bool:
    """Whether the rows in memory are a sample of those that are fitted."""
    known = model.design.all_rows
    return known is not None and known.n_rows != model.design.n_rows


def check_all_rows(model: HasRows, what: str, why: str) -> None:
    """Refuse what a sample of the rows cannot tell.

    Raises
    ------
    DataError
        With what was asked for, and why all rows are needed.
    """
    if is_sample(model):
        raise DataError(
            f"{what} needs all rows in memory: {why}",
            hint="fit to a table in memory, of as many rows as there is room for",
        )


def rows_text(model: HasRows) -> str:
    """Number of rows that are fitted, and what they are read from if they are not in memory."""
    known = model.design.all_rows
    if known is None:
        return _counted(model.design.n_rows)
    rows = f"{_counted(known.n_rows)} of {known.words}, read {known.count.times} times"
    if not is_sample(model):
        return rows
    return f"{rows}; what is said by row is of {_counted(model.design.n_rows)} chosen at random"


def _counted(n_rows: int) -> str:
    """So many rows."""
    return f"{n_rows:,} rows".replace(",", " ")
