"""Text as HTML: what stands between backticks is code, and every sign of the page can be seen."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control signs, line separators, what turns the direction of text, and halves of characters."""


def visible(page: str) -> str:
    r"""The page with every sign that cannot be seen, or moves others, as its number.

    Inside a string of JSON the number means the sign.

    Examples
    --------
    >>> print(visible("pay \u202e100"))
    pay \u202e100
    """
    return UNSEEN.sub(lambda sign: f"\\u{ord(sign[0]):04x}", page)


def code(text: str) -> Markup:
    """The text with every `term` as code, all else escaped; `` `a b` `` has backticks itself.

    Examples
    --------
    >>> code("add `a:b` if x < y")
    Markup('add <code>a:b</code> if x &lt; y')
    >>> code("add `` s(`a b`) ``")
    Markup('add <code>s(`a b`)</code>')
    """
    pieces = re.split(r"(`` .*? ``|`[^`]*`)", text)
    return Markup("").join(
        Markup("<code>{}</code>").format(piece.strip("`") if piece[1] != "`" else piece[3:-3])
        if i % 2
        else escape(piece)
        for i, piece in enumerate(pieces)
    )
