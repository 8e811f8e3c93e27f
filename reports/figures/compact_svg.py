"""Drawings of matplotlib as short SVG: nothing that is not seen, paths by steps, common styles."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterator, Mapping

from PIL import Image

SHADES = 32
"""Colours of a raster picture: grey points of several opacities need no more."""

COMPRESSION = 7
"""Of pictures, up to 9, which takes five times as long for 3 % fewer bytes."""

PIXELS = re.compile(r'base64,\s*([^"]+)')

OUTLINE = re.compile(r' d="([^"]*)"')

TAG = re.compile(r"<[^<>]+>")
"""Text of the user cannot hold one: its brackets are escaped."""

UNSEEN = re.compile(r'<path d="[^"]*"(?: clip-path="[^"]*")? style="fill: none" ?/>\s*')
"""Areas behind axes, which have neither a colour nor an edge."""

LINE = re.compile(
    r'<path id="([^"]*)" d="m0 0l(-?[\d.]+)[ ]?(-?[\d.]+)"( style="[^"]*stroke:[^"]*")/>\s*'
)
"""A mark that is one line, with its own stroke: how far it goes, and the stroke."""

ID = re.compile(r' id="([^"]*)"')

REFERENCE = re.compile(r'(href="#|url\(#)([^")]+)')

FAMILY = re.compile(r"font-family: [^;\"]*;? ?")

COLOUR = re.compile("#[0-9a-f]{6}")

STYLE = re.compile(r' style="([^"]*)"')

STRAIGHT = re.compile(r' transform="rotate\(-0 [^"]*"')

HUNDREDTHS = re.compile(r"(-?\d+\.\d{2})\d+")

SAME = re.compile(r'<use [^<>]*?( style="[^"]*")[^<>]*>(?:\s*<use [^<>]*?\1[^<>]*>)+')
"""Marks of one style that follow each other."""

PLACE = re.compile(r' (x|y|width|height)="(-?\d+\.\d+)"')

IMPLIED = ("font-size: 10px", "fill: currentColor", "text-anchor: start")
"""What the style sheet says of all text of figures."""

UNWANTED = (
    r"<!--.*?-->",
    r"<metadata>.*?</metadata>",
    r"<style.*?</style>",
    r"<defs>\s*</defs>|<defs/>",
    r' (?:xmlns(?::\w+)?|version)="[^"]*"(?=[^<>]*>)',
)
"""What is not seen, or goes without saying in a page of HTML."""

PIECE = re.compile(r"([MLHVCQZz])|(-?\d+(?:\.\d+)?)")

TENTHS = 10
"""Points of a path are rounded to a tenth of a point, an eighth of a pixel."""

NEAR = 1.0
"""Tenths of a point from a line at which points of it need not be told."""

MOST_AT_ONCE = 500
"""Points of a line that are looked at together; the farthest may be the next to last each time, so
that time goes with the square of their number."""

MOVES = {"M": 1, "L": 1, "C": 3, "Q": 2}
"""Command -> points that it reads, the last of which is where it ends."""


def compact(svg: str, variables: Mapping[str, str]) -> str:
    """The drawing alone, in the page's colours and fonts, without what nothing refers to.

    Parameters
    ----------
    svg : str
        As matplotlib writes it.
    variables : mapping of str to str
        Colours by what stands for them in the page.
    """
    svg = svg[svg.index("<svg") :]
    for unwanted in UNWANTED:
        svg = re.sub(unwanted, "", svg, flags=re.DOTALL)
    used = set(re.findall(r'(?:href="#|url\(#)([^")]+)', svg))
    short = {name: f"i{number}" for number, name in enumerate(sorted(used))}
    svg = TAG.sub(lambda tag: _short_tag(tag[0], short, variables), UNSEEN.sub("", svg))
    svg = "".join(_without_empty_groups(_of_one_style(_ticks_together(svg))))
    return re.sub(r"\s*\n\s*", "\n", svg).strip()


def _ticks_together(svg: str) -> str:
    """The drawing with one path for all uses of a mark that is a line, as ticks of an axis are."""
    for mark in list(LINE.finditer(svg)):
        name, stroke = mark[1], mark[4]
        step = float(mark[2]), float(mark[3])
        use = re.compile(rf'<use href="#{name}" x="([^"]*)" y="([^"]*)"[^<>]*>\s*')
        places = [(float(x), float(y)) for x, y in use.findall(svg)]
        lines = (f"M {x} {y} L {x + step[0]} {y + step[1]}" for x, y in places)
        path = f'<path d="{by_steps(" ".join(lines))}"{stroke}/>\n'
        svg = use.sub("", use.sub(path, svg, count=1)).replace(mark[0], "")
    return re.sub(r"<defs>\s*</defs>\s*", "", svg)


def _of_one_style(svg: str) -> str:
    """Marks of one style that follow each other as a group, which tells the style once."""
    return SAME.sub(lambda at: f"<g{at[1]}>{at[0].replace(at[1], '')}</g>", svg)


def _short_tag(tag: str, short: Mapping[str, str], variables: Mapping[str, str]) -> str:
    """A tag with short ids, no unused ones and no fonts; text between tags is the user's."""
    tag = ID.sub(lambda at: f' id="{short[at[1]]}"' if at[1] in short else "", tag)
    tag = REFERENCE.sub(lambda at: at[1] + short[at[2]], tag)
    tag = FAMILY.sub("", tag).replace("xlink:href", "href")
    tag = COLOUR.sub(lambda at: variables.get(at[0], at[0]), tag)
    if "base64," in tag:
        return PIXELS.sub(lambda found: f"base64,{_fewer_shades(found[1])}", tag)
    tag = OUTLINE.sub(lambda found: f' d="{by_steps(found[1])}"', tag)
    tag = STRAIGHT.sub("", tag)
    tag = STYLE.sub(lambda found: _style(found[1], tag), tag)
    tag = PLACE.sub(lambda at: f' {at[1]}="{_joined([round(TENTHS * float(at[2]))])}"', tag)
    return HUNDREDTHS.sub(r"\1", tag)


def _style(given: str, tag: str) -> str:
    """The attribute, of text without what goes without saying."""
    parts = [one.strip() for one in given.split(";")]
    if tag.startswith("<text"):
        parts = [one for one in parts if one not in IMPLIED]
    kept = ";".join(one.replace(": ", ":") for one in parts if one)
    return f' style="{kept}"' if kept else ""


def _without_empty_groups(svg: str) -> Iterator[str]:
    """Pieces of the drawing without the tags of groups that say nothing of what they hold."""
    kept: list[bool] = []
    for piece in re.split(r"(<g(?: [^<>]*)?/?>|</g>)", svg):
        if piece == "<g>":
            kept.append(False)
        elif piece == "</g>":
            if kept.pop():
                yield piece
        elif piece != "<g/>":
            if piece.startswith("<g ") and not piece.endswith("/>"):
                kept.append(True)
            yield piece


def by_steps(path: str) -> str:
    """The same path, each point told by the step from the one before, in tenths of a point.

    Steps are between rounded points, so that what is left out does not add up. Points between two
    others that are a tenth from their line at most are left out.

    Examples
    --------
    >>> by_steps("M 10.04 20 L 11.02 20 L 12 19.5 z")
    'm10 20l1 0 1-.5z'
    >>> by_steps("M 10 20 L 11 20 L 12 20.1 L 14 20")
    'm10 20l4 0'
    """
    written: list[str] = []
    here, first, before = (0, 0), (0, 0), ""
    for command, points in _fewer(_commands(path)):
        if command in "Zz":
            here, before = first, "z"
            written.append("z")
            continue
        steps = [value - here[i % 2] for i, value in enumerate(points)]
        here = (points[-2], points[-1])
        if command == "M":
            first = here
        letter = "" if command == before and command != "M" else command.lower()
        written.append(letter + _joined(steps, first=not letter))
        before = command
    return "".join(written)


def _fewer(commands: Iterator[tuple[str, list[int]]]) -> Iterator[tuple[str, list[int]]]:
    """Commands without the lines that lead to points between others on nearly one line."""
    line: list[list[int]] = []
    for command, points in commands:
        if command != "L":
            yield from (("L", one) for one in _corners(line)[1:])
            yield command, points
            line = [points[-2:]] if points else []
        else:
            line.append(points)
    yield from (("L", one) for one in _corners(line)[1:])


def _corners(line: list[list[int]]) -> list[list[int]]:
    """Ends of a line of points, and the points between them that are needed.

    References
    ----------
    Douglas, Peucker (1973), Algorithms for the reduction of the number of points required to
    represent a digitized line or its caricature, Cartographica 10(2).
    """
    if len(line) < 3:
        return line
    needed, spans = {0, len(line) - 1}, [(0, len(line) - 1)]
    while spans:
        first, last = spans.pop()
        middle = _farthest(line, first, last)
        if middle is not None:
            needed.add(middle)
            spans += [(first, middle), (middle, last)]
    return [line[place] for place in sorted(needed)]


def _farthest(line: list[list[int]], first: int, last: int) -> int | None:
    """The point between these two that is farthest from the way between them; None if all are near.

    That in the middle of very many: looking at all of them again and again would take long.
    """
    if last - first + 1 > MOST_AT_ONCE:
        return first + (last - first + 1) // 2
    away = _squared_distances(line[first + 1 : last], line[first], line[last])
    most = max(away, default=0.0)
    return first + 1 + away.index(most) if most > NEAR**2 else None


def _squared_distances(points: list[list[int]], first: list[int], last: list[int]) -> list[float]:
    """From each point to the nearest one between two others."""
    x, y = first
    across, up = last[0] - x, last[1] - y
    square = across**2 + up**2
    away: list[float] = []
    for one in points:
        right, high = one[0] - x, one[1] - y
        along = right * across + high * up
        if along <= 0:
            away.append(float(right * right + high * high))
        elif along >= square:
            away.append(float((one[0] - last[0]) ** 2 + (one[1] - last[1]) ** 2))
        else:
            away.append((right * up - high * across) ** 2 / square)
    return away


def _commands(path: str) -> Iterator[tuple[str, list[int]]]:
    """Commands with the points of one of them each, in tenths of a point."""
    command, numbers = "", list[str]()
    for letter, number in PIECE.findall(path):
        if letter:
            command, numbers = letter, []
            if letter in "Zz":
                yield letter, []
            elif letter not in MOVES:
                raise ValueError(f"{letter!r} is no command of a path that matplotlib writes")
            continue
        numbers.append(number)
        if len(numbers) == 2 * MOVES[command]:
            yield command, [round(float(one) * TENTHS) for one in numbers]
            numbers = []


def _joined(steps: list[int], *, first: bool = False) -> str:
    """Numbers with a blank only where two would run together."""
    text = ""
    for step in steps:
        whole, tenth = divmod(abs(step), TENTHS)
        digits = f"{whole or ''}.{tenth}" if tenth else f"{whole}"
        apart = (text or first) and step >= 0
        text += ("-" if step < 0 else " " if apart else "") + digits
    return text


def _fewer_shades(png: str) -> str:
    """The same picture with a palette, which makes it a few times smaller."""
    buffer = io.BytesIO()
    with Image.open(io.BytesIO(base64.b64decode(png))) as picture:
        palette = picture.quantize(SHADES, method=Image.Quantize.FASTOCTREE)
    palette.save(buffer, format="png", compress_level=COMPRESSION)
    return base64.b64encode(buffer.getvalue()).decode("ascii")
