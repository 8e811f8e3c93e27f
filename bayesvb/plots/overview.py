"""A fit at a glance: the conditional distribution, the weights, and the fit against its data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Shaped

from bayesvb.argument_checks import check_listed, checked
from bayesvb.distributions.draw_summaries import summarised
from bayesvb.distributions.intervals import PROB
from bayesvb.drawing import marks
from bayesvb.drawing.notebooks import shown_once
from bayesvb.drawing.palette import palette_of
from bayesvb.effects.marginal_effects import predictions
from bayesvb.effects.plotting import effects
from bayesvb.errors import DataError
from bayesvb.plots.conditional import quantiles, weights
from bayesvb.plots.curve_rows import curve_rows
from bayesvb.plots.diagnostics import calibration, replicates, residual
from bayesvb.plots.survival import survival
from bayesvb.results.survival_curves import is_right_censored

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bayesvb.results.base import AbstractFit

Panel = Callable[..., object]

Grid = Shaped[np.ndarray, " panels"]
"""Axes of a figure."""


@checked
def overview(fit: AbstractFit, along: str | None = None) -> Grid:
    """Figures of the fit on one grid.

    For numbers: quantiles of the response along each covariate, weights of the components along
    the first, calibration of held-out rows, residuals, replicated data, all of the first response.
    For classes: probabilities along each covariate, and calibration. For variables without a
    response: replicated data of each.

    Parameters
    ----------
    fit : Fit
    along : str, optional
        The covariate to draw; by default up to six, without groups of ``(1 | g)`` if possible.

    Returns
    -------
    numpy.ndarray of matplotlib.axes.Axes
        In the order of reading; ``axes[0].figure`` is the figure.

    Raises
    ------
    DataError
        If ``along`` is not a covariate.
    """
    return _on_grid(_panels(fit, along))


@partial(checked, covariates=check_listed)
def conditional_effects(
    fit: AbstractFit,
    covariates: Sequence[str] | None = None,
    *,
    target: str | None = None,
    prob: float = PROB,
    response: str | None = None,
) -> Grid:
    """Predictions with intervals along each covariate, others at their mean or most frequent level.

    Parameters
    ----------
    fit : Fit
    covariates : sequence of str, optional
        Covariates to draw; by default up to six, without groups of ``(1 | g)`` if possible.
    target : str, optional
        Predicted quantity without an option, such as ``"mean"`` or ``"sd"``; see
        ``bayesvb.effects.predictions``.
    prob : float
        Probability of the intervals.
    response : str, optional
        Name of the response, if there are several; by default the first.

    Returns
    -------
    numpy.ndarray of matplotlib.axes.Axes
        In the order of the covariates; ``axes[0].figure`` is the figure.

    Raises
    ------
    DataError
        If a covariate is not in the formula, or there is none.
    """
    names = _drawn(fit) if covariates is None else list(covariates)
    if not names:
        raise DataError("the formula has no covariates", hint="fit.plot() draws the response")
    for name in names:
        _check_along(fit, name)
    options = {"target": target, "prob": prob}
    options["response"] = response or next(iter(fit.model.design.response_names), None)
    return _on_grid([partial(_predictions, fit, name, options) for name in names])


def _predictions(fit: AbstractFit, name: str, options: Mapping[str, Any], ax: Axes) -> Axes:
    """Predictions along a covariate."""
    return effects(predictions(fit, name, **options), ax=ax)


def _on_grid(panels: Sequence[Panel]) -> Grid:
    """Axes of a figure with these pictures, two in a row."""
    import matplotlib.pyplot as plt

    columns = min(len(panels), 2)
    rows = -(-len(panels) // columns)
    size = (6.0 * columns, 3.8 * rows)
    figure, grid = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    shown_once(figure)
    axes = grid.ravel()
    for panel, ax in zip(panels, axes, strict=False):
        panel(ax=ax)
    for ax in axes[len(panels) :]:
        figure.delaxes(ax)
    return axes[: len(panels)]


def _drawn(fit: AbstractFit) -> list[str]:
    """Covariates to draw by default."""
    design = fit.model.design
    others = [name for name in design.covariates if name not in design.groupings]
    # Covariates to draw by default.
    return (others or list(design.covariates))[:6]


def _check_along(fit: AbstractFit, along: str) -> None:
    """Raise unless this is a covariate."""
    covariates = fit.model.design.covariates
    if along not in covariates:
        raise DataError(
            f"along={along!r} is not a covariate of the formula",
            hint=f"it reads {', '.join(covariates) or 'none'}",
        )


def _panels(fit: AbstractFit, along: str | None) -> list[Panel]:
    """Panels, in order."""
    design = fit.model.design
    if design.response is None:
        return [partial(replicates, fit, response=name) for name in fit.model.observed()]
    if along is not None:
        _check_along(fit, along)
    drawn = _drawn(fit) if along is None else [along]
    panels: list[Panel] = [partial(_probabilities, fit, name) for name in drawn]
    if fit.model.response.is_categorical:
        return [*panels, partial(calibration, fit)]
    if fit.model.response.is_probability:
        last = [] if fit.model.response.is_binary else [partial(residual, fit)]
        return [*panels, partial(calibration, fit), *last, partial(replicates, fit)]
    name = design.response_names[0]
    seen: list[Panel] = [partial(quantiles, fit, one, response=name) for one in drawn]
    if drawn and _has_weights(fit):
        seen.append(partial(weights, fit, drawn[0]))
    seen += [partial(calibration, fit), partial(residual, fit)]
    if not design.is_censored:
        return [*seen, partial(replicates, fit)]
    return [*seen, partial(survival, fit)] if is_right_censored(fit) else seen


def _has_weights(fit: AbstractFit) -> bool:
    """Whether weights of several components depend on covariates."""
    try:
        fit.weights_at(fit.model.design.frame.iloc[:1])
    except DataError:
        return False
    return int(fit.core.n_components) > 1


def _probabilities(fit: AbstractFit, along: str, ax: Axes) -> Axes:
    """Probability of each class along a covariate, the others as a page has them."""
    held = predictions(fit, along)
    values = list(dict.fromkeys(held.summary[along]))
    rows = curve_rows(fit, along, values, None, None)
    if rows.n_each == 1:
        return effects(held, ax=ax)
    each = predictions(fit, data=rows.frame).draws.to_numpy()
    draws = rows.averaged(each.reshape(len(each), len(rows.frame), -1), axis=1)
    summary = summarised(draws.reshape(len(draws), -1), held.prob)
    ends = {"estimate": summary.centre, "lower": summary.lower, "upper": summary.upper}
    axes = effects(replace(held, summary=held.summary.assign(**ends), held={}), ax=ax)
    marks.note(axes, rows.words, palette_of(axes))
    return axes
