"""Survival functions of a right-censored response, drawn: Kaplan-Meier estimate and fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesvb.argument_checks import checked
from bayesvb.drawing import marks
from bayesvb.drawing.palette import palette_of
from bayesvb.results.survival_curves import survival_curves

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bayesvb.results.base import AbstractFit


@checked
def survival(fit: AbstractFit, *, ax: Axes | None = None) -> Axes:
    """Kaplan-Meier estimate of a right-censored response, and the mean survival function of a fit.

    The estimate has pointwise 95% intervals. The curve of the fit should be inside of them, unless
    censoring depends on covariates: the estimate is then biased, and the fit is not.

    Parameters
    ----------
    fit : Fit
    ax : matplotlib.axes.Axes, optional
        Axes of the picture; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    DataError
        If the response is not right censored.

    Examples
    --------
    >>> import bayesvb as bvb
    >>> data = bvb.datasets.load("cps1985").assign(top=lambda d: d["wage"] > 15.0)
    >>> model = bvb.DensityRegression("cens(log(wage), top) ~ education", data, n_components=1)
    >>> axes = bvb.plots.survival(model.fit(seed=1))
    """
    curves = survival_curves(fit)
    axes = marks.new_axes((6.4, 4.0)) if ax is None else ax
    palette = palette_of(axes)
    marks.dress(axes, palette, x=fit.model.design.label(curves.name), y="share of rows above it")
    observed = curves.observed
    band = observed.times, observed.lower, observed.upper
    axes.fill_between(*band, step="post", color=palette.ink, alpha=0.12, linewidth=0)
    start = np.append(curves.points[0], observed.times), np.append(1.0, observed.survival)
    axes.step(*start, where="post", color=palette.ink, linewidth=1.4)
    axes.plot(curves.points, curves.fitted, color=palette.accent, linewidth=1.8)
    axes.set_ylim(0.0, 1.02)
    marks.note(axes, "Kaplan-Meier estimate (dark, 95% intervals), mean over the fit", palette)
    return axes
