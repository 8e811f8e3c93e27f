"""Marks that plots share: bands, bars, ridges and curves on axes that are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float

from bayesvb.drawing.palette import Palette, dash, marker

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RIDGE = 0.86
"""Height of a ridge; the next one stands at 1."""

GAP = 0.052
"""Least distance between labels at the ends of curves, in heights of the axes."""

Curve = Float[np.ndarray, " points"]


def ribbons(axes: Axes, x: Curve, quantiles: Float[np.ndarray, "5 points"], colour: str) -> None:
    """Median with a band of the middle half and one between the outer quantiles."""
    axes.fill_between(x, quantiles[0], quantiles[4], color=colour, alpha=0.14, linewidth=0)
    axes.fill_between(x, quantiles[1], quantiles[3], color=colour, alpha=0.26, linewidth=0)
    for row in (0, 4):
        axes.plot(x, quantiles[row], color=colour, linewidth=0.9, linestyle=(0, (4, 2)))
    axes.plot(x, quantiles[2], color=colour, linewidth=2.0)


def hatched(axes: Axes, x: Curve, where: np.ndarray, colour: str) -> None:
    """Hatches over the whole height at the places ``where`` on the horizontal axis."""
    edges = np.concatenate([x[:1], 0.5 * (x[1:] + x[:-1]), x[-1:]])
    changes = np.flatnonzero(np.diff(np.concatenate([[False], where, [False]]).astype(int)))
    for start, stop in zip(changes[::2], changes[1::2], strict=True):
        axes.axvspan(
            edges[start], edges[stop], facecolor="none", edgecolor=colour, hatch="///",
            linewidth=0.0, alpha=0.6, zorder=0.5,
        )  # fmt: skip


def quantile_bars(
    axes: Axes, x: Curve, quantiles: Float[np.ndarray, "5 points"], *, colour: str, ink: str
) -> None:
    """Median as a dot, with a thick bar of the middle half and a thin one of the rest."""
    axes.vlines(x, quantiles[0], quantiles[4], color=colour, linewidth=1.4)
    axes.vlines(x, quantiles[1], quantiles[3], color=colour, linewidth=5.0, alpha=0.7)
    axes.plot(x, quantiles[2], "o", color=ink, markersize=5)


def ridges(
    axes: Axes,
    points: Curve,
    heights: Float[np.ndarray, "points rows"],
    words: Sequence[str],
    *,
    colour: str,
    line: str,
) -> None:
    """Densities above one another, each scaled to the same height."""
    scaled = RIDGE * heights / np.maximum(heights.max(axis=0), np.finfo(float).tiny)
    for row, curve in enumerate(scaled.T):
        base = float(row)
        axes.axhline(base, color=line, linewidth=0.8, zorder=2 * (len(words) - row))
        axes.fill_between(points, base, base + curve, color=colour, alpha=0.22, linewidth=0)
        axes.plot(points, base + curve, color=colour, linewidth=1.5)
    axes.set_yticks(range(len(words)), words)
    axes.set_ylim(-0.05, len(words))
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)


def banded_curve(
    axes: Axes, x: Curve, lines: Sequence[Curve], number: int, *, colour: str, label: str
) -> None:
    """A curve with its band; ``lines`` are the curve and both ends of the band."""
    middle, low, high = lines
    axes.fill_between(x, low, high, color=colour, alpha=0.16, linewidth=0)
    axes.plot(x, middle, color=colour, linestyle=dash(number), label=label, marker=marker(number),
              markersize=4.5, markevery=(2 * number % 9, 16))  # fmt: skip


def barred_points(
    axes: Axes, x: Curve, lines: Sequence[Curve], number: int, *, colour: str, label: str
) -> None:
    """Points with bars; ``lines`` are the points and both ends of the bars."""
    middle, low, high = lines
    axes.vlines(x, low, high, color=colour, linewidth=1.4)
    axes.plot(x, middle, marker(number), color=colour, markersize=5, label=label)


def labelled_points(
    axes: Axes,
    x: Curve,
    y: Curve,
    words: Mapping[int, str],
    *,
    colour: str,
    ink: str,
) -> None:
    """Points, and labels next to some of them, by position."""
    axes.plot(x, y, "o", color=colour, markersize=4, alpha=0.7, markeredgewidth=0)
    middle = 0.5 * (np.min(x) + np.max(x))
    for place, text in words.items():
        left = x[place] > middle
        axes.annotate(text, (float(x[place]), float(y[place])), xytext=(-5 if left else 5, 0),
                      textcoords="offset points", ha="right" if left else "left", va="center",
                      color=ink, fontsize="small")  # fmt: skip


def dodged(place: int, number: int) -> float:
    """Distance of a series from the middle, by its position among several."""
    return min(0.6, 0.16 * (number - 1)) * (place / max(number - 1, 1) - 0.5)


def new_axes(size: tuple[float, float]) -> Axes:
    """Axes on a new figure, which notebooks display."""
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def dress(
    axes: Axes, palette: Palette, *, x: str, y: str, grid: Literal["x", "y"] | None = "y"
) -> None:
    """Labels, light grid, no frame."""
    axes.set_xlabel(x, color=palette.ink)
    axes.set_ylabel(y, color=palette.ink)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(palette.mute)
    axes.tick_params(color=palette.mute, labelcolor=palette.ink)
    if grid:
        axes.grid(axis=grid, color=palette.line, linewidth=0.7)
    axes.set_axisbelow(True)


def level_ticks(axes: Axes, names: Sequence[str]) -> None:
    """Levels as ticks of the horizontal axis, turned where they are long."""
    turned = len(names) > 6 or sum(map(len, names)) > 45
    axes.set_xticks(range(len(names)), names, rotation=40 if turned else 0,
                    ha="right" if turned else "center")  # fmt: skip
    axes.set_xlim(-0.6, len(names) - 0.4)


def legend(axes: Axes, palette: Palette, title: str | None = None) -> None:
    """Names of the series next to the axes."""
    axes.legend(title=title, frameon=False, labelcolor=palette.ink, loc="center left",
                bbox_to_anchor=(1.0, 0.5))  # fmt: skip


def note(axes: Axes, text: str, palette: Palette) -> None:
    """A line above the axes, in the background."""
    if text:
        axes.set_title(text, loc="left", fontsize="small", color=palette.mute)


def end_labels(
    axes: Axes, ends: Sequence[float], words: Sequence[str], inks: Sequence[str]
) -> None:
    """Words at the right ends of curves, moved apart where they would overlap.

    The limits of the vertical axis must be final.
    """
    low, high = axes.get_ylim()
    at = (np.asarray(ends) - low) / (high - low)
    for place, text, ink in zip(_apart(at), words, inks, strict=True):
        axes.annotate(text, (1.0, float(place)), xycoords="axes fraction", xytext=(5, 0),
                      textcoords="offset points", va="center", color=ink, fontsize="small",
                      annotation_clip=False)  # fmt: skip


def _apart(at: Curve) -> Curve:
    """Places at least a gap from one another, as near to the given ones as a few passes get."""
    order = np.argsort(at, kind="stable")
    sorted_at = at[order]
    steps = GAP * np.arange(len(at))
    upward = np.maximum.accumulate(sorted_at - steps) + steps
    downward = np.minimum.accumulate((sorted_at - steps)[::-1])[::-1] + steps
    placed = np.empty(len(at))
    placed[order] = 0.5 * (upward + downward)
    return placed
