"""Controls of all models: each is shown for the models that have its argument."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from htmltools import Tag, tags

from bayesvb.estimators import MODELS
from bayesvb.interactive.model_controls import (
    ModelControl,
    fit_controls,
    model_controls,
    prior_controls,
)
from bayesvb.interactive.request import DEFAULT_MODEL

ORDER = sorted(MODELS, key=lambda name: name != DEFAULT_MODEL)
"""Models, the default first."""

LABELS = {
    "n_components": "Components",
    "n_experts": "Components",
    "gate": "Weights of components",
    "family": "Family",
    "latent_dim": "Latent dimensions",
    "weights": "Case weights",
    "weight_type": "Weight type",
    "group": "One component per",
    "missing": "Rows with missing values",
    "latent_covariance": "Latent covariance",
    "latent_posterior": "Latent posterior",
    "fit-restarts": "Initialisations",
    "fit-max_iter": "Most iterations",
    "fit-draws": "Draws",
    "fit-covariance": "Intervals",
    "fit-combine": "Initialisations combined",
}
"""Labels of controls, by the name of the argument; an argument of fits begins with ``fit-``."""

SLIDER = "n_components"
"""Argument that has a slider where its default is a number."""

FOLDED = (
    "levels", "weights", "weight_type", "group", "missing", "latent_covariance", "latent_posterior",
)  # fmt: skip
"""Arguments below the fold, with the priors."""


def first_controls() -> list[Tag]:
    """Return the choice of the model, and the arguments that differ between models most."""
    model = tags.select(*[tags.option(name, value=name) for name in ORDER], id="model")
    shown = [
        one for one in _merged(model_controls, "option") if one.attrs["data-name"] not in FOLDED
    ]
    return [tags.div(tags.label("Model", for_="model"), model), *shown]


def further_controls() -> list[Tag]:
    """Return the rarer arguments, arguments of the fit of all rows, and fields of the priors."""
    rows = [one for one in _merged(model_controls, "option") if one.attrs["data-name"] in FOLDED]
    return [*rows, *_merged(fit_controls, "argument", "fit-"), *_merged(prior_controls, "prior")]


def _merged(
    declared: Callable[[str], Mapping[str, ModelControl]], kind: str, prefix: str = ""
) -> list[Tag]:
    """Return one control for models whose argument has the same name and default."""
    models: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    controls: dict[tuple[str, str, tuple[str, ...]], ModelControl] = {}
    for model in ORDER:
        for name, control in declared(model).items():
            key = name, repr(control.default), control.choices
            controls[key] = control
            models.setdefault(key, []).append(model)
    taken: set[str] = set()
    made = []
    for key, control in controls.items():
        id_ = f"{prefix}{control.name}"
        id_ = id_ if id_ not in taken else f"{models[key][0]}-{id_}"
        taken.add(id_)
        made.append(_control(control, models[key], kind, id_))
    return made


def _control(control: ModelControl, models: list[str], kind: str, id_: str) -> Tag:
    data = {f"data_{kind}": control.name, "data_kind": control.kind}
    label = LABELS.get(id_) or LABELS.get(control.name, control.name.replace("_", " "))
    is_slider = control.name == SLIDER and control.default is not None
    field = _slider(control, id_, data) if is_slider else _field(control, id_, data)
    value = tags.output("1", for_=id_) if is_slider else None
    return tags.div(
        tags.label(f"{label} ", value, for_=id_),
        field,
        data_models=" ".join(models),
        data_name=control.name,
    )


def _slider(control: ModelControl, id_: str, data: Mapping[str, str]) -> Tag:
    # Components that the slider offers; code and files may have more.
    ends = {"min": "1", "max": "8"}
    default = str(control.default)
    return tags.input(type="range", id=id_, value="1", data_default=default, **ends, **data)


def _field(control: ModelControl, id_: str, data: Mapping[str, str]) -> Tag:
    default = "" if control.default is None else str(control.default)
    if control.kind == "choice":
        options = [
            tags.option(one, value=one, selected="" if one == default else None)
            for one in control.choices
        ]
        return tags.select(*options, id=id_, data_default=default, **data)
    if control.kind == "column":
        return tags.select(tags.option("none", value=""), id=id_, **data)
    if control.kind == "flag":
        checked = "" if control.default else None
        return tags.input(type="checkbox", id=id_, checked=checked, **data)
    if control.kind == "levels":
        return tags.input(type="text", id=id_, placeholder="low, medium, high", **data)
    step = "1" if control.kind == "count" else "any"
    least = "1" if control.kind == "count" else None
    return tags.input(
        type="number", id=id_, step=step, min=least, placeholder=default or "automatic", **data
    )
