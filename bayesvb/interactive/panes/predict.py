"""Predictions for one row: a control for each covariate, quantities with intervals, the density."""

from __future__ import annotations

import json

from htmltools import HTML, Tag, tags

from bayesvb.interactive.messages import Control, Prediction
from bayesvb.interactive.panes.fit import fit_name
from bayesvb.interactive.state import State


def row(state: State) -> Tag:
    """Return the controls of the covariates."""
    if not state.controls:
        return tags.p("The formula has no covariates.", class_="note")
    controls = [_control(i, one, state.row[one.name]) for i, one in enumerate(state.controls)]
    return tags.div(*controls, class_="row")


def _control(place: int, control: Control, value: str) -> Tag:
    id_ = f"covariate-{place}"
    label = tags.label(control.label, for_=id_)
    data = {"data_covariate": control.name}
    if control.kind == "level":
        options = [
            tags.option(level, value=level, selected="" if level == value else None)
            for level in control.levels
        ]
        return tags.div(label, tags.select(*options, id=id_, **data))
    ends = {"min": control.low, "max": control.high}
    if control.kind == "date":
        return tags.div(label, tags.input(type="date", id=id_, value=value, **ends, **data))
    slider = tags.input(
        type="range", value=value, step=control.step, aria_label=control.label, **ends, **data
    )
    exact = tags.input(type="number", id=id_, value=value, step="any", **data)
    return tags.div(label, tags.div(slider, exact, class_="pair"))


def predicted(state: State) -> Tag:
    """Return the predictions."""
    if state.predicted is None:
        return tags.p("Predictions follow the picture.", class_="note")
    task, answer = state.predicted
    return tags.div(
        *[tags.p(note, class_="warned") for note in answer.notes],
        *map(_prediction, answer.predictions),
        fit_name(task),
        id="row-predicted",
        data_formula=task.request.formula,
        data_values=json.dumps(answer.values),
        data_numeric=str(any(one.figure for one in answer.predictions)).lower(),
    )


def _prediction(prediction: Prediction) -> Tag:
    lines = [
        tags.tr(tags.th(one.name, scope="row"), tags.td(one.value), tags.td(one.interval))
        for one in prediction.quantities
    ]
    heads = [tags.th(title, scope="col") for title in ("", "estimate", "89% credible interval")]
    table = tags.table(
        tags.caption(f"Distribution of {prediction.response} given these values."),
        tags.thead(tags.tr(*heads)),
        tags.tbody(*lines),
    )
    return tags.div(
        tags.div(
            tags.p(prediction.sentence, class_="says") if prediction.sentence else None,
            HTML(prediction.figure),
        ),
        table if lines else None,
        class_="prediction",
    )
