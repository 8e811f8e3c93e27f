"""Work of one process: a fit with its answers, or the report of a saved fit.

The page makes tasks, their processes do them: ``fitting.work`` is imported there only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from bayesvb.interactive.reading import sample_of
from bayesvb.interactive.request import Request

QUICK_ROWS = 2000
"""Rows of a quick fit: of 2,000 the picture takes 0.5 s, of 10,000 two seconds."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FitTask:
    """A fit of a request, its picture and its checks, as the work of a process.

    Attributes
    ----------
    request : Request
    frame : pandas.DataFrame
        All rows; a quick fit samples them.
    along : str
        Covariate of the picture; the one that changes the response most if empty.
    path : Path, optional
        Where a full fit is saved; it is read if it is there. A quick one is made without.
    """

    request: Request
    frame: pd.DataFrame = field(repr=False)
    along: str = ""
    path: Path | None = None

    @property
    def is_full(self) -> bool:
        """Whether all rows are fitted."""
        return self.path is not None

    @property
    def rows(self) -> pd.DataFrame:
        """Rows that are fitted."""
        return self.frame if self.is_full else sample_of(self.frame, QUICK_ROWS)

    @property
    def is_repeatable(self) -> bool:
        """Whether the fit is a quick one, or saved."""
        return self.path is None or self.path.exists()


@dataclass(frozen=True, kw_only=True)
class ReportTask:
    """Report of a saved fit, as the work of a process.

    Attributes
    ----------
    path : Path
        File of the fit.
    source : str
        Where the data come from.
    """

    path: Path
    source: str

    @property
    def is_repeatable(self) -> bool:
        """Whether it takes a moment: it does not."""
        return False
