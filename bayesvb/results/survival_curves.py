"""Survival functions of a right-censored response: Kaplan-Meier estimate, and mean over a fit."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from bayesvb.errors import DataError
from bayesvb.evaluation.kaplan_meier import KaplanMeier, kaplan_meier
from bayesvb.numerics.arrays import PointVector
from bayesvb.results.back_transformation import original, untransformed
from bayesvb.results.limits import LIMITS
from bayesvb.results.subsampling import sample

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit


@dataclass(frozen=True)
class SurvivalCurves:
    """Survival functions of a response, in the units of the data.

    Attributes
    ----------
    name : str
    observed : KaplanMeier
    points, fitted : ndarray, shape (points,)
        Mean over the rows of the predictive probability of a larger value.
    inside : float
        Share of the steps at which the curve of the fit is in the interval of the estimate.
    """

    name: str
    observed: KaplanMeier
    points: PointVector
    fitted: PointVector
    inside: float


def is_right_censored(fit: AbstractFit) -> bool:
    """Whether rows are censored, and all of these on the right."""
    ends = fit.model.design.interval
    return ends is not None and bool(np.isinf(ends[:, 1]).any()) and not ends[:, 0].any()


def survival_curves(fit: AbstractFit) -> SurvivalCurves:
    """Kaplan-Meier estimate of a response, and the mean survival function of a fit.

    Both are of the rows of the fit, of a random choice of very many. They agree where the fit is
    right and censoring does not depend on the covariates.

    Raises
    ------
    DataError
        If the response is not right censored.
    """
    if not is_right_censored(fit):
        raise DataError(
            "a Kaplan-Meier curve needs a right-censored response",
            hint="for other responses use bvb.plots.calibration(fit) or bvb.plots.replicates(fit)",
        )
    design, at = fit.model.design, sample(fit, LIMITS.quick_subsample).at
    name, values = design.response_names[0], design.responses[at, 0]
    weights = None if fit.model.weights is None else fit.model.weights[at]
    observed = kaplan_meier(values, ~design.hidden[at], weights)
    law = fit.predictive(design.data_at(at))
    # Points of the curve of a fit.
    points = np.linspace(values.min(), values.max(), 200)
    below = np.average(law.cdf_at(points), axis=1, weights=weights)
    steps = np.interp(observed.times, points, 1.0 - below)
    highest = np.maximum(np.append(1.0, observed.upper[:-1]), observed.upper)  # before the step
    inside = (steps >= observed.lower) & (steps <= highest)
    return SurvivalCurves(
        untransformed((name,))[0],
        replace(observed, times=original(name, observed.times)),
        original(name, points),
        1.0 - below,
        float(inside.mean()),
    )
