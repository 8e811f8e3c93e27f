"""New rows whose covariates lie beyond the rows of the fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bayesvb.data.frames import as_frame
from bayesvb.errors import ExtrapolationWarning, warn

if TYPE_CHECKING:
    from bayesvb.formula.design import Design

POLICIES = ("warn", "keep")
"""Treatment of new rows beyond the rows of the fit."""


@dataclass(frozen=True, kw_only=True)
class ExtrapolationLimits:
    """When new rows are beyond the rows of the fit.

    Of tables of new rows like the 100 rows of a fit with five normal covariates, less than 3% have
    a warning, however many rows they have (``tests/results/test_extrapolation.py``).
    """

    margin: float = 0.2
    """Proportion of a column's range by which a value lies outside the range."""

    rows: float = 0.1
    """Proportion of the new rows that may lie outside without a warning."""

    most_named: int = 3
    """Columns that the warning names."""


BEYOND = ExtrapolationLimits()


def warn_beyond(design: Design, data: object) -> None:
    """Warn if several new rows lie beyond the range of a numeric covariate in the fit."""
    new = as_frame(data)
    columns = {name: _beyond(design, name, new[name]) for name in design.covariates if name in new}
    counts = {name: int(beyond.sum()) for name, beyond in columns.items() if beyond.any()}
    if not counts:
        return
    n_rows = int(np.any([columns[name] for name in counts], axis=0).sum())
    if n_rows <= BEYOND.rows * len(new):
        return
    names = sorted(counts, key=lambda name: -counts[name])
    more = len(names) - BEYOND.most_named
    listed = ", ".join(_described(design, name) for name in names[: BEYOND.most_named])
    listed += f" and {more} more column{'s' * (more > 1)}" if more > 0 else ""
    warn(
        f"{n_rows:,} of {len(new):,} rows ({100 * n_rows / len(new):.0f}%) are beyond the data of "
        f"the fit: {listed}; their predictions are extrapolations, extrapolation='keep' accepts "
        "them",
        ExtrapolationWarning,
    )


def _beyond(design: Design, name: str, column: pd.Series) -> np.ndarray:
    """Whether each new value of a numeric covariate is outside the range by more than a margin."""
    known = design.frame[name]
    if known.dtype.kind not in "iuf" or name in design.groupings:
        return np.zeros(len(column), dtype=bool)
    days = pd.Series(design.in_days(name, list(column)))
    values = pd.to_numeric(days, errors="coerce").to_numpy(dtype=float)
    low, high = float(known.min()), float(known.max())
    margin = BEYOND.margin * (high - low)
    return np.asarray((values < low - margin) | (values > high + margin))


def _described(design: Design, name: str) -> str:
    """A column and its range in the fit, dates as dates."""
    column = design.frame[name]
    low, high = (design.date_of(name, float(end)) for end in (column.min(), column.max()))
    shown = (f"{end:g}" if isinstance(end, float) else str(end) for end in (low, high))
    return f"`{name}` ({' to '.join(shown)})"
