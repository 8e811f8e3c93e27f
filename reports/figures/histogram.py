"""A variable without covariates: how often its values occur, and their predicted density."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from ..cells.numerals import numeral
from ..cells.plain import Summary
from .plot import TICKS, Canvas, number_axis, plotted

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

POINTS = 161
"""Points of the density."""

Density = Callable[[Float[np.ndarray, " points"]], Float[np.ndarray, " points"]]
"""Points -> density, or probabilities of counts."""


def fitted_histogram(fit: AbstractFit, name: str, values: Float[np.ndarray, " rows"]) -> Summary:
    """Histogram of a response with its predictive density, or probabilities of counts."""
    label, whole = fit.model.design.label(name), fit.model.response.is_discrete
    predictive = fit.predictive(fit.model.design.data_at(np.arange(1)), response=name)

    def density(at: Float[np.ndarray, " points"]) -> Float[np.ndarray, " points"]:
        return np.asarray(predictive.density_at(at)[:, 0])

    canvas = histogram(values, {"median" if whole else "med": density}, whole=whole)
    what = "dots: expected numbers" if whole else "line: predictive density on their scale"
    mode = _mode(density, canvas, whole=whole)
    return plotted(
        canvas,
        x=label,
        y="rows",
        alt=f"Histogram of {label} with its predictive density, highest near {numeral(mode)}.",
        caption=f"Bars: numbers of rows; {what}.",
    )


def histogram(
    values: Float[np.ndarray, " rows"],
    curves: Mapping[str, Density],
    *,
    whole: bool = False,
    most: int = TICKS,
) -> Canvas:
    """Bars and curves on one scale: rows in a bin that is as wide as each bar.

    Parameters
    ----------
    values : array, shape (rows,)
    curves : mapping of str to callable
        Densities by the style in which they are drawn.
    whole : bool
        Whether the values are whole numbers, whose curves are dots.
    most : int
        Ticks of each axis.
    """
    edges, counts = binned(values, whole=whole)
    at = _points(float(edges[0]), float(edges[-1]), whole=whole)
    scale = counts.sum() * (edges[1] - edges[0])
    expected = {kind: scale * density(at) for kind, density in curves.items()}
    top = 1.06 * max(float(one.max()) for one in (counts, *expected.values()))
    ends = float(edges[0]), float(edges[-1])
    canvas = Canvas(number_axis(*ends, most=most), number_axis(0.0, top, most=most))
    canvas.boxes("b2", edges[:-1], edges[1:], np.zeros(len(counts)), counts)
    for kind, heights in expected.items():
        (canvas.dots if whole else canvas.line)(kind, at, heights)
    return canvas


def binned(
    values: Float[np.ndarray, " rows"], *, whole: bool = False
) -> tuple[Float[np.ndarray, " edges"], Float[np.ndarray, " bins"]]:
    """Edges of bins, and rows in each; of whole numbers each bin holds as many values."""
    values = values[np.isfinite(values)]
    edges = np.histogram_bin_edges(values, bins=int(np.clip(2.0 * len(values) ** (1 / 3), 8, 60)))
    if whole:
        step = max(round(edges[1] - edges[0]), 1)
        edges = np.arange(values.min() - 0.5, values.max() + step, step)
    return edges, np.histogram(values, edges)[0].astype(float)


def _points(low: float, high: float, *, whole: bool) -> Float[np.ndarray, " points"]:
    return np.arange(np.ceil(low), high) if whole else np.linspace(low, high, POINTS)


def _mode(density: Density, canvas: Canvas, *, whole: bool) -> float:
    """Point at which the density is largest."""
    at = _points(canvas.x.low, canvas.x.high, whole=whole)
    return float(at[density(at).argmax()])
