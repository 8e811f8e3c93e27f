"""Regions of the plane of two covariates where each class is the most probable one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.results.subsampling import RowSample, sample

from ..cells.names import cut
from ..cells.numerals import percent
from ..cells.plain import Summary
from ..rows.profiles import covariate, rough_probabilities
from ..rows.sampling import choice_note
from .plot import LONGEST_NAME, Canvas, number_axis, plotted, series

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

CELLS = 61
"""Points of the grid in each direction."""

MARGIN = 0.05

STRENGTHS = (0.0, 0.5, 0.7, 0.9)
"""Probabilities of the likeliest class at which its colour becomes stronger."""

MARKS_SHOWN = 400

SMALLEST_REGION = 0.004
"""Part of the plane from which a region bears a name."""

MOST_CLASSES = 8


def regions(fit: AbstractFit) -> Summary | None:
    """The figure, if there are exactly two covariates and both are numbers."""
    design = fit.model.design
    known = [covariate(design, name) for name in design.covariates]
    if len(known) != 2 or any(one.discrete for one in known):
        return None
    if len(design.class_labels) > MOST_CLASSES:
        return None
    names = (known[0].name, known[1].name)
    across, up = (_axis(design.frame[name].to_numpy(dtype=float)) for name in names)
    grid = np.meshgrid(across, up)
    frame = pd.DataFrame({name: one.ravel() for name, one in zip(names, grid, strict=True)})
    found = rough_probabilities(fit, frame).T.reshape(-1, CELLS, CELLS)
    chosen = sample(fit, MARKS_SHOWN)

    canvas = Canvas(number_axis(across[0], across[-1]), number_axis(up[0], up[-1]))
    for k in range(len(found)):
        _draw_region(canvas, across, up, found, k)
    _draw_rows(canvas, fit, names, chosen)
    for k, level in enumerate(design.class_labels):
        _name(canvas, across, up, found, k, cut(str(level), LONGEST_NAME))

    likely = found.argmax(axis=0)
    levels = design.class_labels
    shares = ", ".join(
        f"{level} {percent(float((likely == k).mean()))}" for k, level in enumerate(levels)
    )
    note = choice_note("Marks:", chosen) or " Marks: the rows."
    return plotted(
        canvas,
        x=design.label(names[0]),
        y=design.label(names[1]),
        alt=f"Regions of the most probable class over {names[0]} and {names[1]}; their parts of "
        f"the plane: {shares}.",
        caption="Most probable class: the stronger its colour the more probable, in steps at 50, "
        f"70 and 90%.{note} A mark in the colour of another class is misclassified by the fit.",
    )


def _axis(values: Float[np.ndarray, " rows"]) -> Float[np.ndarray, " cells"]:
    low, high = float(values.min()), float(values.max())
    margin = MARGIN * (high - low)
    return np.linspace(low - margin, high + margin, CELLS)


def _draw_region(
    canvas: Canvas,
    across: Float[np.ndarray, " across"],
    up: Float[np.ndarray, " up"],
    found: Float[np.ndarray, "classes up across"],
    k: int,
) -> None:
    """Cells in which a class is the likeliest one: each step of its probability is one layer more.

    Runs of cells in a row are one rectangle.
    """
    half_across, half_up = 0.5 * (across[1] - across[0]), 0.5 * (up[1] - up[0])
    leads = found.argmax(axis=0) == k
    for strength in STRENGTHS:
        inside = np.pad(leads & (found[k] >= strength), ((0, 0), (1, 1))).astype(int)
        row, start = np.nonzero(np.diff(inside, axis=1) == 1)
        stop = np.nonzero(np.diff(inside, axis=1) == -1)[1] - 1
        if len(row):
            left, right = across[start] - half_across, across[stop] + half_across
            canvas.boxes(f"cell {series(k)}", left, right, up[row] - half_up, up[row] + half_up)


def _draw_rows(canvas: Canvas, fit: AbstractFit, names: tuple[str, str], chosen: RowSample) -> None:
    design = fit.model.design
    x, y = (design.data_at(chosen.at)[name].to_numpy(float) for name in names)
    codes = np.asarray(design.response, dtype=int)[chosen.at]
    for k in range(len(design.class_labels)):
        canvas.dots(f"mark {series(k)}", x[codes == k], y[codes == k])


def _name(
    canvas: Canvas,
    across: Float[np.ndarray, " across"],
    up: Float[np.ndarray, " up"],
    found: Float[np.ndarray, "classes up across"],
    k: int,
    name: str,
) -> None:
    """Name of a class where its region is widest."""
    inside = found.argmax(axis=0) == k
    if inside.mean() < SMALLEST_REGION:
        return
    from scipy.ndimage import distance_transform_edt  # only maps of two covariates have regions

    depth = distance_transform_edt(np.pad(inside, 1))[1:-1, 1:-1]
    row, column = np.unravel_index(int(depth.argmax()), depth.shape)
    canvas.text(float(across[column]), float(up[row]), name)
