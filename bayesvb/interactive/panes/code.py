"""Lines of Python and of a shell that reproduce the full fit shown."""

from __future__ import annotations

from htmltools import Tag, tags

from bayesvb.interactive.state import State


def code(state: State) -> Tag:
    """Return the lines, each with a button that copies them."""
    request = state.request or state.typed
    if request is None:
        return tags.p("The code follows the first formula.", class_="note")
    table = state.table
    blocks = [_block("Python", "python", request.python(table.python))]
    if table.source is not None and (line := request.shell(table.source)):
        blocks.append(_block("Shell", "shell", line))
    return tags.div(*blocks, class_="lines")


def _block(title: str, name: str, text: str) -> Tag:
    return tags.div(
        tags.div(
            tags.h3(title),
            tags.button(
                "Copy", type="button", class_="act", data_copy=name, aria_label=f"Copy {title}"
            ),
            class_="head",
        ),
        tags.pre(tags.code(text), id=name, tabindex="0", aria_label=f"{title} code"),
    )
