"""Content of a line, as Markdown: text, code, emphasis, links, formulas."""

from __future__ import annotations

import re

from .formulas import tex
from .tree import Element

SPECIAL = re.compile(r"([\\`*_\[\]~$])")
"""Signs that Markdown reads; what HTML reads is written as entities."""


def escaped(text: str) -> str:
    r"""Text that Markdown shows as it is.

    Examples
    --------
    >>> print(escaped("a_b < c"))
    a\_b &lt; c
    """
    return SPECIAL.sub(r"\\\1", text.replace("&", "&amp;").replace("<", "&lt;"))


def inline(one: Element) -> str:
    """All that is in an element, on one line."""
    pieces = [
        escaped(child) if isinstance(child, str) else _piece(child, alone=len(one.children) == 1)
        for child in one.children
    ]
    return " ".join("".join(pieces).split())


def plain(one: Element) -> str:
    """The text in an element, and no signs of its form."""
    return "".join(child if isinstance(child, str) else plain(child) for child in one.children)


def _piece(one: Element, *, alone: bool) -> str:
    """An element within a line."""
    if one.hidden:
        return ""
    if one.tag == "code":
        return code(plain(one))
    if one.tag == "math":
        return f"${tex(one)}$"
    text = inline(one)
    if one.tag == "a":
        link = one.attributes.get("href", "")
        if link.startswith("#"):
            return text
        return f"<{link}>" if plain(one) == link else f"[{text}]({link})"
    if one.tag == "strong":
        return f"**{text}**"
    if one.tag == "h3":
        return f"**{text}**: "
    if "word" in one.attributes.get("class", ""):
        return f"({text}) "
    if one.tag == "em":
        return f"*{text}*"
    if one.tag == "small":
        return text if alone else f"({text})"
    return f" {text} " if one.tag in ("p", "div", "ul", "li") else text


def code(text: str) -> str:
    """Text as code, between more backticks than it has itself.

    Examples
    --------
    >>> code("a"), code("`my column`")
    ('`a`', '`` `my column` ``')
    """
    if "`" not in text:
        return f"`{text}`" if text else ""
    most = max(len(found) for found in re.findall("`+", text))
    fence = "`" * (most + 1)
    return f"{fence} {text} {fence}"
