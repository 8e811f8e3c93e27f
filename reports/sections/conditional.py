"""Conditional density: quantiles and whole densities of the response along one covariate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from bayesvb.data.parts import MEAN
from bayesvb.distributions.base import AbstractRowDistribution
from bayesvb.effects.covariates import quantiles
from bayesvb.effects.curve_settings import CURVES
from bayesvb.results.groups import predictive_of_any_group
from bayesvb.results.local_support import has_support, supported
from bayesvb.results.subsampling import sample

from ..cells.names import called, cut
from ..cells.numerals import counted, numeral, percent, significant
from ..cells.plain import Summary
from ..cells.tables import table
from ..figures.histogram import fitted_histogram
from ..figures.plot import LONGEST_NAME, Axis, Canvas, covariate_axis, number_axis, plotted
from ..figures.probability_curve import probability_curve
from ..figures.scatter import places
from ..rows.contrasts import main_covariate
from ..rows.profiles import (
    Covariate,
    Profile,
    compared,
    covariate,
    labels,
    profile,
    quantiles_moved,
)
from ..rows.sampling import POINTS_SHOWN, choice_note, predictive_at, regresses
from ..rows.unseen import unseen, unseen_words

if TYPE_CHECKING:
    from bayesvb.formula.design import Design
    from bayesvb.results.base import AbstractFit

MOST_GROUPS, GROUP_POINTS = 30, 17
"""Groups whose means are drawn, and places along the covariate at which."""

DENSITY_POINTS = 161

RIDGE, HEIGHT = 2.6, 0.86
"""Height in rem of the row of a density, and the part of it that its highest point takes."""

VISIBLE = 0.02
"""Height of a hump above the dips next to it, relative to the largest, that is visible."""

MARGIN = 0.08
"""Part of the data's range by which axes go beyond it."""


def short(fit: AbstractFit, along: str | None = None) -> Summary | None:
    """Picture of each response; None without a numeric response.

    Parameters
    ----------
    fit : Fit
    along : str, optional
        Covariate of the pictures; by default the one with the largest change of each response.
    """
    if not regresses(fit) or fit.model.response.level_names:
        return None
    return {"responses": [_picture(fit, name, along) for name in fit.model.design.response_names]}


def summary(fit: AbstractFit, along: str | None = None) -> Summary | None:
    """Bands, densities and a table for each response."""
    first = short(fit, along)
    if first is None:
        return None
    each = [{**one, **_details(fit, one["name"], one["along"])} for one in first["responses"]]
    return {"compared": len(compared(fit.model.design)), "responses": each}


def _observed(fit: AbstractFit, name: str) -> Float[np.ndarray, " rows"]:
    design = fit.model.design
    return design.responses[:, design.response_names.index(name)]


def _picture(fit: AbstractFit, name: str, along: str | None) -> Summary:
    """Bands along the covariate that changes a response most, or its histogram if none does."""
    along, values = along or main_covariate(fit, quantiles_moved, name), _observed(fit, name)
    is_probability = fit.model.response.is_probability
    if along is None:
        bands = None if is_probability else fitted_histogram(fit, name, values)
    elif is_probability:
        bands = probability_curve(fit, profile(fit, along), name)
    else:
        bands = _bands(fit, profile(fit, along), name, values)
    return {"name": name, "along": along, "bands": bands}


def _details(fit: AbstractFit, name: str, along: str | None) -> Summary:
    """Densities and a table at a few values of the covariate."""
    design = fit.model.design
    label = design.label(name)
    if along is None:
        index, one = pd.Index(["every row"], name=""), predictive_at(fit, np.array([0]), name)
        return {"densities": None, "table": _table(index, one, label, "")}
    if fit.model.response.is_probability:
        return {"densities": None, "table": None}
    few = profile(fit, along, _places(design, covariate(design, along)))
    at_few = few.predictive(fit, name)
    index = pd.Index(labels(few.values), name=design.label(along))
    return {
        "densities": None
        if fit.model.response.is_discrete
        else _densities(index, at_few, label, _observed(fit, name), few.fixed),
        "table": _table(index, at_few, label, few.fixed),
    }


def _places(design: Design, one: Covariate) -> list[object]:
    """Levels, or quantiles of a number without duplicates."""
    if one.discrete:
        return list(one.values)[:6]
    found = quantiles(design, one.name, CURVES.quantiles)
    return [float(value) for value in dict.fromkeys(found)]


def _limits(values: Float[np.ndarray, " rows"]) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    margin = MARGIN * (high - low)
    return low - margin, high + margin


def _bands(
    fit: AbstractFit, curve: Profile, name: str, values: Float[np.ndarray, " rows"]
) -> Summary:
    """Quantiles of the response along a covariate, over the rows."""
    design, one = fit.model.design, curve.covariate
    found = curve.predictive(fit, name).quantile(np.array(CURVES.quantiles))
    chosen = sample(fit, POINTS_SHOWN)
    leans = has_support(fit)
    alone = ~supported(fit, curve.frame) if leans else unseen(fit, curve)
    across, n_outside = covariate_axis(design, one)
    low, high = _limits(values)
    canvas = Canvas(across, number_axis(low, high))
    canvas.dots("pts", places(design.frame, one, chosen.at), values[chosen.at])
    lines = _draw_groups(canvas, fit, curve, name)
    _draw_quantiles(canvas, curve, found, alone)
    fixed = f" Other covariates {curve.fixed}; the points are all rows." if curve.fixed else ""
    shapes = (
        "Dot: median; thick bar: middle 50%; thin bar: middle 90%"
        if one.discrete
        else "Line: median; dark band: middle 50%; light band: middle 90%"
    )
    note = choice_note("Points:", chosen)
    if design.is_censored:
        note = f"{note} Censored rows stand where they were censored."
    shown = (curve.x >= across.low) & (curve.x <= across.high)
    far = _remote(alone[shown]) if leans else unseen_words(alone[shown], curve, "Pale")
    beyond = found.min() < low or found.max() > high
    cut = " Bands continue beyond the picture." if beyond else ""
    rows = (
        f" The axis covers 99% of the rows; {counted(n_outside, 'row')} lie outside."
        if n_outside
        else ""
    )
    y, x = called(design, name), called(design, one.name)
    caption = f"{shapes} of {y} given {x}, over the data.{lines}{cut}{rows}{fixed}{note}{far}"
    medians = f"{numeral(float(found[2, 0]))} to {numeral(float(found[2, -1]))}"
    alt = (
        f"Predictive quantiles of {y} against {x}; from its first to its last value the "
        f"median goes from {medians}."
    )
    return plotted(canvas, x=design.label(one.name), y=design.label(name), alt=alt, caption=caption)


def _draw_groups(canvas: Canvas, fit: AbstractFit, curve: Profile, name: str) -> str:
    """Means of groups under the bands of a new group, and their sentence of the caption."""
    design = fit.model.design
    groupings = [term.grouping for term in design.group_terms(MEAN) if term.grouping in curve.frame]
    if not groupings or curve.covariate.discrete or curve.n_each > 1:
        return ""
    known = design.frame[groupings[0]].unique()
    shown = known[np.linspace(0, len(known) - 1, min(len(known), MOST_GROUPS)).astype(int)]
    at = np.linspace(0, len(curve.x) - 1, GROUP_POINTS).astype(int)
    points = curve.frame.iloc[at]
    frame = pd.concat([points.assign(**{groupings[0]: group}) for group in shown])
    means = predictive_of_any_group(fit, frame, name).mean().reshape(len(shown), len(at))
    for mean in means:
        canvas.line("own", curve.x[at], mean)
    some = f"{len(shown)} of " if len(shown) < len(known) else ""
    whose = called(design, groupings[0])
    return f" Thin lines: means of {some}{counted(len(known), 'group')} of {whose}."


def _draw_quantiles(
    canvas: Canvas,
    curve: Profile,
    found: Float[np.ndarray, "5 points"],
    alone: Bool[np.ndarray, " points"],
) -> None:
    """Bars at levels, or bands along a number with the names of the quantiles at their ends."""
    if curve.covariate.discrete:
        canvas.bars("thin", curve.x, found[0], found[4])
        canvas.bars("thick", curve.x, found[1], found[3])
        canvas.dots("median", curve.x, found[2])
        return
    canvas.band("b1", curve.x, found[0], found[4])
    canvas.band("b2", curve.x, found[1], found[3])
    canvas.columns("alone", curve.x, alone)
    canvas.line("med", curve.x, found[2])
    last = int(np.flatnonzero(curve.x <= canvas.x.high)[-1])
    for row, text in enumerate(("5%", "25%", "median", "75%", "95%")):  # equal ones in this order
        canvas.end(float(found[row, last]), text, "s" if row == 2 else "")


def _remote(alone: Bool[np.ndarray, " points"]) -> str:
    """Sentence about the places where components with weight have no observations nearby."""
    if not alone.any():
        return ""
    return (
        f" Pale ({percent(float(alone.mean()))} of the curve): extrapolation. Few observations are "
        "nearby, and predictions depend on the component regressions and the priors."
    )


def _densities(
    index: pd.Index,
    distribution: AbstractRowDistribution,
    name: str,
    values: Float[np.ndarray, " rows"],
    fixed: str,
) -> Summary:
    """Densities above one another, each on its own line."""
    points = np.linspace(*_limits(values), DENSITY_POINTS)
    heights = distribution.density_at(points)

    ticks = [(float(i), cut(word, LONGEST_NAME)) for i, word in enumerate(index)]
    up = Axis(-0.05, float(len(index)), ticks, RIDGE)
    canvas = Canvas(number_axis(points[0], points[-1]), up)
    scaled = HEIGHT * heights / np.maximum(heights.max(axis=0), np.finfo(float).tiny)
    for base, curve in enumerate(scaled.T):
        canvas.band("b2", points, np.full(len(points), float(base)), base + curve)
        canvas.line("curve", points, base + curve)
    modes = [numeral(float(one)) for one in points[heights.argmax(axis=0)]]
    alt = f"Predictive densities of {name}. Highest point: " + "; ".join(
        f"{mode} at {index.name} = {word}" for mode, word in zip(modes, index, strict=True)
    )
    other = f" Other covariates {fixed}." if fixed else ""
    humps = " Several modes: several kinds of rows." if _n_humps(heights) > 1 else ""
    caption = f"Predictive density of {name}, each curve scaled to the same height.{humps}{other}"
    return plotted(canvas, x=name, y=str(index.name), alt=alt, caption=caption)


def _n_humps(heights: Float[np.ndarray, "points rows"]) -> int:
    """Humps that can be seen of the density that has the most of them."""
    return max(_humps(own, VISIBLE * float(own.max())) for own in heights.T)


def _humps(curve: Float[np.ndarray, " points"], visible: float) -> int:
    """Maxima of a curve, between two of which it falls by a visible height and rises again.

    Examples
    --------
    >>> _humps(np.array([0.0, 1.0, 0.5, 0.9, 0.0]), 0.3), _humps(np.array([1.0, 0.8, 1.0]), 0.3)
    (2, 1)
    """
    count, low, high, rises = 0, 0.0, 0.0, True
    for height in [*curve.tolist(), 0.0]:
        low, high = min(low, height), max(high, height)
        if rises and high - height >= visible:
            count, rises, low = count + 1, False, height
        elif not rises and height - low >= visible:
            rises, high = True, height
    return count


def _table(
    index: pd.Index, distribution: AbstractRowDistribution, name: str, fixed: str
) -> Summary:
    quantiles = distribution.quantile(np.array(CURVES.quantiles))
    columns = {"mean": distribution.mean(), "sd": distribution.sd()}
    columns |= {f"{100 * p:g}%": row for p, row in zip(CURVES.quantiles, quantiles, strict=True)}
    frame = pd.DataFrame(columns, index=index)
    width = float(np.median(quantiles[4] - quantiles[0]))
    other = f" Other covariates {fixed}." if fixed else ""
    caption = f"Predictive mean, standard deviation and quantiles of {name}.{other}"
    if np.isinf(frame["sd"]).any():
        frame = frame.drop(columns="sd")
        caption = caption.replace(", standard deviation and", " and") + (
            " The standard deviation is infinite: the tails of a component with almost no rows are "
            "too heavy, however small its weight."
        )
    return table(frame, caption, decimals=dict.fromkeys(frame.columns, significant([width], 3)))
