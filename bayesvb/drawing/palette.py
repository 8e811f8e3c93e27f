"""Colours, dashes and markers: distinguishable by the colour-blind, and never by colour alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LineStyle = Literal["-"] | tuple[float, tuple[float, ...]]
"""Line style of Matplotlib: solid, or an offset and lengths of dashes and gaps."""

DASHES: tuple[LineStyle, ...] = (
    "-",
    (0.0, (5.0, 1.5)),
    (0.0, (1.5, 1.2)),
    (0.0, (6.0, 1.5, 1.5, 1.5)),
    (0.0, (9.0, 2.0)),
)

MARKERS = "osD^vP<X>p*h"


@dataclass(frozen=True)
class Palette:
    """Colours of a drawing.

    Attributes
    ----------
    series : tuple of str
        Components, or curves of one kind.
    accent, ink, mute, line, point : str
        Bands and curves that are alone; text; text in the background; grid; data.
    """

    series: tuple[str, ...]
    accent: str
    ink: str
    mute: str
    line: str
    point: str

    def colour(self, number: int) -> str:
        """Colour of a series, counted from 0."""
        return self.series[number % len(self.series)]


POINT = "#8b8f98"
"""Grey that is seen on white as on black."""

LIGHT = Palette(
    ("#0068a8", "#b84a00", "#007a57", "#94418f", "#7d6000", "#4b5563", "#0b7a8c", "#a8325a"),
    accent="#1f5f99", ink="#1c2127", mute="#596270", line="#d9dde3", point=POINT,
)  # fmt: skip

DARK = Palette(
    ("#6cb6e8", "#f0925a", "#4cc79e", "#d79bd3", "#d9be55", "#a9b3c0", "#5cc5d6", "#ea8ba8"),
    accent="#7db8ea", ink="#e4e7eb", mute="#a3acb8", line="#363d47", point=POINT,
)  # fmt: skip


def palette_of(axes: Axes) -> Palette:
    """Colours for axes, by their background."""
    from matplotlib.colors import to_rgba

    behind = to_rgba(axes.get_facecolor())
    if behind[3] == 0.0:
        behind = to_rgba(axes.figure.get_facecolor())
    luminance = 0.2126 * behind[0] + 0.7152 * behind[1] + 0.0722 * behind[2]
    return DARK if luminance < 0.4 and behind[3] > 0.0 else LIGHT


def dash(number: int) -> LineStyle:
    """Line style of a series, so that colour is never alone."""
    return DASHES[(number + number // len(LIGHT.series)) % len(DASHES)]


def marker(number: int) -> str:
    """Marker of a series."""
    return MARKERS[number % len(MARKERS)]
