"""The call that makes a fit again from the same data, and the lines of Python that it is."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bayesvb.argument_checks import shown
from bayesvb.data.partly_kept import PartlyKept
from bayesvb.engines import DEFAULT_METHOD
from bayesvb.engines.base import Budget
from bayesvb.engines.restarts import PREVIOUS_FIT
from bayesvb.engines.traces import number_before
from bayesvb.errors import DataError
from bayesvb.results.exact_draws import has_automatic_draws
from bayesvb.results.named_draws import count
from bayesvb.sensitivity.covariance import NOT_ASKED

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit, AbstractPublicModel

START = "start"
"""Argument with the fit that another one continues, a variable of this name."""

WEIGHTS = "weights"
"""Argument with the case weights, and a variable with them."""

LATER = "# rows came or went afterwards: fit.update(...), fit.downdate(...)"
"""Comment on a fit that a call alone does not make."""

CUT = "# the fit was interrupted: this one runs to its end"
"""Likewise on one that was ended by Ctrl-C, or by time."""


@dataclass(frozen=True, kw_only=True)
class FitCall:
    """Model and arguments of a fit, and later changes of the fit.

    Attributes
    ----------
    model : str
        Name of the class.
    formula : str
        Canonical formula.
    options : Mapping of str to value
        Arguments of the model, other than formula, data, priors and weights.
    priors : str
        Code of the priors; empty if they are the defaults.
    arguments : Mapping of str to value
        Arguments of ``model.fit``.
    steps : tuple of str
        Lines of Python that follow.
    earlier : str
        Lines of Python that make the fit from which this one starts, if they are known.
    """

    model: str
    formula: str
    options: Mapping[str, object]
    priors: str
    arguments: Mapping[str, object]
    steps: tuple[str, ...]
    earlier: str = ""

    @classmethod
    def from_fit(cls, fit: AbstractFit) -> FitCall:
        """Return the call that makes this fit again."""
        model, before = fit.model, number_before(fit.restarts)
        given = {**model.options(), **({model.size_name: before} if before else {})}
        if model.design.context:
            given["context"] = model.design.context
        without = {"priors", "gate"} if given.get("n_components") == 1 else {"priors"}
        return cls(
            model=type(model).__name__,
            formula=model.formula.canonical(gate=model.size > 1 or model.formula.gating_given),
            options={name: value for name, value in given.items() if name not in without},
            priors=priors_code(model.priors, model.default_priors(model.size)),
            arguments=_arguments(fit),
            steps=tuple(_steps(fit)),
            earlier=fit.start_code,
        )

    def python(self, data: str, weights: str = "") -> str:
        """Lines of Python of the call.

        Parameters
        ----------
        data : str
            Lines that make the variable ``data``, or a comment.
        weights : str
            Code of the case weights; empty if there are none.
        """
        earlier = self.earlier.replace(f"{WEIGHTS}={WEIGHTS}", f"{WEIGHTS}={weights}")
        return f"import bayesvb as bvb\n\n{data}{earlier}{self.lines(weights)}"

    def lines(self, weights: str) -> str:
        """Return the lines from the model on; see ``python``."""
        options = {
            name: name if name == "context" else literal(value)
            for name, value in self.options.items()
        }
        if self.priors:
            options["priors"] = self.priors
        if weights:
            options[WEIGHTS] = weights
        lines = [repr(self.formula), "data", *(f"{key}={code}" for key, code in options.items())]
        start = "fit" if self.earlier else START
        arguments = ", ".join(
            f"{name}={start if name == START else literal(value)}"
            for name, value in self.arguments.items()
        )
        return (
            f"model = bvb.{self.model}(\n"
            + "".join(f"    {line},\n" for line in lines)
            + f")\nfit = model.fit({arguments})\n"
            + "".join(f"{step}\n" for step in self.steps)
        )


def python_code(fit: AbstractFit, data: str | None, weights: str | None) -> str:
    """Lines of Python that make a fit again; see ``Fit.code``."""
    call, n_rows = FitCall.from_fit(fit), len(fit.model.design.complete)
    comments = [] if data else [f"data: the data frame, {n_rows} rows"]
    if fit.model.weights is not None and weights is None:
        comments.append("weights: one number per row")
    if call.options.get("context"):
        comments.append("context: the functions that the formula calls")
    if START in call.arguments and not call.earlier:
        comments.append("start: the fit that the first restart continued")
    lines = f"data = {_expression(data)}\n" if data else ""
    lines += f"# {'; '.join(comments)}\n" if comments else ""
    weights_code = "" if fit.model.weights is None else repr(weights) if weights else WEIGHTS
    return call.python(lines, weights_code)


def prelude(model: AbstractPublicModel, start: AbstractFit | str | None) -> str:
    """Code of the fit from which a fit of the model starts; empty if it is of other rows."""
    if start is None or isinstance(start, str):  # the name of an engine's initialisation
        return ""
    before = start.model
    weights, others = (np.array(one.weights, dtype=float) for one in (model, before))  # None is NaN
    same = before.design.frame.equals(model.design.frame)
    if not same or not np.array_equal(weights, others, equal_nan=True):
        return ""
    call = FitCall.from_fit(start)
    return call.earlier + call.lines("" if model.weights is None else WEIGHTS)


def _expression(code: str) -> str:
    """The code, if it is an expression of Python.

    Raises
    ------
    DataError
        If it is not.
    """
    try:
        ast.parse(code, mode="eval")
    except (SyntaxError, ValueError) as error:
        raise DataError(
            f"data={shown(code)} is not an expression of Python",
            hint="""write the code that loads the data: 'pandas.read_csv("data.csv")'""",
        ) from error
    return code.strip()


def _arguments(fit: AbstractFit) -> dict[str, object]:
    """Arguments of ``model.fit``, without defaults after the first two."""
    n_restarts = len(fit.restarts) - bool(number_before(fit.restarts))
    arguments: dict[str, object] = {"restarts": n_restarts, "draws": count(fit.variational_draws)}
    if fit.method != DEFAULT_METHOD:
        arguments["method"] = fit.method
    if (combine := _combine(fit)) != fit.model.default_combination:
        arguments["combine"] = combine
    if covariance := _covariance(fit):
        arguments["covariance"] = covariance
    if fit.tol not in (None, Budget.tol):
        arguments["tol"] = fit.tol
    if fit.max_iter not in (None, Budget.max_iter):
        arguments["max_iter"] = fit.max_iter
    if PREVIOUS_FIT in fit.restarts["initialisation"].to_numpy():
        arguments["start"] = START
    return {**arguments, **fit.method_options, "seed": fit.seed}


def _combine(fit: AbstractFit) -> str:
    """Combination of the restarts."""
    if "weight" not in fit.restarts:
        return "best"
    weights = fit.restarts["weight"].to_numpy()
    return "average" if len(weights) > 1 and bool((weights == weights[0]).all()) else "stack"


def _covariance(fit: AbstractFit) -> str:
    """Argument for what intervals are made of; empty for the default."""
    if fit.response.failure == NOT_ASKED:
        return "mean-field"
    plain = not (fit.automatic or fit.members) and fit.covariance == "linear-response"
    return "linear-response" if plain and has_automatic_draws(fit) else ""


def _steps(fit: AbstractFit) -> list[str]:
    """Lines for later changes of the fit: components removed, another covariance, other rows."""
    steps = ["fit = bvb.prune(fit)"] if number_before(fit.restarts) else []
    robust = fit.robust
    if robust is not None and (robust.clustered or fit.model.weight_type != "sampling"):
        clusters = ", cluster=cluster" if robust.clustered else ""
        steps.append(f'fit = fit.with_covariance("robust"{clusters})')
    if not fit.automatic and fit.sampler is not None:
        steps.append(f'fit = fit.with_covariance("{fit.covariance}")')
    if isinstance(fit.model.source, PartlyKept):
        steps.append(LATER)
    if fit.is_interrupted:
        steps.append(CUT)
    return steps


def priors_code(priors: object, default: object = None) -> str:
    """Code of the priors; empty if they are the defaults of the model."""
    changed = changed_fields(priors, type(priors)() if default is None else default)
    if default is not None and not changed:
        return ""
    code = ", ".join(argument(name, value) for name, value in changed.items())
    return f"bvb.{type(priors).__name__}({code})"


def changed_fields(priors: object, default: object) -> dict[str, object]:
    """Fields of priors that differ from the default of the model, by name."""
    usual = vars(default)
    return {name: value for name, value in vars(priors).items() if value != usual[name]}


def changed_priors(model: AbstractPublicModel) -> dict[str, object]:
    """Fields of a model's priors that differ from its default, by name."""
    return changed_fields(model.priors, model.default_priors(model.size))


def argument(name: str, value: object) -> str:
    """Code of an argument.

    Examples
    --------
    >>> argument("family", "student")
    "family='student'"
    """
    return f"{name}={priors_code(value) if name == 'priors' else literal(value)}"


def literal(value: object) -> str:
    """Return the code of a value; NumPy numbers as Python numbers.

    Examples
    --------
    >>> literal([np.float64(0.5), "a"])
    "[0.5, 'a']"
    """
    if isinstance(value, list | tuple):
        ends = "[]" if isinstance(value, list) else "()"
        return ends[0] + ", ".join(literal(one) for one in value) + ends[1]
    return repr(value.item() if isinstance(value, np.generic) else value)
