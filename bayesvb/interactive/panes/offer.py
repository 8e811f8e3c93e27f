"""An earlier session of the same data, with a button that restores it."""

from __future__ import annotations

from htmltools import Tag, tags

from bayesvb.interactive.panes.buttons import event_button
from bayesvb.interactive.state import State


def offer(state: State) -> Tag:
    """Return the offer; nothing without one."""
    earlier = state.offer
    if earlier is None:
        return tags.div()
    several = "s" * (earlier.n_fits > 1)
    fits = f", {earlier.n_fits} full fit{several}. " if earlier.n_fits else ". "
    return tags.p(
        f"A session with these data of {earlier.time:%d %B, %H:%M} was saved: ",
        tags.code(earlier.formula),
        fits,
        event_button("Restore session", "resume", "", says="Restore session"),
        event_button("Not now", "decline", "", says="Do not restore the session"),
        id="offered",
        data_formula=earlier.formula,
    )
