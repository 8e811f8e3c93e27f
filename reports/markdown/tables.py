"""Tables of the page as Markdown, headings of two lines joined into one."""

from __future__ import annotations

from collections.abc import Sequence

from .inline import inline
from .tree import Element


def table(one: Element) -> list[str]:
    """Caption and lines of a table."""
    captions = [inline(caption) for caption in one.all("caption")]
    (head,) = one.all("thead")
    (body,) = one.all("tbody")
    titles = _titles(list(head.all("tr")))
    rows = [row.elements for row in body.all("tr")]
    left = [_is_text(column) for column in zip(*rows, strict=True)] or [True] * len(titles)
    return [
        *(line for caption in captions for line in (f"**{caption}**", "")),
        _line(titles),
        "|" + "".join("---|" if word else "---:|" for word in left),
        *(_line([inline(cell) for cell in row]) for row in rows),
    ]


def _is_text(column: Sequence[Element]) -> bool:
    return any(cell.tag == "th" or "text" in cell.attributes.get("class", "") for cell in column)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def _titles(rows: Sequence[Element]) -> list[str]:
    """Titles of the columns, those above several of them repeated for each."""
    grid: dict[tuple[int, int], str] = {}
    for i, row in enumerate(rows):
        place = 0
        for cell in row.elements:
            while (i, place) in grid:
                place += 1
            for j in range(int(cell.attributes.get("colspan", "1"))):
                for down in range(int(cell.attributes.get("rowspan", "1"))):
                    grid[i + down, place + j] = inline(cell) if down == 0 else ""
    width = 1 + max((j for _, j in grid), default=-1)
    return [
        " ".join(filter(None, (grid.get((i, j), "") for i in range(len(rows)))))
        for j in range(width)
    ]
