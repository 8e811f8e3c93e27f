"""The fit that is shown: picture, components, and largest average effects."""

from __future__ import annotations

from htmltools import HTML, Tag, tags

from bayesvb.interactive.messages import PictureNumbers
from bayesvb.interactive.state import State
from bayesvb.interactive.tasks import FitTask


def picture(state: State) -> Tag:
    """Return sentences and picture of the fit that is shown."""
    if state.task is None or state.shown is None:
        return tags.p("The picture appears with the first fit.", class_="note")
    shown = state.shown.picture
    first, *more = shown.sentences or ("",)
    return tags.div(
        tags.p(first, class_="lead"),
        *[tags.p(sentence, class_="more") for sentence in more],
        HTML(shown.figure),
        *[tags.p(note, class_="note") for note in state.shown.notes[:2]],
        _numbers(shown.numbers) if shown.numbers else None,
        fit_name(state.task),
        id="shown",
        data_formula=state.task.request.formula,
        data_components=str(state.task.request.size),
        data_full=str(state.task.is_full).lower(),
        data_along=shown.along,
        data_cpu=f"{state.shown.cpu:.3f}",
    )


def fit_name(task: FitTask) -> Tag:
    """Return which fit is shown."""
    kind = "full fit" if task.is_full else "quick fit"
    return tags.p(f"{kind}: ", tags.code(task.request.formula), class_="small")


def _numbers(numbers: PictureNumbers) -> Tag:
    heads = [tags.th(title, scope="col") for title in numbers.titles]
    rows = [
        tags.tr(tags.th(head, scope="row"), *[tags.td(cell) for cell in cells])
        for head, *cells in numbers.rows
    ]
    table = tags.table(
        tags.caption(numbers.caption), tags.thead(tags.tr(*heads)), tags.tbody(*rows)
    )
    label = "Numbers of the picture"
    scroll = tags.div(table, class_="scroll", role="group", tabindex="0", aria_label=label)
    return tags.details(tags.summary("As a table"), scroll, class_="numbers")


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


def effects(state: State) -> Tag:
    """Return the panels of the fit whose checks are seen."""
    if state.judged is None or not state.judged.panels:
        return tags.p("No covariate has an average effect yet.", class_="note")
    # The link to all effects leads to the report, which has them.
    panels = [html.replace('href="#effects"', 'href="#report"') for html in state.judged.panels]
    return tags.div(*[tags.div(HTML(html), class_="effects") for html in panels], id="panels")
