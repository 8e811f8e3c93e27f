"""Reliability curves of class probabilities, one panel per class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from bayesvb.evaluation.reliability import BAND, SETS, Reliability, ReliabilityCurve
from bayesvb.results.class_evaluation import HeldOutClasses

from ..cells.numerals import numeral, percent
from ..cells.plain import Summary
from .svg import BAND as SHADE
from .svg import INK, LINE, MUTE, drawn, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 9

HISTOGRAM_BINS = 40

HISTOGRAM_HEIGHT = 0.14
"""Part of a panel that the histogram of the probabilities takes."""


def _shown(curves: Reliability, codes: Int[np.ndarray, " rows"]) -> list[int]:
    """Classes with a panel: of two the second, of many the most frequent."""
    n_classes = len(curves.curves)
    if n_classes == 2:
        return [1]
    often = np.bincount(codes, minlength=n_classes)
    return sorted(np.argsort(-often, kind="stable")[:MOST_PANELS].tolist())


def panels(levels: tuple[str, ...], curves: Reliability, found: HeldOutClasses) -> Summary:
    """The figure: of two classes one panel, of many those of the most frequent."""
    shown = _shown(curves, found.codes)
    columns = 2 if len(shown) == 4 else min(len(shown), 3)
    n_rows = -(-len(shown) // columns)

    def draw(figure: Figure) -> None:
        grid = figure.subplots(n_rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
        for axes, k in zip(grid, shown, strict=False):
            _panel(axes, curves.curves[k], found.probabilities[:, k])
            axes.set_title(f"class {shortened(str(levels[k]), 24)}")
        for axes in grid[len(shown) :]:
            axes.set_axis_off()
        for axes in grid[max(len(shown) - columns, 0) : len(shown)]:
            axes.tick_params(labelbottom=True)
        figure.supxlabel("predicted probability", fontsize=10)
        figure.supylabel("observed share", fontsize=10)

    more = f" The {len(shown)} most frequent classes." if 2 < len(shown) < len(levels) else ""
    other = f" The curve of {levels[0]} is the same turned round." if len(levels) == 2 else ""
    caption = (
        "Observed share of rows in each class against its predicted probability: isotonic "
        f"regression, which needs no bins. Shading: where it lies in {percent(BAND)} of "
        f"{numeral(SETS)} sets of classes drawn with the predicted probabilities; inside, nothing "
        "speaks against them. Grey bars: how often each probability is predicted, by square "
        f"roots.{other}{more}"
    )
    size = (5.0, 4.4) if len(shown) == 1 else (0.9 + 2.3 * columns, 1.1 + 2.2 * n_rows)
    off = [float(np.abs(one.share - one.probability).max()) for one in curves.curves]
    alt = "Reliability curves; largest distance from the diagonal: " + ", ".join(
        f"{levels[k]} {numeral(off[k], 2)}" for k in shown
    )
    return drawn(draw, alt=alt, caption=caption, size=size)


def _panel(axes: Axes, one: ReliabilityCurve, predicted: Float[np.ndarray, " rows"]) -> None:
    counts, edges = np.histogram(predicted, HISTOGRAM_BINS, (0.0, 1.0))
    heights = HISTOGRAM_HEIGHT * np.sqrt(counts / counts.max())
    axes.stairs(heights, edges, fill=True, color=MUTE, alpha=0.45)
    axes.plot([0.0, 1.0], [0.0, 1.0], color=LINE, linewidth=1.2, zorder=1)
    axes.fill_between(one.probability, one.lower, one.upper, color=SHADE, alpha=0.16, linewidth=0)
    if len(one.probability) == 1:
        axes.vlines(one.probability, one.lower, one.upper, color=SHADE, alpha=0.4, linewidth=4.0)
    axes.plot(one.probability, one.share, color=SHADE, linewidth=2.0)
    axes.plot(one.probability[[0, -1]], one.share[[0, -1]], "o", color=INK, markersize=3.0)
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(-0.02, 1.02)
    axes.set_xticks([0.0, 0.5, 1.0], ["0", "0.5", "1"])
    axes.set_yticks([0.0, 0.5, 1.0], ["0", "0.5", "1"])
    axes.set_aspect("equal")
