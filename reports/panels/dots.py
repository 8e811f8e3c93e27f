"""Quantities as dots on bars, each with its numbers: the panel on the right of the picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..cells.names import cut
from ..cells.plain import Summary
from ..figures.plot import number_axis

LABEL_WIDTH, PADDING = 20, 0.5
"""Characters of a line of a label, and lines between two rows."""

MOST_TICKS, CHARACTER = 3, 6.0
"""Labels under a panel, and the width of a character in per cent of the panel's width."""

LARGEST = 3
"""Lines in full ink where the panel is sorted by size."""


@dataclass(frozen=True, kw_only=True)
class Dot:
    """One line of a panel.

    Attributes
    ----------
    label, note : str
        Name of the quantity, and a note that distinguishes it from others of this name.
    estimate : float
    interval : tuple of two float, optional
    sd : float, optional
        Standard deviation, written after ± if the interval is missing.
    decimals : int
    scale : tuple of two float
        Place of zero and length of a unit on the scale of the panel, in units of the quantity.
    series : int
        Number of the cluster, class or posterior, from 1, which has its own colour; 0 for none.
    """

    label: str
    note: str = ""
    estimate: float
    interval: tuple[float, float] | None = None
    sd: float | None = None
    decimals: int
    scale: tuple[float, float] = (0.0, 1.0)
    series: int = 0

    @property
    def n_lines(self) -> float:
        """Lines that the row takes on a screen of 1280 pixels: label, note and padding."""
        label, note = (-(-len(text) // LABEL_WIDTH) for text in (cut(self.label), self.note))
        return label + note + PADDING

    @property
    def ends(self) -> tuple[float, float]:
        """Ends of the bar on the scale of the panel."""
        reach = self.sd or 0.0
        low, high = self.interval or (self.estimate - reach, self.estimate + reach)
        return self.scaled(low), self.scaled(high)

    def scaled(self, value: float) -> float:
        """Return a value on the scale of the panel."""
        return (value - self.scale[0]) / (self.scale[1] or 1.0)


def dot_panel(
    dots: Sequence[Dot],
    *,
    title: str,
    caption: str,
    heads: tuple[str, str],
    is_difference: bool = False,
    n_in_full: int | None = None,
    more: str = "",
) -> Summary:
    """Panel of dots on one scale, which includes zero.

    Parameters
    ----------
    dots : sequence of Dot
    title, caption : str
    heads : tuple of two str
        Heads of the columns of names and of numbers.
    is_difference : bool
        Whether numbers are written with their sign.
    n_in_full : int, optional
        Lines in full ink, the first ones; by default all.
    more : str
        Description of omitted lines.
    """
    low = min(0.0, *(dot.ends[0] for dot in dots))
    high = max(0.0, *(dot.ends[1] for dot in dots))
    return {
        "title": title,
        "caption": caption,
        "heads": list(heads),
        "signed": is_difference,
        "compact": not any(dot.note for dot in dots),
        "rows": [
            _row(dot, low, high, is_less=n_in_full is not None and number >= n_in_full)
            for number, dot in enumerate(dots)
        ],
        "more": more,
        "ruler": _ruler(low, high),
    }


def _row(dot: Dot, low: float, high: float, *, is_less: bool) -> Summary:
    """Line of a panel, with places of dot and bar in per cent of its width."""
    start, end = dot.ends
    places = [_place(at, low, high) for at in (start, dot.scaled(dot.estimate), end)]
    return {
        "label": dot.label,
        "note": dot.note,
        "estimate": dot.estimate,
        "interval": None if dot.interval is None else list(dot.interval),
        "sd": dot.sd,
        "decimals": dot.decimals,
        "places": places,
        "less": is_less,
        "series": dot.series,
    }


def _place(value: float, low: float, high: float) -> float:
    return round(100.0 * (value - low) / ((high - low) or 1.0), 1)


def _ruler(low: float, high: float) -> Summary:
    """Place of zero, and at most three labels under the panel, with a space between them."""
    ticks = number_axis(low, high).ticks
    zero = min(range(len(ticks)), key=lambda place: abs(ticks[place][0]))
    for step in range(1, len(ticks) + 1):
        shown = ticks[zero % step :: step]
        labels = [(_place(at, low, high), text) for at, text in shown]
        room = CHARACTER * (1 + max(len(text) for _, text in labels))
        if len(labels) <= MOST_TICKS and (len(labels) == 1 or labels[1][0] - labels[0][0] > room):
            break
    return {"origin": _place(0.0, low, high), "labels": labels}


def fitting(dots: Sequence[Dot], n_lines: float) -> list[Dot]:
    """The first rows, as many as these lines hold, and one at least."""
    totals = np.cumsum([dot.n_lines for dot in dots])
    return list(dots[: max(int((totals <= n_lines).sum()), 1)])
