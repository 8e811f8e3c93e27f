"""The state of the controls: one model with its seed, as JSON and as lines of code.

A request, its JSON and its lines say the same: each is read back from the others, so that a line
pasted into the page restores the state, and a line copied from it repeats the fit.
"""

from __future__ import annotations

import ast
import json
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import pandas as pd

from bayesvb.argument_checks import check_choice, check_seed, check_text, shown
from bayesvb.errors import DataError
from bayesvb.estimators import COMMAND_NAMES, MODELS
from bayesvb.estimators.shell_line import OF_FITS as OPTIONS
from bayesvb.estimators.shell_line import OF_MODELS, command_line
from bayesvb.interactive.model_controls import (
    PRIORS,
    ModelControl,
    fit_controls,
    model_controls,
    prior_controls,
)
from bayesvb.results.fit_call import FitCall, argument

DEFAULT_MODEL = "DensityRegression"
"""The model of a line that names none."""

LINES = "bvb.DensityRegression('y ~ x', data).fit(seed=1), or bayesvb fit 'y ~ x' DATA --seed 1"
"""Examples of the lines that are read."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """A model to be fitted.

    Attributes
    ----------
    formula : str
        It need not be readable.
    model : str
        Name of its class.
    options : Mapping of str to value
        Arguments of the model that do not have their default.
    priors : Mapping of str to value
        Fields of the priors that do not have their default.
    arguments : Mapping of str to value
        Arguments of the fit of all rows that do not have their default.
    order : str
        Column that defines the order of the rows for the checks; empty if none does.
    seed : int

    Examples
    --------
    >>> request = Request(formula="accel ~ s(times)", options={"n_components": 2})
    >>> print(request.shell("mcycle"))
    bayesvb fit 'accel ~ s(times)' mcycle --components 2 --seed 1
    >>> Request.from_line(request.shell("mcycle")) == request
    True
    """

    formula: str
    model: str = DEFAULT_MODEL
    options: Mapping[str, Any] = field(default_factory=dict)
    priors: Mapping[str, object] = field(default_factory=dict)
    arguments: Mapping[str, Any] = field(default_factory=dict)
    order: str = ""
    seed: int = 1

    def __post_init__(self) -> None:
        """Check all values but the formula."""
        check_text("formula", self.formula)
        check_choice("model", self.model, tuple(MODELS))
        _check(self.options, model_controls(self.model), "options")
        _check(self.priors, prior_controls(self.model), "priors")
        _check(self.arguments, fit_controls(self.model), "arguments")
        check_text("order", self.order)
        check_seed("seed", self.seed)

    def __hash__(self) -> int:
        """Hash of the JSON: mappings have none."""
        return hash(self.to_json())

    @property
    def size(self) -> int | None:
        """Number of components; None if the model has none, or chooses it by the data."""
        kind = MODELS[self.model]
        name = getattr(kind, "size_name", "n_components")
        default = model_controls(self.model).get(name)
        size = self.options.get(name, default and default.default)
        return size if isinstance(size, int) else None

    def make_model(self, frame: pd.DataFrame) -> Any:
        """Return the model of these rows."""
        priors = PRIORS[self.model](**self.priors) if self.priors else None
        return MODELS[self.model](self.formula, frame, **self.options, priors=priors)

    def to_json(self) -> str:
        """Return the request as one line of JSON."""
        return json.dumps(asdict(self), ensure_ascii=False, sort_keys=True)

    @classmethod
    def from_values(cls, values: object) -> Request:
        """Make a request from values by name; options with their default may be omitted.

        Raises
        ------
        DataError
            If one is missing, unknown or out of range.
        """
        names = {one.name for one in fields(cls)}
        if not isinstance(values, Mapping) or not {"formula"} <= set(values) <= names:
            listed = ", ".join(sorted(names))
            raise DataError(
                f"a request must have a formula, and may have these arguments: {listed}"
            )
        model = values.get("model", DEFAULT_MODEL)
        check_choice("model", model, tuple(MODELS))
        return cls(
            formula=values["formula"],
            model=model,
            options=_changed(values.get("options"), model_controls(model)),
            priors=_changed(values.get("priors"), prior_controls(model)),
            arguments=_changed(values.get("arguments"), fit_controls(model)),
            order=values.get("order", ""),
            seed=values.get("seed", 1),
        )

    @property
    def call(self) -> FitCall:
        """The call of the library that makes this fit."""
        options = {name: value for name, value in self.options.items() if name != "weights"}
        priors = ", ".join(argument(name, value) for name, value in self.priors.items())
        return FitCall(
            model=self.model,
            formula=self.formula,
            options=options,
            priors=f"bvb.{PRIORS[self.model].__name__}({priors})" if priors else "",
            arguments={**self.arguments, "seed": self.seed},
            steps=(f"fit.check(order=data[{self.order!r}])",) if self.order else (),
        )

    def python(self, data: str) -> str:
        """Return the lines of Python that make this fit.

        Parameters
        ----------
        data : str
            Lines that make the table `data`.
        """
        weights = self.options.get("weights")
        return self.call.python(f"{data}\n", repr(weights) if weights else "").rstrip()

    def shell(self, source: str) -> str:
        """Return the line of a shell that makes this fit; empty if its options do not suffice.

        Parameters
        ----------
        source : str
            A file, or the name of a shipped data set.
        """
        if self.priors:
            return ""
        try:
            return command_line(self.call, MODELS[self.model], source, self.options.get("weights"))
        except DataError:
            return ""

    @classmethod
    def from_line(cls, text: str) -> Request:
        """Read a line of Python or of a shell back; nothing of it is executed.

        Raises
        ------
        DataError
            If it is another line, or has an option that the page lacks.
        """
        text = text.strip()
        if text.removeprefix("$ ").startswith("bayesvb fit "):
            return cls.from_values(_read_shell(text.removeprefix("$ ")))
        return cls.from_values(_read_python(text))


def _check(values: Mapping[str, object], controls: Mapping[str, ModelControl], what: str) -> None:
    """Raise for values that no control can have."""
    for name, value in values.items():
        check_choice(what, name, tuple(controls))
        controls[name].check(value)


def _changed(values: object, controls: Mapping[str, ModelControl]) -> dict[str, object]:
    """Values that differ from the defaults; None is a default."""
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise DataError(f"{shown(values)} are not options by name")
    usual = {name: control.default for name, control in controls.items()}
    return {
        str(name): value
        for name, value in values.items()
        if value is not None and (name not in usual or value != usual[name])
    }


def _read_shell(line: str) -> dict[str, object]:
    try:
        _, _, formula, _, *words = shlex.split(line)
    except ValueError as error:
        raise DataError(f"this line of a shell cannot be read: {error}", hint=LINES) from None
    given = dict(_options_of(words))
    name = given.pop("--model", "density")
    check_choice("--model", name, tuple(COMMAND_NAMES))
    model = COMMAND_NAMES[name]
    values: dict[str, object] = {"formula": formula, "model": model}
    if OPTIONS["seed"] in given:
        values["seed"] = _number(given.pop(OPTIONS["seed"]))
    declared = {"options": model_controls(model), "arguments": fit_controls(model)}
    written = {"options": {**OF_MODELS, "weights": "--weights"}, "arguments": OPTIONS}
    for what, controls in declared.items():
        known = {
            written[what][name]: one for name, one in controls.items() if name in written[what]
        }
        values[what] = {
            known[option].name: _option(known[option], given.pop(option))
            for option in [*given]
            if option in known
        }
    if given:
        raise DataError(f"{next(iter(given))!r} is not an option of the page", hint=LINES)
    return values


def _options_of(words: list[str]) -> list[tuple[str, str]]:
    """Options with their values; flags have none."""
    starts = [i for i, word in enumerate(words) if word.startswith("--")]
    ends = [*starts[1:], len(words)]
    return [(words[i], " ".join(words[i + 1 : j])) for i, j in zip(starts, ends, strict=True)]


def _option(control: ModelControl, text: str) -> object:
    if control.kind == "flag":
        return True
    if control.kind == "levels":
        return [label.strip() for label in text.split(",")]
    return _number(text) if control.kind == "count" else text


def _number(text: str) -> object:
    return int(text) if text.isdecimal() else text


def _read_python(text: str) -> dict[str, object]:
    """Arguments of the calls of a model, of its priors and of its ``fit``, which are constants."""
    try:
        calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise DataError("this is neither Python nor a line of a shell", hint=LINES) from None
    by_name = {_name(call): call for call in calls}
    model = next((name for name in MODELS if name in by_name), None)
    if model is None:
        raise DataError(f"no call of {', '.join(MODELS)} is in these lines", hint=LINES)
    call, fit, check = by_name[model], by_name.get("fit"), by_name.get("check")
    if not call.args:
        raise DataError(f"{model} is called without a formula", hint=LINES)
    options = {str(one.arg): one.value for one in call.keywords}
    priors = options.pop("priors", None)
    arguments = {
        str(one.arg): _constant(one.value, str(one.arg)) for one in (fit.keywords if fit else ())
    }
    return {
        "formula": _constant(call.args[0], "formula"),
        "model": model,
        "options": {name: _constant(node, name) for name, node in options.items()},
        "priors": _read_priors(priors),
        "arguments": arguments,
        "order": _order(check) if check else "",
        **({"seed": arguments.pop("seed")} if "seed" in arguments else {}),
    }


def _order(check: ast.Call) -> object:
    """Column whose name is in ``fit.check(order=data["column"])``."""
    given = [one.value for one in check.keywords if one.arg == "order"]
    if not given or not isinstance(given[0], ast.Subscript):
        raise DataError(f"{ast.unparse(check)[:80]} names no column", hint="order=data['time']")
    return _constant(given[0].slice, "order")


def _read_priors(node: ast.expr | None) -> dict[str, object]:
    if node is None:
        return {}
    if not isinstance(node, ast.Call):
        raise DataError(
            f"priors={ast.unparse(node)[:80]} is not a call", hint="write priors=bvb.Priors(...)"
        )
    return {str(one.arg): _constant(one.value, str(one.arg)) for one in node.keywords}


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)


def _constant(node: ast.expr, name: str) -> object:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError, MemoryError):
        raise DataError(f"{name}={ast.unparse(node)[:80]} is not a constant", hint=LINES) from None
