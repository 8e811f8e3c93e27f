"""Class probabilities along a covariate, over the observed shares of the classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from bayesvb.distributions.intervals import PROB
from bayesvb.results.subsampling import sample

from ..cells.names import called, cut
from ..cells.numerals import percent
from ..cells.plain import Summary
from ..rows.bins import Bin, bins
from ..rows.profiles import Profile
from ..rows.sampling import POINTS_SHOWN, choice_note
from ..rows.unseen import unseen, unseen_words
from .plot import Axis, Canvas, covariate_axis, number_axis, plotted, series

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

MARGIN = 0.04
"""Height above 1 and below 0, where half of a line would be cut off."""

DODGED = 0.4
"""Width over which the classes are spread at a level."""


@dataclass(frozen=True)
class ClassCurve:
    """Probability of one class along a covariate, and how often the class was observed.

    Attributes
    ----------
    number : int
        Position of the class among all.
    name : str
    mean, low, high : array, shape (values,)
        Probability and ends of its interval at each value of the covariate.
    """

    number: int
    name: str
    mean: Float[np.ndarray, " values"]
    low: Float[np.ndarray, " values"]
    high: Float[np.ndarray, " values"]


def class_curves(fit: AbstractFit, rows: Profile, curves: Sequence[ClassCurve]) -> Summary:
    """Figure of some classes.

    Parameters
    ----------
    fit : Fit
        Of a response with classes or ordered levels.
    rows : Profile
        Rows in which the covariate varies.
    curves : sequence of ClassCurve
    """
    design, one = fit.model.design, rows.covariate
    name = called(design, one.name)
    alone, chosen = unseen(fit, rows), sample(fit, POINTS_SHOWN)
    across, _ = covariate_axis(design, one)
    ticks = number_axis(0.0, 1.0).ticks
    canvas = Canvas(across, Axis(-MARGIN, 1.0 + MARGIN, ticks))
    found = bins(design, one.name, chosen.at)
    _draw(canvas, rows, curves, found, class_numbers(fit)[chosen.at])
    canvas.columns("alone", rows.x, alone)
    levels, noun = fit.model.response.level_names, "level"
    if fit.model.response.is_categorical:
        noun = "class"
    shape = "dots and bars" if one.discrete else "lines and bands"
    where = f"{'levels' if one.discrete else 'ranges'} of {name}"
    left = len(levels) - len(curves)
    hidden = f" {left} that move less are not drawn." if left and len(curves) > 1 else ""
    caption = (
        f"Predicted {noun} probabilities as {name} changes ({shape}: posterior mean and "
        f"{percent(PROB)} intervals). Strokes: observed shares of the rows in {where}."
        f"{f' Other covariates {rows.fixed}.' if rows.fixed else ''}"
        f"{unseen_words(alone, rows, 'Pale')}{hidden}{choice_note('Shares:', chosen)}"
    )
    only = len(curves) == 1
    return plotted(
        canvas,
        x=design.label(one.name),
        y=_axis(fit, curves[0]) if only else "probability",
        alt=_alt(name, curves),
        caption=caption,
        legend=[] if only else [(curve.name, series(curve.number)) for curve in curves],
    )


def _axis(fit: AbstractFit, curve: ClassCurve) -> str:
    """Title of the axis of one curve: the response and the class."""
    design = fit.model.design
    return f"probability of {called(design, design.response_names[0])} = {cut(curve.name)}"


def class_numbers(fit: AbstractFit) -> Int[np.ndarray, " rows"]:
    """Position of the observed class of each row."""
    response, order = np.asarray(fit.model.design.response), fit.model.response.order
    return np.asarray(order.places(response[:, 0]) if order.values else response.astype(int))


def _draw(
    canvas: Canvas,
    rows: Profile,
    curves: Sequence[ClassCurve],
    found: Sequence[Bin],
    numbers: Int[np.ndarray, " rows"],
) -> None:
    """Observed shares as strokes over the width of their bins, under the curves."""
    discrete = rows.covariate.discrete
    ends = np.array([[one.low, one.high] for one in found]).reshape(-1, 2)
    for place, curve in enumerate(curves):
        shift, kind = 0.0, series(curve.number if len(curves) > 1 else 0)
        if discrete:
            shift = DODGED * ((place + 0.5) / len(curves) - 0.5)
            half = 0.45 * DODGED / len(curves)
            low, high = ends[:, 0] + shift - half, ends[:, 1] + shift + half
        else:
            low, high = ends[:, 0], ends[:, 1]
        shares = np.array([float((numbers[one.rows] == curve.number).mean()) for one in found])
        canvas.steps(f"share {kind}", low, high, shares)
        if discrete:
            canvas.bars(f"thin {kind}", rows.x + shift, curve.low, curve.high)
            canvas.dots(f"median {kind}", rows.x + shift, curve.mean)
        else:
            canvas.band(f"shade {kind}", rows.x, curve.low, curve.high)
            canvas.line(f"curve {kind}", rows.x, curve.mean)


def _alt(name: str, curves: Sequence[ClassCurve]) -> str:
    """The ends of the curves of the classes, in words."""
    ends = "; ".join(
        f"{one.name} from {percent(float(one.mean[0]))} to {percent(float(one.mean[-1]))}"
        for one in curves
    )
    return f"Class probabilities from the first to the last value of {name}: {ends}."
