"""Text of our own as HTML: what stands between backticks is code."""

from __future__ import annotations

import re

from markupsafe import Markup, escape


def code(text: str) -> Markup:
    """The text with every `term` as code, all else escaped.

    Examples
    --------
    >>> code("add `a:b` if x < y")
    Markup('add <code>a:b</code> if x &lt; y')
    """
    pieces = re.split(r"`([^`]*)`", text)
    return Markup("").join(
        Markup("<code>{}</code>").format(piece) if i % 2 else escape(piece)
        for i, piece in enumerate(pieces)
    )
