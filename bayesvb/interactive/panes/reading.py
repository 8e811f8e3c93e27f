"""Messages about the formula, and about the current work."""

from __future__ import annotations

from htmltools import Tag, tags

from bayesvb.datasets import names
from bayesvb.interactive.panes.buttons import request_button
from bayesvb.interactive.state import State

FIRST = "The formula takes the first columns: type your own."
"""Note on a formula that no catalogue suggests."""


def reading(state: State) -> Tag:
    """Return carets below the formula, and the message."""
    result, typed = state.reading, state.typed
    if result is None or typed is None:
        return tags.div()
    is_first = typed.formula == state.table.formula and state.table.source not in names()
    kind = "wrong" if not result.readable else "warned" if result.message else "fine"
    return tags.div(
        tags.pre(result.carets, aria_hidden="true") if result.carets else None,
        tags.p(result.message or "The formula can be read."),
        tags.p("Try: ", result.hint, class_="hint") if result.hint else None,
        tags.p(FIRST, class_="small") if is_first else None,
        request_button(f"Use {result.instead.model}", result.instead) if result.instead else None,
        id="message",
        class_=kind,
        data_formula=typed.formula,
    )


def status(state: State) -> Tag:
    """Return the current work."""
    return tags.span(state.status, class_=state.tone, id="doing", data_tone=state.tone)
