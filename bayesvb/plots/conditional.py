"""The conditional distribution drawn along one covariate: ridges, quantile bands, weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.argument_checks import check_listed, check_names, checked
from bayesvb.data.frames import nearest
from bayesvb.distributions.intervals import PROB, tails
from bayesvb.drawing import marks
from bayesvb.drawing.palette import palette_of
from bayesvb.effects.covariates import Covariate, covariate, value_text
from bayesvb.effects.covariates import quantiles as covariate_quantiles
from bayesvb.effects.curve_settings import CURVES
from bayesvb.errors import DataError
from bayesvb.plots.curve_rows import CurveRows, curve_rows
from bayesvb.results.back_transformation import transformed
from bayesvb.results.limits import LIMITS
from bayesvb.results.local_support import has_support, supported

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bayesvb.distributions.base import AbstractRowDistribution
    from bayesvb.results.base import AbstractFit


@partial(checked, at=check_names, values=check_listed)
def ridges(
    fit: AbstractFit,
    along: str | None = None,
    values: Sequence[object] | np.ndarray | None = None,
    *,
    at: Mapping[str, object] | None = None,
    others: str | None = None,
    response: str | None = None,
    transform: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Predictive densities of the response at some values of a covariate, above one another.

    Each is scaled to the same height: shapes are to be compared, not heights.

    Parameters
    ----------
    fit : Fit
    along : str, optional
        A covariate of the formula; by default the first one that is not a grouping.
    values : sequence, optional
        Its values; by default all levels, or five quantiles of a number.
    at : mapping, optional
        Values of other covariates; by default the mean of a number, the typical group of ``(1 |
        g)``, the most frequent value of anything else.
    response : str, optional
        Which response, if there are several.
    transform : {"inverse", "exp", "expm1", "exp2", "exp10", "expit"}, optional
        Draw this function of the response: ``"inverse"`` inverts the formula's transformation.
    ax : matplotlib.axes.Axes, optional
        Axes of the picture; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    DataError
        If the formula does not use a covariate that is named.
    """
    one = _along(fit, along)
    along = one.name
    days = fit.model.design.in_days
    values = _places(fit, one) if values is None else days(along, list(values))
    rows = curve_rows(fit, along, values, at, others)
    distribution, name, observed = _conditional(fit, rows, response, transform)
    points = np.linspace(*_limits(observed), CURVES.density_points)
    axes = marks.new_axes((6.4, 1.2 + 0.6 * max(len(values), 2))) if ax is None else ax
    palette = palette_of(axes)
    words = [f"{along} = {value_text(value)}" for value in values]
    marks.dress(axes, palette, x=fit.model.design.label(name), y="", grid=None)
    heights = distribution.density_at(points)
    marks.ridges(axes, points, heights, words, colour=palette.accent, line=palette.line)
    axes.set_xlim(points[0], points[-1])
    marks.note(axes, rows.words, palette)
    return axes


@partial(checked, at=check_names)
def quantiles(
    fit: AbstractFit,
    along: str | None = None,
    *,
    at: Mapping[str, object] | None = None,
    others: str | None = None,
    response: str | None = None,
    transform: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Predictive median, central 50% and 90% intervals against a covariate, over the data.

    Hatched where predictions depend on components without rows nearby.

    Parameters
    ----------
    fit, along, at, others, response, transform, ax
        As in ``ridges``.

    Returns
    -------
    matplotlib.axes.Axes
    """
    one = _along(fit, along)
    along = one.name
    values = one.grid(CURVES.points)
    rows = curve_rows(fit, along, values, at, others)
    distribution, name, observed = _conditional(fit, rows, response, transform)
    result = distribution.quantile(np.array(CURVES.quantiles))
    axes = marks.new_axes((6.8, 4.2)) if ax is None else ax
    palette = palette_of(axes)
    label = fit.model.design.label
    marks.dress(axes, palette, x=label(along), y=label(name))
    _cloud(axes, fit.model.design.frame[along], one, observed, palette.point)
    axes.set_ylim(*_limits(np.concatenate([observed, result.ravel()])))
    if one.discrete:
        x = np.arange(len(values), dtype=float)
        marks.quantile_bars(axes, x, result, colour=palette.accent, ink=palette.ink)
        marks.level_ticks(axes, [value_text(value) for value in values])
    else:
        marks.ribbons(axes, np.array(values, dtype=float), result, palette.accent)
        if has_support(fit):
            seen = rows.averaged(supported(fit, rows.frame).astype(float)) > CURVES.supported
            marks.hatched(axes, np.array(values, dtype=float), ~seen, palette.line)
        axes.margins(x=0.01)
        words = [f"{100 * prob:g}%" if prob != 0.5 else "median" for prob in CURVES.quantiles]
        marks.end_labels(axes, result[:, -1].tolist(), words, [palette.accent] * len(words))
    marks.note(axes, rows.words, palette)
    return axes


@partial(checked, at=check_names)
def weights(
    fit: AbstractFit,
    along: str | None = None,
    *,
    at: Mapping[str, object] | None = None,
    others: str | None = None,
    prob: float = PROB,
    ax: Axes | None = None,
) -> Axes:
    """Weights of the components against a covariate: means of the draws, and bands.

    Components whose weight is never above 1% are omitted.

    Parameters
    ----------
    fit, along, at, others, ax
        As in ``ridges``.
    prob : float
        Probability of the equal-tailed bands.

    Returns
    -------
    matplotlib.axes.Axes
    """
    one = _along(fit, along)
    along = one.name
    values = one.grid(CURVES.points)
    rows = curve_rows(fit, along, values, at, others)
    draws = rows.averaged(fit.weights_at(rows.frame), axis=1)
    lines = np.stack([draws.mean(axis=0), *np.quantile(draws, tails(prob), axis=0)])
    shown = [k for k in range(lines.shape[2]) if lines[0, :, k].max() >= LIMITS.negligible_weight]
    axes = marks.new_axes((6.4, 3.8)) if ax is None else ax
    palette = palette_of(axes)
    marks.dress(axes, palette, x=fit.model.design.label(along), y="weight of the component")
    axes.set_ylim(-0.02, 1.02)
    mark = marks.barred_points if one.discrete else marks.banded_curve
    x = np.arange(len(values), dtype=float) if one.discrete else np.array(values, dtype=float)
    for place, k in enumerate(shown):
        shift = marks.dodged(place, len(shown)) if one.discrete else 0.0
        mark(axes, x + shift, list(lines[:, :, k]), k, colour=palette.colour(k), label=str(k + 1))
    if one.discrete:
        marks.level_ticks(axes, [value_text(value) for value in values])
        marks.legend(axes, palette, "component")
    else:
        axes.margins(x=0.01)
        marks.end_labels(axes, lines[0, -1, shown].tolist(), [str(k + 1) for k in shown],
                         [palette.colour(k) for k in shown])  # fmt: skip
    marks.note(axes, rows.words, palette)
    return axes


def _along(fit: AbstractFit, name: str | None) -> Covariate:
    """The covariate of this name; by default the first one that is not a grouping."""
    design = fit.model.design
    known = design.covariates
    if name is None and known:
        name = next((one for one in known if one not in design.groupings), known[0])
    if name not in known:
        raise DataError(
            f"along={name!r} is not a covariate of the formula",
            hint=nearest(str(name), list(known)) if known else "the formula reads none",
        )
    return covariate(fit.model.design, name)


def _places(fit: AbstractFit, one: Covariate) -> list[object]:
    if one.discrete:
        return list(one.values)
    result = covariate_quantiles(fit.model.design, one.name, CURVES.quantiles)
    return [float(value) for value in dict.fromkeys(result)]


def _conditional(
    fit: AbstractFit, rows: CurveRows, response: str | None, transform: str | None
) -> tuple[AbstractRowDistribution, str, Float[np.ndarray, " rows"]]:
    """Distributions of a response at each value, its name, and its observed values."""
    predictive = rows.predictive(fit, response)
    name = next(iter(fit.model.observed())) if response is None else response
    return transformed(fit, predictive, transform, name)


def _limits(values: Float[np.ndarray, " some"]) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    return low - CURVES.margin * (high - low), high + CURVES.margin * (high - low)


def _cloud(
    axes: Axes, column: pd.Series, one: Covariate, y: Float[np.ndarray, " rows"], colour: str
) -> None:
    """Rows as points, rows of a level spread horizontally."""
    step = max(len(y) // LIMITS.subsample, 1)
    if one.discrete:
        place = {value: number for number, value in enumerate(one.values)}
        x = np.array([place.get(value, np.nan) for value in column], dtype=float)
        x += CURVES.level_width * (2.0 * ((np.arange(len(x)) * 0.6180339887498949) % 1.0) - 1.0)
    else:
        x = column.to_numpy(dtype=float)
    size, alpha = (14.0, 0.75) if len(y) <= 400 else (8.0, 0.5)
    axes.scatter(x[::step], y[::step], s=size, alpha=alpha, linewidths=0, color=colour)
