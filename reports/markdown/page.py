"""A page as Markdown: headings, paragraphs, lists, tables; of figures what their captions say."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .formulas import tex
from .inline import inline, plain
from .tables import table
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
