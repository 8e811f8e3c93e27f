"""HTML as a tree of elements, without drawings, styles and scripts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

LEFT_OUT = frozenset({"svg", "script", "style", "head", "nav", "footer"})

VOID = frozenset({"br", "hr", "img", "input", "link", "meta", "wbr"})
"""Elements that nothing closes."""


@dataclass(frozen=True)
class Element:
    """An element with its content, text and elements."""

    tag: str
    attributes: dict[str, str]
    children: list[Element | str] = field(default_factory=list)

    @property
    def elements(self) -> list[Element]:
        """Children of the node, without text."""
        return [one for one in self.children if isinstance(one, Element)]

    @property
    def hidden(self) -> bool:
        """Whether it repeats adjacent text visually."""
        return self.attributes.get("aria-hidden") == "true"

    def all(self, tag: str) -> Iterator[Element]:
        """Elements of this name inside, in order."""
        for one in self.elements:
            if one.tag == tag:
                yield one
            yield from one.all(tag)


def tree(page: str) -> Element:
    """The page as one element."""
    reader = _Reader()
    reader.feed(page)
    reader.close()
    return reader.root


class _Reader(HTMLParser):
    """Builds the tree, without omitted elements."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("page", {})
        self.path = [self.root]
        self.skipping: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Go down into an element."""
        if self.skipping or tag in LEFT_OUT:
            self.skipping += [] if tag in VOID else [tag]
            return
        found = Element(tag, {name: value or "" for name, value in attrs})
        self.path[-1].children.append(found)
        if tag not in VOID:
            self.path.append(found)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An empty element: part of a drawing, which is omitted."""

    def handle_endtag(self, tag: str) -> None:
        """Come up again."""
        if self.skipping:
            if self.skipping[-1] == tag:
                self.skipping.pop()
        elif len(self.path) > 1 and self.path[-1].tag == tag:
            self.path.pop()

    def handle_data(self, data: str) -> None:
        """Text of the element that is open."""
        if not self.skipping:
            self.path[-1].children.append(data)
