"""Predictive distributions for new groups, integrated over the distribution of groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit


def predictive_of_any_group(fit: AbstractFit, rows: object, response: str | None = None) -> Any:
    """Predictive distribution of rows, those of new groups integrated over all groups.

    What stands beside rows of all groups: nine of ten are within its middle 90 %, of which the
    typical group alone has a part.
    """
    if not fit.model.design.groupings:
        return fit.predictive(rows, response=response)
    with_groups: Any = fit
    return with_groups.predictive(rows, response=response, new_groups="marginal")
