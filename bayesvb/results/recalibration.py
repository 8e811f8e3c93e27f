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
from bayesvb.results.pit import check_continuous, pit_values
from bayesvb.results.pit_without_groups import check_answers, chosen_groups, without_groups
from bayesvb.results.units import grouping_of

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit


def recalibrations(fit: AbstractFit) -> tuple[Recalibration, ...]:
    """Map of each response, from the PIT values of rows left out (of a choice of very many).

    Rows that come in groups are left out with their whole group.
    """
    check_continuous(fit)
    if grouping_of(fit.model) is not None:
        values, weight = without_groups(fit, chosen_groups(fit))
        return tuple(Recalibration.of(each, weight) for each in values)
    at = every_row(fit.model.source.n_rows, fit.seed)
    weights = fit.model.weights
    chosen = None if weights is None else weights[at]
    return tuple(Recalibration.of(each, chosen) for each in pit_values(fit, at))


def check_recalibrated(fit: AbstractFit, calibrated: object, kind: str) -> None:
    """Raise unless this kind of prediction can be recalibrated.

    Raises
    ------
    DataError
        If ``calibrated`` is not known, no response is numeric, the kind is another one, or
        rows come in groups and there is no posterior without each.
    """
    if calibrated is not True:
        raise DataError(
            f"calibrated={calibrated!r} is not known",
            hint="calibrated=True, or calibrated='jackknife+' with kind='interval'",
        )
    check_continuous(fit)
    if kind not in RECALIBRATED_KINDS:
        raise not_recalibrated(kind)
    if grouping_of(fit.model) is not None:
        check_answers(fit)
