"""The columns of the data: a click puts one into the formula."""

from __future__ import annotations

from htmltools import HTML, Tag, tags

from bayesvb.interactive.state import State
from bayesvb.interactive.variables import Variable
from bayesvb.interactive.variables import variables as described

MOST_SHOWN = 200
"""Columns that are listed; all of them complete formulas."""


def data(state: State) -> Tag:
    """Return the name of the data and their size."""
    rows, columns = state.table.frame.shape
    text = f"{state.table.name}: {rows:,} rows, {columns:,} columns"
    notes = [tags.p(note, class_="small") for note in state.table.notes]
    return tags.div(tags.p(text, id="table", data_name=state.table.name), *notes)


def variables(state: State) -> Tag:
    """Return the list of the columns."""
    columns = described(state.table.frame.iloc[:, :MOST_SHOWN])
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
