"""The sentence of the finding, and the picture below it."""

from __future__ import annotations

from htmltools import HTML, Tag, tags

from bayesvb.interactive.state import State
from bayesvb.reports.fragments import figure_html


def picture(state: State) -> Tag:
    """Return sentences and picture of the fit that is shown."""
    if state.task is None or state.shown is None:
        return tags.p("The picture appears with the first fit.", class_="note")
    shown = state.shown.picture
    judged = None if state.is_stale else state.judged  # only its own checks may hedge a sentence
    first, *more = (judged or shown).sentences or ("",)
    kind = "full fit" if state.task.is_full else "quick fit"
    return tags.div(
        tags.p(first, class_="lead"),
        *[tags.p(sentence, class_="more") for sentence in more],
        HTML(figure_html(shown.figure, "picture")) if shown.figure else None,
        *[tags.p(note, class_="note") for note in state.shown.notes[:2]],
        tags.p(f"{kind}: ", tags.code(state.task.request.formula), class_="small"),
        id="shown",
        data_formula=state.task.request.formula,
        data_components=str(state.task.request.n_components),
        data_full=str(state.task.is_full).lower(),
        data_along=shown.along,
        data_seconds=f"{state.shown.seconds:.3f}",
    )
