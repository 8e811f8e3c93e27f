"""Results of ``bayesvb.effects`` drawn: curves with bands, or points with bars."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.argument_checks import check_effects, checked
from bayesvb.drawing import marks
from bayesvb.drawing.palette import Palette, palette_of
from bayesvb.effects.covariates import value_text
from bayesvb.effects.curve_settings import CURVES
from bayesvb.errors import DataError
from bayesvb.formula.limits import LIMITS as FORMULA
from bayesvb.results.limits import LIMITS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bayesvb.effects.table import EffectsTable

ENDS = ["estimate", "lower", "upper"]


@partial(checked, result=check_effects)
def effects(result: EffectsTable, *, ax: Axes | None = None) -> Axes:
    """Estimates with their intervals against the first covariate that distinguishes them.

    Other columns that differ become series, each with its colour, dash and label. Without a
    covariate (``average_by=True``) each effect is one line of a list.

    Parameters
    ----------
    result : EffectsTable
        From ``predictions``, ``comparisons`` or ``slopes``.
    ax : matplotlib.axes.Axes, optional
        Axes of the picture; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    DataError
        If there are too many effects to be distinguished.
    """
    table = result.summary
    labels = [name for name in table.columns if name not in (*ENDS, "sd", "term")]
    across = result.by[0] if result.by else None
    series = [name for name in labels if name != across and table[name].nunique() > 1]
    keys = table[series].drop_duplicates() if series else pd.DataFrame(index=[0])
    if across is None or (len(keys) > CURVES.series and len(table) <= LIMITS.printed_rows):
        return _listed(result, series if across is None else [across, *series], ax)
    if len(keys) > CURVES.series:
        raise DataError(
            f"{len(keys)} curves do not fit into one picture",
            hint="use a grid of one or two covariates, conditional=[...], or averages, "
            "average_by=...",
        )
    axes = marks.new_axes((6.4, 4.0)) if ax is None else ax
    palette = palette_of(axes)
    marks.dress(axes, palette, x=across, y=_measure(result))
    _reference(axes, result, palette, "y")
    _series(axes, table, across, [tuple(key) for key in keys.to_numpy()], series, palette)
    marks.note(axes, _held(result), palette)
    return axes


def _series(
    axes: Axes,
    table: pd.DataFrame,
    across: str,
    keys: list[tuple[object, ...]],
    series: list[str],
    palette: Palette,
) -> None:
    """One curve, or one row of points, for each series."""
    places = list(dict.fromkeys(table[across]))
    discrete = len(places) <= FORMULA.few_levels or table[across].dtype.kind not in "iufmM"
    ends, words, inks = [], [], []
    for number, key in enumerate(keys):
        same = np.all([table[name] == value for name, value in zip(series, key, strict=True)],
                      axis=0) if series else np.ones(len(table), dtype=bool)  # fmt: skip
        mine = table[same].sort_values(across) if not discrete else table[same]
        colour = palette.colour(number) if series else palette.accent
        lines = [mine[name].to_numpy(dtype=float) for name in ENDS]
        word = ", ".join(_entry(name, value) for name, value in zip(series, key, strict=True))
        if discrete:
            x = np.array([places.index(value) for value in mine[across]], dtype=float)
            x += marks.dodged(number, len(keys))
            marks.barred_points(axes, x, lines, number, colour=colour, label=word)
        else:
            x = _along(axes, mine[across])
            marks.banded_curve(axes, x, lines, number, colour=colour, label=word)
        ends.append(float(lines[0][-1]))
        words.append(word)
        inks.append(colour)
    if discrete:
        marks.level_ticks(axes, [value_text(value) for value in places])
        if series:
            marks.legend(axes, palette)
    else:
        axes.margins(x=0.01)
        marks.end_labels(axes, ends, words, inks)


def _along(axes: Axes, values: pd.Series) -> Float[np.ndarray, " rows"]:
    """Numbers along the axis, which has dates where the values are dates; durations in days."""
    if values.dtype.kind == "m":
        return np.asarray(
            values.dt.total_seconds() / pd.Timedelta(days=1).total_seconds(), dtype=float
        )
    if values.dtype.kind != "M":
        return values.to_numpy(dtype=float)
    import matplotlib.dates

    dates: Any = matplotlib.dates
    places = dates.AutoDateLocator()
    axes.xaxis.set_major_locator(places)
    axes.xaxis.set_major_formatter(dates.ConciseDateFormatter(places))
    return np.asarray(dates.date2num(values), dtype=float)


def _listed(result: EffectsTable, columns: list[str], ax: Axes | None) -> Axes:
    """EffectsTable as a list, the first at the top."""
    table = result.summary
    if len(table) > LIMITS.printed_rows:
        raise DataError(
            f"a list of {len(table)} effects does not fit into one picture",
            hint="ask for a grid of one or two covariates, conditional=[...], or for averages, "
            "average_by=...",
        )
    axes = marks.new_axes((6.4, 1.1 + 0.34 * max(len(table), 2))) if ax is None else ax
    palette = palette_of(axes)
    marks.dress(axes, palette, x=_measure(result), y="", grid="x")
    _reference(axes, result, palette, "x")
    y = np.arange(len(table))
    axes.hlines(y, table["lower"], table["upper"], color=palette.accent, linewidth=1.8)
    axes.plot(table["estimate"], y, "o", color=palette.accent, markersize=5.5)
    words = [
        ", ".join(_entry(name, value) for name, value in zip(columns, row, strict=True))
        for row in table[columns].to_numpy()
    ]
    axes.set_yticks(y, words if columns else [""] * len(y))
    axes.set_ylim(len(table) - 0.5, -0.5)
    marks.note(axes, _held(result), palette)
    return axes


def _reference(axes: Axes, result: EffectsTable, palette: Palette, axis: str) -> None:
    """A line where nothing changes."""
    if result.kind == "predictions":
        return
    place = 1.0 if result.measure == "ratio" else 0.0
    draw = axes.axhline if axis == "y" else axes.axvline
    draw(place, color=palette.mute, linewidth=0.9, zorder=1.5)


def _measure(result: EffectsTable) -> str:
    """Label of the axis."""
    if result.kind == "predictions":
        return result.words
    contrasts = result.summary.get("contrast", pd.Series(dtype=object)).unique()
    term = result.summary["term"].iloc[0]
    which = f"x: {term}" if result.kind == "slopes" else str(term)
    if len(contrasts) == 1:
        which = f"{term}: {contrasts[0]}"
    return f"{result.measure} of {result.words}\n({which})"


def _held(result: EffectsTable) -> str:
    return ", ".join(f"{name} = {value_text(value)}" for name, value in result.held.items())


def _entry(name: str, value: object) -> str:
    return value_text(value) if name in ("contrast", "response") else f"{name} {value_text(value)}"
