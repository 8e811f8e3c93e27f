"""Full fits side by side, each with a button that returns to it."""

from __future__ import annotations

from htmltools import Tag, tags

from bayesvb.interactive.history import Row
from bayesvb.interactive.panes.buttons import event_button
from bayesvb.interactive.request import DEFAULT_MODEL
from bayesvb.interactive.state import State

CAPTION = (
    "Expected log predictive density of held-out rows minus the best fit's, in nats "
    "(standard error)."
)


def compare(state: State) -> Tag:
    """Return the table of full fits, best first."""
    rows = state.history.rows()
    if not rows:
        return tags.p("Fits of all rows are kept here and compared.", class_="note")
    heads = [tags.th(title, scope="col") for title in ("Fit", "Difference", "Checks")]
    return tags.table(
        tags.caption(CAPTION),
        tags.thead(tags.tr(*heads)),
        tags.tbody(*[_row(row, state) for row in rows]),
        id="compared",
        data_rows=str(len(rows)),
    )


def _row(row: Row, state: State) -> Tag:
    record = row.record
    request = record.request
    size = "" if request.size is None else f"{request.size} component" + "s" * (request.size > 1)
    values = {**request.options, **request.priors, **request.arguments}
    given = [f"{key}={value}" for key, value in values.items() if not key.startswith("n_")]
    model = "" if request.model == DEFAULT_MODEL else request.model
    name = request.formula
    buttons = [
        event_button(label, label.lower(), record.key, says=f"{label}{words} {name}")
        for label, words in (("Back", " to"), ("Report", " of"), ("Remove", ""))
    ]
    return tags.tr(
        tags.th(
            tags.code(name),
            tags.small(", ".join(filter(None, [model, size, *given]))),
            tags.div(*buttons, class_="buttons"),
            scope="row",
        ),
        tags.td(_difference(row)),
        tags.td(record.verdict, class_=f"is-{record.verdict}"),
        class_="current" if request == state.request else None,
    )


def _difference(row: Row) -> str:
    if row.difference is None or row.error is None:
        return "other rows or response"
    if row.difference == row.error == 0.0:
        return "best"
    return f"{row.difference:.1f} ({row.error:.1f})".replace("-", "−")
