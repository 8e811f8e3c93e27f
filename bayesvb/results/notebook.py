"""Printed text as notebooks show it: the first line as a heading, the rest as it is aligned."""

from __future__ import annotations

from html import escape


def text_html(text: str) -> str:
    r"""HTML of what ``print`` shows.

    Examples
    --------
    >>> text_html("Fit\na < b")
    '<div><strong>Fit</strong><pre style="overflow-x: auto; margin: 0.5em 0">a &lt; b</pre></div>'
    """
    heading, _, rest = text.partition("\n")
    body = escape(rest.strip("\n"), quote=False)
    style = "overflow-x: auto; margin: 0.5em 0"
    block = f'<pre style="{style}">{body}</pre>' if body else ""
    return f"<div><strong>{escape(heading, quote=False)}</strong>{block}</div>"
