"""Reliability curves of class probabilities, one panel per class."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from bayesvb.evaluation.reliability import BAND, SETS, Reliability, ReliabilityCurve
from bayesvb.results.class_evaluation import HeldOutClasses

from ..cells.numerals import numeral, percent
from ..cells.plain import Summary
from .plot import Axis, Canvas, panelled

MOST_PANELS = 9

MARGIN = 0.02
"""Beyond 0 and 1, where half of a line would be cut off."""

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
    """The figure: for two classes one panel, for many the most frequent ones."""
    shown = _shown(curves, found.codes)
    drawings = [
        (f"class {levels[k]}", _panel(curves.curves[k], found.probabilities[:, k])) for k in shown
    ]
    more = f" The {len(shown)} most frequent classes." if 2 < len(shown) < len(levels) else ""
    other = f" The curve of {levels[0]} is its mirror image." if len(levels) == 2 else ""
    caption = (
        "Observed share of rows in each class against its predicted probability: isotonic "
        f"regression, which needs no bins. Shading: where it lies in {percent(BAND)} of "
        f"{numeral(SETS)} sets of classes drawn with the predicted probabilities; inside, nothing "
        "speaks against them. Grey bars: how often each probability is predicted, by square "
        f"roots.{other}{more}"
    )
    off = [float(np.abs(one.share - one.probability).max()) for one in curves.curves]
    alt = "Reliability curves; largest distance from the diagonal: " + ", ".join(
        f"{levels[k]} {numeral(off[k], 2)}" for k in shown
    )
    x, y = "predicted probability", "observed share"
    return panelled(drawings, x=x, y=y, alt=alt, caption=caption)


def _panel(one: ReliabilityCurve, predicted: Float[np.ndarray, " rows"]) -> Canvas:
    ticks = [(0.0, "0"), (0.5, "0.5"), (1.0, "1")]
    canvas = Canvas(Axis(-MARGIN, 1.0 + MARGIN, ticks), Axis(-MARGIN, 1.0 + MARGIN, ticks))
    counts, edges = np.histogram(predicted, HISTOGRAM_BINS, (0.0, 1.0))
    heights = HISTOGRAM_HEIGHT * np.sqrt(counts / counts.max())
    canvas.boxes("shade grey", edges[:-1], edges[1:], np.zeros(HISTOGRAM_BINS), heights)
    canvas.line("curve dash", np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    canvas.band("shade", one.probability, one.lower, one.upper)
    if len(one.probability) == 1:
        canvas.bars("thick", one.probability, one.lower, one.upper)
    canvas.line("curve", one.probability, one.share)
    canvas.dots("dot", one.probability[[0, -1]], one.share[[0, -1]])
    return canvas
