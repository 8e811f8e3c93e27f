"""Recalibrated predictions of a fit: what is asked for, and the maps that its rows give."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayesvb.distributions.recalibration import (
    RECALIBRATED_KINDS,
    Recalibration,
    not_recalibrated,
)
from bayesvb.errors import DataError
from bayesvb.results.leave_one_out import every_row
from bayesvb.results.pit import check_numeric, check_rows_alone, pit_values

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit


def recalibrations(fit: AbstractFit) -> tuple[Recalibration, ...]:
    """Map of each response, from the PIT values of rows left out (of a choice of very many)."""
    check_numeric(fit)
    at = every_row(fit.model.source.n_rows, fit.seed)
    weights = fit.model.weights
    chosen = None if weights is None else weights[at]
    return tuple(Recalibration.of(each, chosen) for each in pit_values(fit, at))


def check_recalibrated(fit: AbstractFit, calibrated: object, kind: str) -> None:
    """Raise unless this kind of prediction can be recalibrated.

    Raises
    ------
    DataError
        If ``calibrated`` is not known, no response is numeric, or the kind is another one.
    """
    if calibrated is not True:
        raise DataError(
            f"calibrated={calibrated!r} is not known",
            hint="calibrated=True, or calibrated='jackknife+' with kind='interval'",
        )
    check_numeric(fit)
    check_rows_alone(fit, calibrated)
    if kind not in RECALIBRATED_KINDS:
        raise not_recalibrated(kind)
