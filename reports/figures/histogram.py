"""A response without covariates: how often its values occur, and their predicted density."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from ..cells.numerals import numeral
from ..cells.plain import Summary
from .plot import Canvas, number_axis, plotted

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

POINTS = 161
"""Points of the density."""


def fitted_histogram(fit: AbstractFit, name: str, values: Float[np.ndarray, " rows"]) -> Summary:
    """Histogram of a response with its predictive density, or probabilities of counts.

    Bars and curve have one scale: rows in a bin that is as wide as each bar.
    """
    values, label = values[np.isfinite(values)], fit.model.design.label(name)
    edges = np.histogram_bin_edges(values, bins=int(np.clip(2.0 * len(values) ** (1 / 3), 8, 60)))
    whole = fit.model.response.is_discrete
    if whole:
        step = max(round(edges[1] - edges[0]), 1)
        edges = np.arange(values.min() - 0.5, values.max() + step, step)
    counts = np.histogram(values, edges)[0].astype(float)
    at = np.linspace(edges[0], edges[-1], POINTS)
    if whole:
        at = np.arange(np.ceil(edges[0]), edges[-1])
    predictive = fit.predictive(fit.model.design.data_at(np.arange(1)), response=name)
    expected = predictive.density_at(at)[:, 0] * len(values) * (edges[1] - edges[0])
    top = 1.06 * max(float(counts.max()), float(expected.max()))
    canvas = Canvas(number_axis(float(edges[0]), float(edges[-1])), number_axis(0.0, top))
    for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True):
        ends = np.array([low, high])
        canvas.band("b2", ends, np.zeros(2), np.full(2, count))
    if whole:
        canvas.dots("median", at, expected)
    else:
        canvas.line("med", at, expected)
    what = "dots: expected numbers" if whole else "line: predictive density on their scale"
    return plotted(
        canvas,
        x=label,
        y="rows",
        alt=f"Histogram of {label} with its predictive density, highest near "
        f"{numeral(float(at[expected.argmax()]))}.",
        caption=f"Bars: numbers of rows; {what}.",
    )
