"""Survival: Kaplan-Meier estimate of a right-censored response and the fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesvb.results.survival_curves import SurvivalCurves, is_right_censored, survival_curves

from ..cells.plain import Summary
from ..figures.plot import Canvas, number_axis, plotted, staircase

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit


def summary(fit: AbstractFit) -> Summary | None:
    """Both survival functions, and how often they agree; None of other responses."""
    if not is_right_censored(fit):
        return None
    found = survival_curves(fit)
    return {"name": found.name, "inside": 100.0 * found.inside, "curves": _curves(found)}


def _curves(found: SurvivalCurves) -> Summary:
    own = found.observed
    canvas = Canvas(number_axis(found.points[0], found.points[-1]), number_axis(0.0, 1.02))
    low, high = (staircase(own.times, ends)[1] for ends in (own.lower, own.upper))
    canvas.band("shade grey", staircase(own.times, own.times)[0], low, high)
    observed = np.append(found.points[0], own.times), np.append(1.0, own.survival)
    canvas.line("curve ink", *staircase(*observed))
    canvas.line("curve", found.points, found.fitted)
    alt = (
        f"Survival functions of {found.name}, of the data and of the fit, which is inside the "
        f"intervals at {100 * found.inside:.0f}% of the steps."
    )
    caption = (
        "Share of rows above each value: Kaplan-Meier estimate with pointwise 95% intervals, and "
        "the mean of the predictive distributions of the rows."
    )
    return plotted(
        canvas,
        x=found.name,
        y="share of rows above it",
        alt=alt,
        caption=caption,
        legend=[("Kaplan-Meier", "ink"), ("mean over the fit", "")],
    )
