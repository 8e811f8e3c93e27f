"""Stage 2, bind: columns for which the dot of a formula stands, and which it excludes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

import pandas as pd

from bayesvb.data.frames import kind_of
from bayesvb.errors import DataError, DesignWarning, warn
from bayesvb.formula.dates import is_temporal
from bayesvb.formula.limits import LIMITS
from bayesvb.formula.parser import Formula
from bayesvb.formula.tokens import DOT

ALONE = re.compile(r"id|index|row|rownames|unnamed: 0|.*[_. ]id", re.IGNORECASE)

CASED = re.compile(r".*[a-z]ID")
"""Names of columns that number rows or subjects, as the one before."""

_EVERY: ContextVar[bool] = ContextVar("every_column", default=False)


@contextmanager
def every_column() -> Iterator[None]:
    """Context in which the dot excludes nothing: the columns are known from an earlier model."""
    token = _EVERY.set(True)
    try:
        yield
    finally:
        _EVERY.reset(token)


def without_ids(frame: pd.DataFrame, columns: Sequence[str], formula: Formula) -> list[str]:
    """Columns for which the dot stands; dates, ids and free text are excluded with a warning.

    Columns that the formula names are kept.

    Warns
    -----
    DesignWarning
        With the names of excluded columns, the reason, and how to include them.
    """
    if _EVERY.get() or not any(DOT.search(text) for text in formula.parts.values()):
        return list(columns)
    named = {use.name for part in formula.read.values() for use in part.code.uses}
    reasons = {name: _reason(frame[name], name) for name in columns if name not in named}
    left = {name: why for name, why in reasons.items() if why}
    if left:
        names = ", ".join(f"`{name}` ({why})" if name else why for name, why in left.items())
        warn(
            f"`.` omits {names}; a column that is named in the formula is kept",
            DesignWarning,
        )
    return [name for name in columns if name not in left]


def _reason(column: pd.Series | pd.DataFrame, name: str) -> str:
    """Reason why a column is excluded; empty if it is not."""
    if not name:
        return "a column without a name"
    if isinstance(column, pd.DataFrame):
        return ""
    if is_temporal(column):
        return "dates or durations"
    try:
        kind = kind_of(column, name)
    except DataError:
        return ""
    if kind == "levels":
        return _of_labels(column.dropna())
    whole = column.dtype.kind in "iu"
    return "an id, by its name" if whole and _named_id(name) else ""


def hardly_repeat(n_labels: int, n_rows: int) -> bool:
    """Return whether this many different labels in these rows are ids rather than levels."""
    return n_rows >= LIMITS.repeating_rows and n_labels > LIMITS.majority * n_rows


def _named_id(name: str) -> bool:
    """Whether a name is an id's: `id`, `patient_id`, `patientID`, `Unnamed: 0`.

    Examples
    --------
    >>> [_named_id(name) for name in ("ID", "site_id", "siteID", "humid", "paid", "x")]
    [True, True, True, False, False, False]
    """
    return bool(ALONE.fullmatch(name) or CASED.fullmatch(name))


def _of_labels(column: pd.Series) -> str:
    """Reason why text is excluded."""
    n_rows, different = len(column), int(column.nunique())
    if not hardly_repeat(different, n_rows):
        return ""
    words = (column.astype(str).str.count(r"\s+") + 1).mean()
    kind = "free text" if words >= LIMITS.words else "labels that hardly repeat"
    return f"{kind}, {different} different in {n_rows} rows"
