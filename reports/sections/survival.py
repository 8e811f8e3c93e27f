"""Survival: Kaplan-Meier estimate of a right-censored response beside the fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesvb.results.survival_curves import SurvivalCurves, is_right_censored, survival_curves

from ..cells.plain import Summary
from ..figures.svg import BAND, INK, MUTE, axes_of, drawn

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from bayesvb.results.base import AbstractFit


def summary(fit: AbstractFit) -> Summary | None:
    """Both survival functions, and how often they agree; None of other responses."""
    if not is_right_censored(fit):
        return None
    found = survival_curves(fit)
    return {"name": found.name, "inside": 100.0 * found.inside, "curves": _curves(found)}


def _curves(found: SurvivalCurves) -> Summary:
    own = found.observed

    def draw(figure: Figure) -> None:
        axes = axes_of(figure, x=found.name, y="share of rows above it", grid="y")
        axes.fill_between(own.times, own.lower, own.upper, step="post", color=MUTE, alpha=0.25,
                          linewidth=0)  # fmt: skip
        steps = np.append(found.points[0], own.times), np.append(1.0, own.survival)
        axes.step(*steps, where="post", color=INK, linewidth=1.4, label="Kaplan-Meier")
        axes.plot(found.points, found.fitted, color=BAND, linewidth=2.0, label="mean over the fit")
        axes.set_ylim(0.0, 1.02)
        axes.legend(loc="upper left", bbox_to_anchor=(0.0, 1.16), ncols=2)

    alt = (
        f"Survival functions of {found.name}, of the data and of the fit, which is inside the "
        f"intervals at {100 * found.inside:.0f}% of the steps."
    )
    caption = (
        "Share of rows above each value: Kaplan-Meier estimate with pointwise 95% intervals, and "
        "the mean of the predictive distributions of the rows."
    )
    return drawn(draw, alt=alt, caption=caption)
