"""Ranks drawn: ECDF minus the uniform one, one line per quantity, one look per kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayesvb.drawing import marks
from bayesvb.drawing.palette import dash, palette_of
from bayesvb.evaluation.calibration import PitEcdf


def rank_plot(ecdfs: Mapping[tuple[str, str], PitEcdf], ax: Any = None) -> Any:
    """Axes with all quantities, by kind and place, and the band.

    See ``SimulationCalibration.plot``.
    """
    kinds = list(dict.fromkeys(kind for kind, _ in ecdfs))
    axes = marks.new_axes((6.4, 4.0)) if ax is None else ax
    palette = palette_of(axes)
    marks.dress(axes, palette, x="rank of the truth, as a fraction", y="ECDF minus uniform")
    first = next(iter(ecdfs.values()))
    axes.fill_between(first.points, first.lower, first.upper, step="mid", color=palette.point,
                      alpha=0.25, linewidth=0)  # fmt: skip
    axes.axhline(0.0, color=palette.line, linewidth=1.0)
    seen: set[str] = set()
    for (kind, _), one in ecdfs.items():
        number = kinds.index(kind)
        label = None if kind in seen else kind
        axes.step(one.points, one.difference, where="mid", color=palette.colour(number),
                  linestyle=dash(number), linewidth=1.3, label=label)  # fmt: skip
        seen.add(kind)
    axes.set_xlim(0.0, 1.0)
    marks.legend(axes, palette)
    inside = sum(one.inside for one in ecdfs.values())
    marks.note(axes, f"{inside} of {len(ecdfs)} inside their band of 95%", palette)
    return axes
