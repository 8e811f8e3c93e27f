"""Coverage of prediction intervals for held-out groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from jaxtyping import Bool, Float, Int

from bayesvb.data.parts import MEAN
from bayesvb.results.groups import predictive_of_any_group

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

FOLDS = 5
"""Parts of the groups, each predicted by a fit to the other ones."""

FEWEST_GROUPS, MOST_ROWS = 10, 5_000
"""Groups from which a share of them is estimated, and rows up to which five fits take less than a
second."""

TAIL = 0.05
"""Probability on either side of an interval."""


@dataclass(frozen=True, kw_only=True)
class NewGroups:
    """Rows of left-out groups that lie inside their 90% intervals.

    Attributes
    ----------
    share, standard_error : float
        Share of the rows, and its standard error over groups.
    n_groups : int
    """

    share: float
    standard_error: float
    n_groups: int


def new_group_coverage(fit: AbstractFit) -> NewGroups | None:
    """Coverage of intervals for rows of groups on which the fit is not based.

    None unless one component describes one continuous response by effects of one grouping, with at
    least ten groups, at most 5,000 rows and no weights.
    """
    names = {term.grouping for term in fit.model.design.group_terms(MEAN)}
    if len(names) != 1 or not _is_testable(fit) or not names <= set(fit.model.design.frame):
        return None
    codes, groups = fit.model.design.frame[names.pop()].factorize()
    if len(groups) < FEWEST_GROUPS:
        return None
    inside = _inside(fit, np.asarray(codes))
    n_rows = np.bincount(codes)
    share = float(inside.mean())
    deviations = np.bincount(codes, weights=inside) - share * n_rows
    error = float(np.sqrt((deviations**2).sum()) / len(inside))
    return NewGroups(share=share, standard_error=error, n_groups=len(groups))


def _is_testable(fit: AbstractFit) -> bool:
    """Whether a few refits are quick, and their intervals hold a response or not."""
    model = fit.model
    return (
        model.size == 1
        and model.response.kind == "continuous"
        and len(model.design.response_names) == 1
        and model.design.n_rows == model.source.n_rows <= MOST_ROWS
        and model.design.interval is None
        and model.weights is None
        and not fit.is_point_estimate
    )


def _inside(fit: AbstractFit, codes: Int[np.ndarray, " rows"]) -> Bool[np.ndarray, " rows"]:
    """Whether the response of each row is in its interval, by folds of the groups."""
    data, refittable = fit.model.design.given, cast(Any, fit)
    observed: Float[np.ndarray, " rows"] = np.asarray(fit.model.design.response, float)[:, 0]
    inside = np.zeros(len(codes), dtype=bool)
    for fold in range(FOLDS):
        left_out = codes % FOLDS == fold
        other = refittable.refit(data=data[~left_out])
        found = predictive_of_any_group(other, data[left_out]).cdf(observed[left_out])
        inside[left_out] = (found > TAIL) & (found < 1.0 - TAIL)
    return inside
