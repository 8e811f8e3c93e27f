"""Table, its variables, messages about the formula, and the offer of an earlier session."""

from __future__ import annotations

from htmltools import HTML, Tag, tags

from bayesvb.datasets import names
from bayesvb.interactive.panes.buttons import event_button, request_button
from bayesvb.interactive.state import State
from bayesvb.interactive.variables import Variable
from bayesvb.interactive.variables import variables as described

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


def data(state: State) -> Tag:
    """Return the name of the data and their size."""
    rows, columns = state.table.frame.shape
    text = f"{state.table.name}: {rows:,} rows, {columns:,} columns"
    notes = [tags.p(note, class_="small") for note in state.table.notes]
    return tags.div(tags.p(text, id="table", data_name=state.table.name), *notes)


def variables(state: State) -> Tag:
    """Return the list of the columns."""
    # Columns that are listed; all of them complete formulas.
    columns = described(state.table.frame.iloc[:, :200])
    return tags.ul(*[tags.li(_button(column)) for column in columns], class_="columns")


def _button(column: Variable) -> Tag:
    return tags.button(
        tags.span(column.name, class_="name"),
        HTML(_histogram(column.bars)),
        tags.small(column.text),
        tags.small(column.odd, class_="odd") if column.odd else None,
        type="button",
        data_insert=column.word,
        title=f"Put {column.name} into the formula",
        disabled="" if column.kind == "not usable" else None,
    )


def _histogram(bars: tuple[float, ...]) -> str:
    """Return a drawing of bars, 72 by 16."""
    wide = 72.0 / max(len(bars), 1)
    drawn = "".join(
        f'<rect x="{i * wide:.1f}" y="{16 - 16 * bar:.1f}" width="{max(wide - 1, 1):.1f}" '
        f'height="{16 * bar:.1f}"/>'
        for i, bar in enumerate(bars)
    )
    return f'<svg class="bars" viewBox="0 0 72 16" aria-hidden="true">{drawn}</svg>'


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
