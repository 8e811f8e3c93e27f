"""Text as HTML: code between backticks, emphasis between asterisks."""

from __future__ import annotations

import re

from markupsafe import Markup, escape


def code(text: str) -> Markup:
    """Text with every `term` as code and every *name* as emphasis, all else escaped.

    Code between double backticks, `` `a b` ``, may contain backticks.

    Examples
    --------
    >>> code("add `a:b` if x < y")
    Markup('add <code>a:b</code> if x &lt; y')
    >>> code("add `` s(`a b`) ``")
    Markup('add <code>s(`a b`)</code>')
    >>> code("fix *Mean by x* first, not 2 * x * y")
    Markup('fix <em>Mean by x</em> first, not 2 * x * y')
    """
    pieces = re.split(r"(`` .*? ``|`[^`]*`|\*(?! )[^*`]+(?<! )\*)", text)
    return Markup("").join(
        _marked(piece) if i % 2 else escape(piece) for i, piece in enumerate(pieces)
    )


def breakable(text: str) -> Markup:
    """Text whose long names may break after an underscore, all else escaped.

    Examples
    --------
    >>> breakable("mean_area < 2")
    Markup('mean_<wbr>area &lt; 2')
    """
    return escape(text).replace("_", Markup("_<wbr>"))


def _marked(piece: str) -> Markup:
    if piece[0] == "*":
        return Markup("<em>{}</em>").format(piece[1:-1])
    return Markup("<code>{}</code>").format(piece.strip("`") if piece[1] != "`" else piece[3:-3])
