"""Components and parameters of the fit."""

from __future__ import annotations

from htmltools import HTML, Tag, tags

from bayesvb.interactive.panes.picture import fit_name
from bayesvb.interactive.state import State


def components(state: State) -> Tag:
    """Return shares, noise and weights of the components, and the table of all parameters."""
    if state.components is None:
        return tags.p("Components follow the picture.", class_="note")
    task, answer = state.components
    scroll = {"role": "group", "tabindex": "0", "aria_label": "All parameters"}
    return tags.div(
        HTML(answer.components or "<p>The model has one component.</p>"),
        tags.h3("Parameters"),
        tags.div(HTML(answer.parameters), class_="scroll parameters", **scroll),
        fit_name(task),
        id="components-shown",
        data_formula=task.request.formula,
        data_components=str(task.request.size),
    )
