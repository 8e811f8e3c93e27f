"""Full fits of one page, compared by their leave-one-out predictions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bayesvb.data.case_weights import sum_and_error
from bayesvb.evaluation.elpd import Elpd
from bayesvb.interactive.request import Request


@dataclass(frozen=True, kw_only=True)
class Record:
    """A full fit that was judged.

    Attributes
    ----------
    request : Request
    key : str
        Canonical formula and options: two spellings of one model have the same.
    response : str
        Name of the response; densities of log(y) and of y cannot be compared.
    elpd : Elpd
        Leave-one-out predictions.
    verdict : str
        Worst grade of its checks.
    path : Path
        File of the fit.
    """

    request: Request
    key: str
    response: str
    elpd: Elpd
    verdict: str
    path: Path


@dataclass(frozen=True, kw_only=True)
class Row:
    """A fit compared with the best one.

    Attributes
    ----------
    record : Record
    difference, error : float or None
        Expected log predictive density less the best one's, in nats, and its standard error; None
        for other rows or another response.
    """

    record: Record
    difference: float | None
    error: float | None


@dataclass(frozen=True)
class History:
    """Records in the order in which they were last shown."""

    records: tuple[Record, ...] = ()

    def with_record(self, record: Record) -> History:
        """Return the history with a record, instead of one of the same model."""
        return replace(self, records=(*self._without(record.key), record))

    def without(self, key: str) -> History:
        """Return the history without the record of this key."""
        return replace(self, records=self._without(key))

    def find(self, key: str) -> Record | None:
        """Return the record of this key."""
        return next((record for record in self.records if record.key == key), None)

    def saved_in(self, path: Path) -> Record | None:
        """Return the record of the fit that a file holds."""
        return next((record for record in self.records if record.path == path), None)

    def _without(self, key: str) -> tuple[Record, ...]:
        return tuple(record for record in self.records if record.key != key)

    def rows(self) -> list[Row]:
        """Compare with the best of the fits to the rows and the response of the last one.

        Fits that cannot be compared come last.
        """
        if not self.records:
            return []
        last = self.records[-1]
        alike = [record for record in self.records if _comparable(record, last)]
        best = max(alike, key=lambda record: record.elpd.elpd)
        rows = [_compared(record, best) for record in alike]
        others = [record for record in self.records if record not in alike]
        rows.sort(key=lambda row: -(row.difference or 0.0))
        return [*rows, *(Row(record=record, difference=None, error=None) for record in others)]


def _comparable(record: Record, other: Record) -> bool:
    labels, wanted = record.elpd.labels, other.elpd.labels
    same = labels.equals(wanted) if labels is not None and wanted is not None else True
    shapes = record.elpd.pointwise.shape == other.elpd.pointwise.shape
    return record.response == other.response and shapes and same


def _compared(record: Record, best: Record) -> Row:
    if record is best:
        return Row(record=record, difference=0.0, error=0.0)
    gaps = np.asarray(record.elpd.pointwise - best.elpd.pointwise)
    difference, error = sum_and_error(gaps, best.elpd.weights)
    return Row(record=record, difference=difference, error=error)
