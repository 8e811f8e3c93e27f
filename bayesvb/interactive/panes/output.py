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


def report(state: State) -> Tag:
    """Return the short edition in a frame that runs no scripts, and links to the full one."""
    preview = state.preview
    records = [one for one in state.history.records if preview and one.path == preview.path]
    if preview is None or not records:
        text = "Fit all rows, then press Report under Compare: its first two pages are shown here."
        return tags.p(text, class_="note")
    (record,) = records
    name = record.path.stem
    files = [
        tags.a(f"Report ({form})", href=f"files/{name}{ending}", download=f"report{ending}")
        for form, ending in FORMATS.items()
        if record.path in state.reports
    ]
    fit = tags.a("Fit (.nc)", href=f"files/{record.path.name}", download="fit.nc")
    return tags.div(
        tags.p(*files, fit, class_="buttons"),
        tags.iframe(srcdoc=preview.html, sandbox="", title=f"Report of {record.request.formula}"),
        id="previewed",
        data_formula=record.request.formula,
        data_written=str(record.path in state.reports).lower(),
    )


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
