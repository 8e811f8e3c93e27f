"""Fits that are compared, the report, and the code."""

from __future__ import annotations

from htmltools import Tag, tags

from bayesvb.interactive.history import Row
from bayesvb.interactive.messages import FORMATS
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


def files(state: State) -> Tag | None:
    """Return links to the files of the report; those that are not yet written have none."""
    if state.preview is None:
        return None
    path = state.preview.path
    links = [
        tags.a(f"Report ({form})", href=f"files/{path.stem}{ending}", download=f"report{ending}")
        for form, ending in FORMATS.items()
        if path in state.reports
    ]
    fit = tags.a("Fit (.nc)", href=f"files/{path.name}", download="fit.nc")
    written = str(path in state.reports).lower()
    return tags.p(*links, fit, class_="buttons", id="files-shown", data_written=written)


def preview(state: State) -> Tag:
    """Return the short edition of the report in a frame that runs no scripts."""
    shown = state.preview
    record = state.history.saved_in(shown.path) if shown is not None else None
    if shown is None or record is None:
        text = "Fit all rows, then press Report under Compare: its first two pages are shown here."
        return tags.p(text, class_="note")
    formula = record.request.formula
    frame = tags.iframe(srcdoc=shown.html, sandbox="", title=f"Report of {formula}")
    return tags.div(frame, id="previewed", data_formula=formula)


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
