"""The choice between the structures of group effects: columns, or the group of each row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class StructureLimits:
    """Sizes up to which effects of groups are columns, and up to which draws hold them."""

    columns: int = 100
    """Group effects of a part that may all be columns: their names are in all tables, and
    components have a common part. One component with 2,000 rows takes 0.03 s of CPU time with 50
    effects, in either way, 0.04 s with columns and 0.03 s without with 100, 0.37 s and 0.04 s with
    500. With two components it is 2.0 s and 0.50 s with 50, and 6.8 s and 0.69 s with 100."""

    groups: int = 500
    """Groups of a term of which each may be a column, or whose effects draws may hold: the
    covariance of all coefficients is then a matrix, of two components 4 MB."""


LIMITS = StructureLimits()

_ONLY: ContextVar[bool] = ContextVar("only_columns", default=False)


@contextmanager
def only_columns() -> Iterator[None]:
    """Context in which group effects are columns, as they may have been in an earlier model."""
    token = _ONLY.set(True)
    try:
        yield
    finally:
        _ONLY.reset(token)


def grouped_term(n_groups: Sequence[int], n_effects: Sequence[int]) -> int | None:
    """Return the position of the term whose rows have a group each; None if all are columns.

    It is the one with the most groups, where the effects of all terms are too many for columns.

    Parameters
    ----------
    n_groups, n_effects : sequence of int
        Groups of each term of a part, including the one for all unseen groups, and effects of a
        group.

    Examples
    --------
    >>> grouped_term([31, 35], [1, 2]), grouped_term([30, 35], [1, 2])
    (1, None)
    """
    total = sum(groups * effects for groups, effects in zip(n_groups, n_effects, strict=True))
    if total <= LIMITS.columns or _ONLY.get():
        return None
    return max(range(len(n_groups)), key=n_groups.__getitem__)
