"""Smooth curves with bands, and effects of groups in their order, drawn."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bayesvb.argument_checks import check_count, check_text, checked
from bayesvb.data.parts import MEAN
from bayesvb.drawing import marks
from bayesvb.drawing.palette import palette_of
from bayesvb.effects.curve_settings import CURVES
from bayesvb.effects.curves import curves as curves_of
from bayesvb.effects.curves import groups as groups_of
from bayesvb.errors import DataError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bayesvb.results.base import AbstractFit

ENDS = ("estimate", "lower", "upper")


@checked
def curve(
    fit: AbstractFit, name: str | None = None, *, part: str = MEAN, ax: Axes | None = None
) -> Axes:
    """A smooth curve of every component with its band.

    Parameters
    ----------
    fit : Fit
    name : str, optional
        Name of the curve, ``"s(x)"`` or ``"s(x):g[level]"``; by default the first.
    part : {"mean", "gating"}
    ax : matplotlib.axes.Axes, optional
        Axes of the picture; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    DataError
        If the curve does not exist.
    """
    table = _chosen(curves_of(fit, part), "curve", name)
    axes = marks.new_axes((6.4, 4.0)) if ax is None else ax
    palette = palette_of(axes)
    shown = str(table["curve"].iloc[0])
    variable = next(one.variable for one in fit.model.design.curves(part) if one.name == shown)
    marks.dress(axes, palette, x=fit.model.design.label(variable), y=f"{shown}, {part}")
    ends, words, inks = [], [], []
    for number, (label, mine) in enumerate(_by_component(table)):
        lines = [mine[end].to_numpy() for end in ENDS]
        colour, x = palette.colour(number), mine["x"].to_numpy()
        marks.banded_curve(axes, x, lines, number, colour=colour, label=label)
        ends.append(float(lines[0][-1]))
        words.append(label)
        inks.append(colour)
    axes.margins(x=0.01)
    marks.end_labels(axes, ends, words, inks)
    return axes


@partial(checked, term=check_text)
def groups(
    fit: AbstractFit, term: str | None = None, *, part: str = MEAN, component: int = 1,
    ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Effects of groups in one component with their intervals, the largest at the top.

    Parameters
    ----------
    fit : Fit
    term : str, optional
        Name of the effect, ``"(1 | g)"``; by default the first.
    part : {"mean", "gating"}
    component : int
        The component.
    ax : matplotlib.axes.Axes, optional
        Axes of the picture; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    DataError
        If the effect or component does not exist.
    """
    check_count("component", component)
    table = _chosen(groups_of(fit, part), "term", term)
    table = table[table["component"] == component]
    if table.empty:
        raise DataError(
            f"component={component!r} has no group-level effects in the part {part}",
            hint="fit.components() lists the components",
        )
    table = table.sort_values("estimate", ignore_index=True)
    height = 1.1 + 0.2 * min(max(len(table), 6), CURVES.named_groups)
    axes = marks.new_axes((6.4, height)) if ax is None else ax
    palette = palette_of(axes)
    marks.dress(axes, palette, x=f"{table['term'].iloc[0]}, component {component}", y="", grid="x")
    axes.axvline(0.0, color=palette.mute, linewidth=0.9, zorder=1.5)
    y = np.arange(len(table))
    axes.hlines(y, table["lower"], table["upper"], color=palette.accent, linewidth=1.6)
    axes.plot(table["estimate"], y, "o", color=palette.accent, markersize=4.0)
    axes.set_yticks(
        y if len(y) <= CURVES.named_groups else [],
        table["group"] if len(y) <= CURVES.named_groups else [],
    )
    axes.set_ylim(-0.7, len(y) - 0.3)
    return axes


def _chosen(table: pd.DataFrame, column: str, name: str | None) -> pd.DataFrame:
    """The rows of one curve or effect."""
    known = list(dict.fromkeys(table[column]))
    if name is not None and name not in known:
        known_names = ", ".join(map(repr, known))
        raise DataError(f"the fit has no {column} {name!r}", hint=f"choose one of {known_names}")
    return table[table[column] == (known[0] if name is None else name)]


def _by_component(table: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Rows of each component, and of each response if there are several."""
    keys = [name for name in ("component", "response") if name in table]
    grouped = table.groupby(keys, sort=False)
    return [
        (" ".join(map(str, np.atleast_1d(np.asarray(key, dtype=object)))), rows)
        for key, rows in grouped
    ]
