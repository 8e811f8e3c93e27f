"""The line of the command line that makes a fit again."""

from __future__ import annotations

import inspect
import json
import shlex
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from bayesvb.errors import DataError
from bayesvb.results.fit_call import FitCall, literal

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

COMMAND_NAMES = {
    "density": "DensityRegression",
    "gmm": "GaussianMixture",
    "network": "ConditionalMixtureNetwork",
    "normal": "Normal",
    "pca": "BayesianPCA",
}
"""Names of the models on the command line."""

OF_MODELS = {
    "covariance": "--covariance",
    "family": "--family",
    "gate": "--gate",
    "group": "--group",
    "latent_dim": "--latent-dim",
    "levels": "--levels",
    "n_components": "--components",
    "n_experts": "--components",
    "scale": "--scale",
    "weight_type": "--weight-type",
}
"""Options of the command line by argument of a model."""

OF_FITS = {
    "max_iter": "--max-iter",
    "method": "--method",
    "restarts": "--restarts",
    "seed": "--seed",
    "tol": "--tol",
}
"""Likewise by argument of ``model.fit``."""


def shell_line(fit: AbstractFit, data: str, weights: str | None) -> str:
    """Command that makes a fit again; see ``Fit.shell``."""
    call = FitCall.from_fit(fit)
    if call.priors:
        raise _no_option(f"priors={call.priors}")
    if call.steps:
        raise _no_option(call.steps[0].removeprefix("# "))
    if fit.model.weights is not None and weights is None:
        raise DataError(
            "weights=None, but the rows of the fit have case weights",
            hint="name their column: fit.shell(data, weights='w')",
        )
    return command_line(call, type(fit.model), data, weights, settings=tuple(fit.method_options))


def command_line(
    call: FitCall,
    kind: type[Any],
    data: str,
    weights: str | None = None,
    *,
    settings: Collection[str] = (),
) -> str:
    """Command that makes a call.

    Parameters
    ----------
    call : FitCall
        Without priors and steps, which the command line has not.
    kind : type
        Class of the model.
    data : str
        A file, or the name of a shipped data set.
    weights : str, optional
        Column of the case weights.
    settings : collection of str
        Arguments of the fit that are options of its engine.

    Raises
    ------
    DataError
        If the command line has no option for an argument.
    """
    names = {model: name for name, model in COMMAND_NAMES.items()}
    words = ["bayesvb", "fit", call.formula, data]
    words += [] if names[call.model] == "density" else ["--model", names[call.model]]
    words += [word for words in _of_model(kind, call) for word in words]
    words += ["--weights", weights] if weights else []
    words += [word for words in _of_fit(kind, call, settings) for word in words]
    return shlex.join(words)


def _of_model(kind: type[object], call: FitCall) -> Iterator[list[str]]:
    """Options for the arguments of the model that do not have their defaults."""
    usual = inspect.signature(kind).parameters
    for name, value in call.options.items():
        if value == usual[name].default:
            continue
        if name not in OF_MODELS or not _can_be_written(value):
            raise _no_option(f"{name}={literal(value)}")
        option = OF_MODELS[name]
        if isinstance(value, list):
            value = ",".join(value)
        yield [option] if value is True else [option, str(value)]


def _of_fit(kind: type[Any], call: FitCall, settings: Collection[str]) -> Iterator[list[str]]:
    """Options for the arguments of the fit."""
    usual = inspect.signature(kind.fit).parameters
    for name, value in call.arguments.items():
        if name in settings:
            yield ["--set", f"{name}={json.dumps(value)}"]
        elif value == usual[name].default:
            continue
        elif name not in OF_FITS:
            raise _no_option(f"{name}={literal(value)}")
        else:
            yield [OF_FITS[name], str(value)]


def _can_be_written(value: object) -> bool:
    """Whether an option can hold a value: a list must be of texts without commas."""
    if not isinstance(value, list):
        return True
    return all(isinstance(one, str) and "," not in one and one == one.strip() for one in value)


def _no_option(what: str) -> DataError:
    return DataError(f"the command line has no option for {what}", hint="use fit.code()")
