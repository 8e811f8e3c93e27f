"""Regions of the plane of two covariates where each class is the most probable one."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.ndimage import distance_transform_edt

from bayesvb.results.subsampling import RowSample, sample

from ..cells.numerals import percent
from ..cells.plain import Summary
from ..rows.profiles import covariate
from ..rows.sampling import choice_note
from .svg import INK, MOST_MARKS, PAGE, axes_of, colour, drawn, marker, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bayesvb.results.base import AbstractFit

CELLS = 61
"""Points of the grid in each direction."""

MARGIN = 0.05

STRENGTHS = (0.0, 0.5, 0.7, 0.9, 1.01)
"""Probabilities of the likeliest class at which its colour becomes stronger."""

OPACITY = (0.08, 0.17, 0.27, 0.38)

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
    found = fit.predict(frame, kind="probability").to_numpy().T.reshape(-1, CELLS, CELLS)
    chosen = sample(fit, MOST_MARKS)

    def draw(figure: Figure) -> None:
        axes = axes_of(figure, x=design.label(names[0]), y=design.label(names[1]))
        for k in range(len(found)):
            _region(axes, across, up, found, k)
        _rows(axes, fit, names, chosen)
        for k, level in enumerate(design.class_labels):
            _name(axes, across, up, found, k, shortened(str(level), 18))
        axes.set_xlim(across[0], across[-1])
        axes.set_ylim(up[0], up[-1])

    likely = found.argmax(axis=0)
    levels = design.class_labels
    shares = ", ".join(
        f"{level} {percent(float((likely == k).mean()))}" for k, level in enumerate(levels)
    )
    note = choice_note("Marks:", chosen) or " Marks: the rows."
    return drawn(
        draw,
        alt=f"Regions of the most probable class over {names[0]} and {names[1]}; their parts of "
        f"the plane: {shares}.",
        caption="Most probable class: the stronger its colour the more probable, in steps at 50, "
        f"70 and 90%. Lines: where a class has probability 50%.{note} A mark in the colour of "
        "another class is misclassified by the fit.",
        size=(6.8, 5.2),
    )


def _axis(values: Float[np.ndarray, " rows"]) -> Float[np.ndarray, " cells"]:
    low, high = float(values.min()), float(values.max())
    margin = MARGIN * (high - low)
    return np.linspace(low - margin, high + margin, CELLS)


def _lead(found: Float[np.ndarray, "classes up across"], k: int) -> Float[np.ndarray, "up across"]:
    """Probability of a class less the largest of the others."""
    return np.asarray(found[k] - np.delete(found, k, axis=0).max(axis=0))


def _region(
    axes: Axes,
    across: Float[np.ndarray, " across"],
    up: Float[np.ndarray, " up"],
    found: Float[np.ndarray, "classes up across"],
    k: int,
) -> None:
    """Colour of one class where it leads, in steps of its probability."""
    lead = _lead(found, k)
    if lead.max() <= 0.0:
        return
    border = axes.contourf(across, up, lead, levels=[0.0, 2.0], colors="none")
    path = border.get_paths()[0]
    for (low, high), opacity in zip(pairwise(STRENGTHS), OPACITY, strict=True):
        if found[k].max() <= low or found[k].min() >= high:
            continue
        step = axes.contourf(across, up, found[k], levels=[low, high], colors=[colour(k)],
                             alpha=opacity)  # fmt: skip
        step.set_clip_path(path, transform=axes.transData)
    border.remove()
    if len(found) > 2 or k == 1:
        axes.contour(across, up, found[k], levels=[0.5], colors=[INK], linewidths=1.0, alpha=0.8)


def _rows(axes: Axes, fit: AbstractFit, names: tuple[str, str], chosen: RowSample) -> None:
    design = fit.model.design
    frame = design.data_at(chosen.at)
    codes = np.asarray(design.response, dtype=int)[chosen.at]
    for k in range(len(design.class_labels)):
        own = frame[codes == k]
        axes.plot(own[names[0]].to_numpy(float), own[names[1]].to_numpy(float), marker(k),
                  color=colour(k), markersize=3.4, alpha=0.85, markeredgewidth=0)  # fmt: skip


def _name(
    axes: Axes,
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
    depth = distance_transform_edt(np.pad(inside, 1))[1:-1, 1:-1]
    row, column = np.unravel_index(int(depth.argmax()), depth.shape)
    axes.text(float(across[column]), float(up[row]), name, ha="center", va="center", fontsize=11,
              color=INK, bbox={"boxstyle": "round,pad=0.25", "facecolor": PAGE, "alpha": 0.8,
                               "linewidth": 0.0})  # fmt: skip
