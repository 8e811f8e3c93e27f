"""Preview of a report, and its files."""

from __future__ import annotations

from htmltools import Tag, tags

from bayesvb.interactive.messages import FORMATS
from bayesvb.interactive.state import State


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
