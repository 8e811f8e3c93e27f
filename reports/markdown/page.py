"""A page as Markdown: headings, paragraphs, lists, tables; of figures what their captions say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from .formulas import tex
from .inline import inline, plain
from .tree import Element, tree

Block = list[str]


def markdown(page: str) -> str:
    """The HTML page as Markdown (CommonMark with tables and formulas).

    Examples
    --------
    >>> print(markdown("<h2>Data</h2><ul><li>300 rows</li></ul>"), end="")
    ## Data
    <BLANKLINE>
    - 300 rows
    """
    blocks = _blocks(tree(page))
    return "\n\n".join("\n".join(block) for block in blocks if any(block)) + "\n"


def _blocks(one: Element) -> list[Block]:
    """Blocks of all that is in an element; text between blocks is a paragraph of its own."""
    found: list[Block] = []
    for child in one.children:
        if isinstance(child, str):
            if child.strip():
                found.append([inline(Element("p", {}, [child]))])
        elif not child.hidden and "skip" not in child.attributes.get("class", ""):
            found += BLOCKS[child.tag](child) if child.tag in BLOCKS else _blocks(child)
    return found


def _heading(level: int) -> Callable[[Element], list[Block]]:
    return lambda one: [["#" * level + " " + inline(one)]]


def _paragraph(one: Element) -> list[Block]:
    return [[inline(one)]]


def _list(one: Element) -> list[Block]:
    return [[f"- {inline(item)}" for item in one.all("li")]]


def _facts(one: Element) -> list[Block]:
    names, values = one.all("dt"), one.all("dd")
    pairs = zip(names, values, strict=True)
    return [[f"- **{inline(name)}**: {inline(value)}" for name, value in pairs]]


def _details(one: Element) -> list[Block]:
    title = [inline(child) for child in one.elements if child.tag == "summary"]
    rest = [child for child in one.children if getattr(child, "tag", "") != "summary"]
    heads: list[Block] = [[f"**{text}**"] for text in title]
    return heads + _blocks(Element("div", {}, rest))


def _figure(one: Element) -> list[Block]:
    caption = " ".join(inline(child) for child in one.all("figcaption"))
    return [[f"> Figure. {caption}"]] if caption else []


def _code(one: Element) -> list[Block]:
    return [["```", *plain(one).strip("\n").split("\n"), "```"]]


def _formula(one: Element) -> list[Block]:
    return [["$$", tex(one), "$$"]]


BLOCKS: Mapping[str, Callable[[Element], list[Block]]] = {
    "h1": _heading(1),
    "h2": _heading(2),
    "h3": _heading(3),
    "p": _paragraph,
    "ul": _list,
    "ol": _list,
    "dl": _facts,
    "details": _details,
    "figure": _figure,
    "pre": _code,
    "math": _formula,
    "table": lambda one: [table(one)],
}
"""Text of each element; absent ones are replaced by their content."""


def table(one: Element) -> list[str]:
    """Caption and lines of a table."""
    captions = [inline(caption) for caption in one.all("caption")]
    (head,) = one.all("thead")
    (body,) = one.all("tbody")
    titles = _titles(list(head.all("tr")))
    rows = [row.elements for row in body.all("tr") if not row.hidden]
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
