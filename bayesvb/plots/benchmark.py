"""A benchmark drawn: one row per data set and model, one mark per method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bayesvb.argument_checks import check_choice, checked
from bayesvb.drawing import marks
from bayesvb.drawing.palette import marker, palette_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LABELS = {
    "lpd": "log predictive density of a held-out row",
    "accuracy": "accuracy on held-out rows",
    "ece": "calibration error on held-out rows",
    "waic": "WAIC per training row",
    "loo": "LOO per training row",
    "seconds": "seconds of a fit",
    "passes": "passes over the rows",
}
"""Columns that can be drawn, and their axis labels."""

LOGARITHMIC = ("seconds", "passes")


@checked
def benchmark(table: pd.DataFrame, value: str = "lpd", *, ax: Axes | None = None) -> Axes:
    """Mean over seeds and folds of one column of ``bayesvb.benchmark``, with its standard error.

    The standard error treats folds as independent. Fits that failed are excluded, and their number
    is shown next to the model.

    Parameters
    ----------
    table : pandas.DataFrame
    value : {"lpd", "accuracy", "ece", "waic", "loo", "seconds", "passes"}
    ax : matplotlib.axes.Axes, optional
        Axes of the picture; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    DataError
        If the table has no such column.
    """
    check_choice("value", value, [name for name in LABELS if name in table])
    places = list(dict.fromkeys(zip(table["data"], table["model"], strict=True)))
    methods = list(dict.fromkeys(table["method"]))
    axes = marks.new_axes((6.6, 1.2 + 0.42 * max(len(places), 2))) if ax is None else ax
    palette = palette_of(axes)
    marks.dress(axes, palette, x=LABELS[value], y="", grid="x")
    for number, method in enumerate(methods):
        rows = table[(table["method"] == method) & (table["failure"] == "")]
        groups = rows.groupby(["data", "model"], sort=False)[value]
        mean, error = groups.mean(), groups.sem().fillna(0.0)
        shown = [place for place in places if place in mean.index]
        y = np.array([places.index(place) for place in shown], dtype=float)
        y += marks.dodged(number, len(methods))
        x, half = mean.loc[shown].to_numpy(), error.loc[shown].to_numpy()
        colour = palette.colour(number)
        axes.hlines(y, x - half, x + half, color=colour, linewidth=1.4)
        axes.plot(x, y, marker(number), color=colour, markersize=5, label=method)
    axes.set_yticks(range(len(places)), [_label(table, *place) for place in places])
    axes.set_ylim(len(places) - 0.5, -0.5)
    if value in LOGARITHMIC:
        axes.set_xscale("log")
    marks.legend(axes, palette, "method")
    return axes


def _label(table: pd.DataFrame, data: str, model: str) -> str:
    """Names of a row, and how many of its fits failed."""
    one = table["data"].nunique() == 1
    rows = table[(table["data"] == data) & (table["model"] == model)]
    failed = int((rows["failure"] != "").sum())
    return (model if one else f"{data}, {model}") + (f" ({failed} failed)" if failed else "")
