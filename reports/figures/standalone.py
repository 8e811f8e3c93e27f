"""A figure of a page as a picture of its own, with its labels as text, for a given width."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from html import escape
from importlib import resources

from ..cells.plain import Summary

NAMESPACE = "http://www.w3.org/2000/svg"

SHAPE = 0.62
"""Height of a picture as a part of its width."""

TEXT = 12.0
"""Size of the text in pixels, for every width."""

LEFT, RIGHT, TOP, BOTTOM = 58.0, 14.0, 24.0, 40.0
"""Margins in pixels."""

ENDED = 62.0
"""Margin on the right where curves have labels at their ends."""

RULE = re.compile(r"^ *(?:\.canvas|\.curve|\.series\d) ?[^{]*\{[^}]*\}", re.MULTILINE)
"""Rules of the style sheet for what is drawn."""

DRAWS = re.compile(r"\{[^}]*(?:stroke|fill|--series):")
"""Rules that colour a line or an area; others place text and drawing on the page."""

COLOURS = re.compile(r":root \{([^}]*)\}")
"""Colours of the style sheet, light, dark and printed."""


def standalone(figure: Summary, width: int) -> str:
    """Return the figure as an SVG document.

    Parameters
    ----------
    figure : mapping
        As ``plotted`` makes it.
    width : int
        Width of the picture in pixels. Text has the same size in all.
    """
    height = SHAPE * width
    right = ENDED if figure["end_labels"] else RIGHT
    across, down = width - LEFT - right, height - TOP - BOTTOM
    alt = escape(figure["alt"])
    drawing = (
        f'<svg class="canvas" x="{LEFT:g}" y="{TOP:g}" width="{across:g}" height="{down:g}" '
        f'viewBox="0 0 1000 1000" preserveAspectRatio="none">{figure["drawing"]}</svg>'
    )
    words = "".join(_labels(figure, across, down))
    return (
        f'<svg xmlns="{NAMESPACE}" class="bayesvb" role="img" aria-label="{alt}" '
        f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}">'
        f"<style>{_style()}</style>{drawing}{words}</svg>"
    )


def with_namespace(svg: str) -> str:
    """A drawing within a page as a document of its own."""
    return svg.replace("<svg ", f'<svg xmlns="{NAMESPACE}" ', 1)


def _labels(figure: Summary, across: float, down: float) -> Iterator[str]:
    """Text around the drawing and in it."""
    bottom, right = TOP + down, LEFT + across
    for at, text in figure["x_labels"]:
        yield _text(LEFT + at / 100.0 * across, bottom + 1.4 * TEXT, text, "middle")
    for at, text in figure["y_labels"]:
        yield _text(LEFT - 6.0, bottom - at / 100.0 * down + 0.35 * TEXT, text, "end")
    for at, text, _ in figure["end_labels"]:
        yield _text(right + 6.0, bottom - at / 100.0 * down + 0.35 * TEXT, text, "start")
    for left, up, text, _ in figure["inner_labels"]:
        place = LEFT + left / 100.0 * across, bottom - up / 100.0 * down + 0.35 * TEXT
        yield _text(*place, text, "middle")
    yield _text(LEFT, 0.8 * TOP, figure["y_title"], "start")
    yield _text(right, bottom + 2.8 * TEXT, figure["x_title"], "end")


def _text(x: float, y: float, text: object, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(str(text))}</text>'


@cache
def _style() -> str:
    """Rules for what is drawn, with the colours of a light and of a dark page."""
    css = resources.files("bayesvb.reports").joinpath("static/report.css").read_text("utf-8")
    light, dark = COLOURS.findall(css)[:2]
    rules = " ".join(rule for rule in RULE.findall(css) if DRAWS.search(rule))
    return (
        f".bayesvb {{ {light} background: var(--bg); }} @media (prefers-color-scheme: dark) "
        f"{{ .bayesvb {{ {dark} }} }} .bayesvb text {{ font: {TEXT:g}px var(--text); "
        f"fill: var(--fg); }} {rules}"
    )
