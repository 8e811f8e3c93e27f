"""Figures: matplotlib drawings as SVG that takes its colours and fonts from the page."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

from bayesvb.drawing.palette import POINT as POINT
from bayesvb.drawing.palette import dash as dash
from bayesvb.drawing.palette import marker as marker

from ..cells.plain import Summary
from .compact_svg import TAG, compact

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colours no drawing would use by itself; each becomes a variable of the style sheet, so that one
# drawing serves light, dark and paper. Pixels cannot change: they are drawn in POINT.
INK, MUTE, LINE, BAND = "#010203", "#010204", "#010205", "#010206"

GOOD, BAD, PAGE = "#010207", "#010208", "#010209"

SERIES = tuple(f"#01030{i}" for i in range(1, 9))

VARIABLES = {
    INK: "currentColor",
    MUTE: "var(--mute)",
    LINE: "var(--line)",
    BAND: "var(--accent)",
    GOOD: "var(--ok)",
    BAD: "var(--problem)",
    PAGE: "var(--bg)",
    **{colour: f"var(--series-{i})" for i, colour in enumerate(SERIES, start=1)},
}

STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "bayesvb",
    "text.parse_math": False,
    "font.size": 10.0,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "axes.labelsize": 10.0,
    "axes.titlesize": 10.0,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.edgecolor": MUTE,
    "axes.labelcolor": INK,
    "axes.facecolor": "none",
    "axes.unicode_minus": True,
    "axes.formatter.use_mathtext": False,
    "axes.formatter.limits": (-5, 7),
    "text.color": INK,
    "xtick.color": MUTE,
    "ytick.color": MUTE,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 10.0,
    "ytick.labelsize": 10.0,
    "xtick.major.size": 3.0,
    "ytick.major.size": 3.0,
    "figure.facecolor": "none",
    "legend.frameon": False,
    "legend.fontsize": 10.0,
    "lines.linewidth": 1.6,
    "grid.color": LINE,
    "grid.linewidth": 0.7,
}

RASTER_DPI = 120

POINTS = 72.0
"""Units of a drawing in an inch: text of 10 of them has 10 pixels where one is a pixel."""

MOST_MARKS = 400
"""Marks of one kind that are drawn as lines; more are drawn as pixels, in POINT."""


def colour(component: int) -> str:
    """Colour of a component, counted from 0."""
    return SERIES[component % len(SERIES)]


def drawn(
    draw: Callable[[Figure], None],
    *,
    alt: str,
    caption: str,
    size: tuple[float, float] = (5.0, 3.4),
) -> Summary:
    """A figure of a report.

    Parameters
    ----------
    draw : callable
        Draws on the figure that it is given.
    alt : str
        What the figure shows, in words, for those who cannot see it.
    caption : str
        How to read it.
    size : tuple of float
        Width and height in inches; wider than 6 takes the whole column.
    """
    import matplotlib  # here, as the short edition has no drawing of matplotlib: 0.4 s
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE), warnings.catch_warnings():
        # Text stays text: the reader's fonts draw it.
        warnings.filterwarnings("ignore", r"Glyph .* missing from font", UserWarning)
        figure = Figure(figsize=size, dpi=RASTER_DPI, layout="constrained")
        draw(figure)
        buffer = io.StringIO()
        # `Figure.savefig` would draw everything twice, the first time into nothing.
        canvas: Any = FigureCanvasSVG(figure)
        canvas.print_svg(buffer, metadata={"Date": None})
    return {
        "svg": compact(buffer.getvalue(), VARIABLES),
        "alt": alt,
        "caption": caption,
        "wide": size[0] > 6.0,
        "width": round(POINTS * size[0]),
    }


def axes_of(
    figure: Figure, *, x: str = "", y: str = "", grid: Literal["x", "y"] | None = None
) -> Axes:
    """The only axes of a figure, with labels and light grid lines."""
    axes = figure.add_subplot()
    axes.set_xlabel(shortened(x))
    axes.set_ylabel(shortened(y))
    if grid:
        axes.grid(axis=grid, clip_on=False)  # lines of a grid end where the axes do
        axes.set_axisbelow(True)
    return axes


def shortened(text: str, most: int = 40) -> str:
    """The text, cut to what fits at an axis."""
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"


def prefixed(svg: str, key: str) -> str:
    """The drawing with ids that are unique on a page."""
    ids = re.compile(r'( id="|href="#|url\(#)')
    return TAG.sub(lambda tag: ids.sub(rf"\g<1>{key}-", tag[0]), svg)
