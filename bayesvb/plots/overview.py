"""A fit at a glance: the conditional distribution, the weights, and the fit against its data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from bayesvb.argument_checks import checked
from bayesvb.distributions.draw_summaries import summarised
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


@checked
def overview(fit: AbstractFit, along: str | None = None) -> Any:
    """Figures of the fit on one grid.

    For numbers: quantiles of the response and weights of the components along a covariate,
    calibration of held-out rows, residuals, replicated data, all of the first response. For
    classes: probabilities along the covariate, and calibration. For variables without a response:
    replicated data of each.

    Parameters
    ----------
    fit : Fit
    along : str, optional
        A covariate of the formula; by default the first one, groups of ``(1 | g)`` last.

    Returns
    -------
    numpy.ndarray of matplotlib.axes.Axes
        In the order of reading; ``axes[0].figure`` is the figure.

    Raises
    ------
    DataError
        If ``along`` is not a covariate.
    """
    import matplotlib.pyplot as plt

    panels = _panels(fit, along)
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


def _panels(fit: AbstractFit, along: str | None) -> list[Panel]:
    """Panels, in order."""
    design = fit.model.design
    if design.response is None:
        return [partial(replicates, fit, response=name) for name in fit.model.observed()]
    if along is not None and along not in design.covariates:
        raise DataError(
            f"along={along!r} is not a covariate of the formula",
            hint=f"it reads {', '.join(design.covariates) or 'none'}",
        )
    others = [name for name in design.covariates if name not in design.groupings]
    first = along or next(iter(others or design.covariates), None)
    if fit.model.response.is_categorical:
        own: list[Panel] = [] if first is None else [partial(_probabilities, fit, first)]
        return [*own, partial(calibration, fit)]
    if fit.model.response.is_probability:
        own = [] if first is None else [partial(_probabilities, fit, first)]
        last = [] if fit.model.response.is_binary else [partial(residual, fit)]
        return [*own, partial(calibration, fit), *last, partial(replicates, fit)]
    name = design.response_names[0]
    seen: list[Panel] = [] if first is None else [partial(quantiles, fit, first, response=name)]
    if first is not None and _has_weights(fit):
        seen.append(partial(weights, fit, first))
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
    found = summarised(draws.reshape(len(draws), -1), held.prob)
    ends = {"estimate": found.centre, "lower": found.lower, "upper": found.upper}
    axes = effects(replace(held, summary=held.summary.assign(**ends), held={}), ax=ax)
    marks.note(axes, rows.words, palette_of(axes))
    return axes
