"""Controls that the arguments of models, of their fits, and their priors declare."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Literal

from bayesvb.argument_checks import check_choice, check_count, check_text, shown
from bayesvb.data.case_weights import MEANINGS
from bayesvb.errors import DataError
from bayesvb.estimators import MODELS
from bayesvb.estimators.base import INTERVALS
from bayesvb.estimators.model_rows import MISSING
from bayesvb.estimators.network_assembly import COVARIANCES, POSTERIORS
from bayesvb.estimators.priors import (
    COEFFICIENT_UNITS,
    SCALES,
    GaussianPriors,
    NetworkPriors,
    NormalPriors,
    PcaPriors,
    Priors,
)
from bayesvb.experts import EXPERTS, GAUSSIAN_EXPERTS
from bayesvb.gates import GATES

PRIORS: dict[str, type[Any]] = {
    "BayesianPCA": PcaPriors,
    "ConditionalMixtureNetwork": NetworkPriors,
    "DensityRegression": Priors,
    "GaussianMixture": GaussianPriors,
    "Normal": NormalPriors,
}
"""Priors by the model that takes them."""

CHOICES: dict[str, tuple[str, ...]] = {
    "gate": tuple(GATES),
    "family": tuple(EXPERTS),
    "covariance": tuple(GAUSSIAN_EXPERTS),
    "weight_type": MEANINGS,
    "coefficient_units": COEFFICIENT_UNITS,
    "scales": SCALES,
    "latent_covariance": COVARIANCES,
    "latent_posterior": POSTERIORS,
    "missing": ("drop", "raise"),
}
"""Values of the arguments and fields that have names."""

OF_ONE_MODEL: dict[tuple[str, str], tuple[str, ...]] = {
    ("BayesianPCA", "missing"): ("keep", "drop", "raise"),
    ("DensityRegression", "missing"): MISSING,
}
"""Values of arguments that have others in one model."""

OF_FITS: dict[str, Literal["count", "choice"]] = {
    "restarts": "count", "max_iter": "count", "draws": "count", "covariance": "choice",
    "combine": "choice",
}  # fmt: skip
"""Arguments of a fit that have a control, with its kind."""

COLUMNS = ("weights", "group")
"""Arguments that name a column of the data."""

COUNTS = ("n_components", "n_experts", "latent_dim")
"""Arguments that are whole numbers."""

LEVELS = "levels"
"""Argument that is a list of labels."""


@dataclass(frozen=True, kw_only=True)
class ModelControl:
    """Control for an argument of a model, or for a field of its priors.

    Attributes
    ----------
    name : str
    kind : {"count", "number", "choice", "flag", "column", "levels"}
    default : object
        Default value.
    choices : tuple of str
        Of ``"choice"``.
    """

    name: str
    kind: Literal["count", "number", "choice", "flag", "column", "levels"]
    default: object
    choices: tuple[str, ...] = ()

    def check(self, value: object) -> None:
        """Raise for a value that the argument cannot have.

        Raises
        ------
        DataError
        """
        CHECKS[self.kind](self, value)


def _check_number(control: ModelControl, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise DataError(f"{control.name}={shown(value)} is not a number")


def _check_flag(control: ModelControl, value: object) -> None:
    if not isinstance(value, bool):
        raise DataError(f"{control.name}={shown(value)} must be True or False")


def _check_levels(control: ModelControl, value: object) -> None:
    if not isinstance(value, list) or not all(isinstance(label, str) for label in value):
        raise DataError(f"{control.name}={shown(value)} is not a list of labels")


CHECKS: dict[str, Callable[[ModelControl, object], None]] = {
    "count": lambda control, value: check_count(control.name, value),
    "number": _check_number,
    "choice": lambda control, value: check_choice(control.name, value, control.choices),
    "flag": _check_flag,
    "column": lambda control, value: check_text(control.name, value),
    "levels": _check_levels,
}
"""Check of a value by the kind of its control."""


@cache
def model_controls(model: str) -> dict[str, ModelControl]:
    """Return controls for the arguments of a model, by name.

    Examples
    --------
    >>> list(model_controls("DensityRegression"))[:3], list(model_controls("Normal"))
    (['n_components', 'gate', 'family'], ['weights', 'weight_type', 'missing'])
    """
    arguments = inspect.signature(MODELS[model]).parameters.values()
    controls = (_control(one.name, one.default, model) for one in arguments)
    return {control.name: control for control in controls if control is not None}


@cache
def fit_controls(model: str) -> dict[str, ModelControl]:
    """Return controls for arguments of the fit of a model, by name.

    Examples
    --------
    >>> fit_controls("Normal")["covariance"].choices
    ('auto', 'linear-response', 'mean-field', 'exact')
    """
    kind = MODELS[model]
    choices = {"covariance": ("auto", *INTERVALS, "exact"), "combine": kind.combinations}
    arguments = inspect.signature(kind.fit).parameters
    return {
        name: ModelControl(
            name=name,
            kind=control,
            default=kind.default_combination if name == "combine" else arguments[name].default,
            choices=choices.get(name, ()),
        )
        for name, control in OF_FITS.items()
    }


@cache
def prior_controls(model: str) -> dict[str, ModelControl]:
    """Return controls for the fields of the priors of a model, by name.

    Examples
    --------
    >>> prior_controls("Normal")["noise_rate"].default
    0.01
    """
    controls = (
        _control(one.name, one.default)
        or ModelControl(name=one.name, kind="number", default=one.default)
        for one in fields(PRIORS[model])
        if "Sequence" not in str(one.type)
    )
    return {control.name: control for control in controls}


def _control(name: str, default: object, model: str = "") -> ModelControl | None:
    """Return the control of an argument; None if the page has none for it."""
    if name in CHOICES:
        choices = OF_ONE_MODEL.get((model, name), CHOICES[name])
        return ModelControl(name=name, kind="choice", default=default, choices=choices)
    if isinstance(default, bool):
        return ModelControl(name=name, kind="flag", default=default)
    if name in COUNTS:
        return ModelControl(name=name, kind="count", default=default)
    if name in COLUMNS:
        return ModelControl(name=name, kind="column", default=default)
    return ModelControl(name=name, kind="levels", default=default) if name == LEVELS else None
