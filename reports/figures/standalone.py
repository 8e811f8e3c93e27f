"""A figure of a page as a picture of its own, with its labels as text, for a given width."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
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

LETTER = 6.5
"""Width of a letter of a name next to a row."""

REM = 15.0
"""Pixels of a rem: rows with names have heights in these."""

PANEL = 220.0
"""Least width of one of several drawings."""

RULE = re.compile(r"^ *\.(?:canvas|curve|k\d|ink|grey|dash|bad)\b ?[^{]*\{[^}]*\}", re.MULTILINE)
"""Rules of the style sheet for the elements."""

DRAWS = re.compile(r"\{[^}]*(?:stroke|fill|--accent):")
"""Rules that colour a line or an area; others place text and drawing on the page."""

COLOURS = re.compile(r":root \{([^}]*)\}")
"""Colours of the style sheet, light, dark and printed."""


def standalone(figure: Summary, width: int) -> str:
    """Return the figure as an SVG document.

    Parameters
    ----------
    figure : mapping
        As ``plotted`` or ``panelled`` makes it.
    width : int
        Width of the picture in pixels. Text has the same size in all.
    """
    drawings = figure.get("drawings", [{**figure, "title": figure["y_title"]}])
    n_columns = max(1, min(len(drawings), int(width / PANEL)))
    head = TOP if "drawings" in figure or figure["legend"] else 0.0
    wide = width / n_columns
    high = max(_height(one, wide) for one in drawings)
    height = head + -(-len(drawings) // n_columns) * high
    parts = [_legend(figure["legend"], width)]
    parts += [_text(LEFT, 0.8 * TOP, figure["y_title"], "start")] if "drawings" in figure else []
    for place, one in enumerate(drawings):
        row, column = divmod(place, n_columns)
        parts += [_placed(one, column * wide, head + row * high, wide, high)]
    parts += [_text(width - RIGHT, height - 0.5 * TEXT, figure["x_title"], "end")]
    return (
        f'<svg xmlns="{NAMESPACE}" class="bayesvb" role="img" aria-label="{escape(figure["alt"])}" '
        f'width="{width:g}" height="{height:g}" viewBox="0 0 {width:g} {height:g}">'
        f"<style>{_style()}</style>{''.join(parts)}</svg>"
    )


def _legend(names: Sequence[Sequence[str]], width: int) -> str:
    """Names of the elements, each after a dot in its colour."""
    words = "".join(
        f'<tspan class="{kind}" style="fill: var(--accent)"> ● </tspan>{escape(text)}'
        for text, kind in names
    )
    return f'<text x="{width - RIGHT:g}" y="{0.8 * TOP:g}" text-anchor="end">{words}</text>'


def _height(drawing: Summary, width: float) -> float:
    """Height of a drawing with its margins."""
    rows = float(drawing["height"])
    return TOP + BOTTOM + REM * rows if rows else SHAPE * width


def _placed(drawing: Summary, x: float, y: float, width: float, height: float) -> str:
    """A drawing with its labels and its title, in its part of the picture."""
    left = max(LEFT, min(LETTER * drawing["named"], 0.4 * width))
    right = ENDED if drawing["end_labels"] else RIGHT
    across, down = width - left - right, height - TOP - BOTTOM
    words = "".join(_labels(drawing, left, across, down))
    return (
        f'<g transform="translate({x:g} {y:g})"><svg class="canvas" x="{left:g}" y="{TOP:g}" '
        f'width="{across:g}" height="{down:g}" viewBox="0 0 1000 1000" '
        f'preserveAspectRatio="none">{drawing["drawing"]}</svg>{words}'
        f"{_text(left, 0.8 * TOP, drawing['title'], 'start')}</g>"
    )


def _labels(drawing: Summary, left: float, across: float, down: float) -> Iterator[str]:
    """Text around the drawing and in it."""
    bottom, right = TOP + down, left + across
    for at, text in drawing["x_labels"]:
        yield _text(left + at / 100.0 * across, bottom + 1.4 * TEXT, text, "middle")
    for at, text in drawing["y_labels"]:
        yield _text(left - 6.0, bottom - at / 100.0 * down + 0.35 * TEXT, text, "end")
    for at, text, _ in drawing["end_labels"]:
        yield _text(right + 6.0, bottom - at / 100.0 * down + 0.35 * TEXT, text, "start")
    for at, up, text, _ in drawing["inner_labels"]:
        place = left + at / 100.0 * across, bottom - up / 100.0 * down + 0.35 * TEXT
        yield _text(*place, text, "middle")


def _text(x: float, y: float, text: object, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(str(text))}</text>'


@cache
def _style() -> str:
    """Rules for the elements, with the colours of a light and of a dark page."""
    css = resources.files("bayesvb.reports").joinpath("static/report.css").read_text("utf-8")
    light, dark = COLOURS.findall(css)[:2]
    rules = " ".join(rule for rule in RULE.findall(css) if DRAWS.search(rule))
    return (
        f".bayesvb {{ {light} background: var(--bg); }} @media (prefers-color-scheme: dark) "
        f"{{ .bayesvb {{ {dark} }} }} .bayesvb text {{ font: {TEXT:g}px var(--text); "
        f"fill: var(--fg); }} {rules}"
    )
