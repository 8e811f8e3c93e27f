"""The state of the controls: one model with its seed, as JSON and as lines of code.

A request, its JSON and its lines say the same: each is read back from the others, so that a line
pasted into the page restores the state, and a line copied from it repeats the fit.
"""

from __future__ import annotations

import ast
import json
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

from bayesvb.argument_checks import check_choice, check_count, check_seed, check_text
from bayesvb.errors import DataError
from bayesvb.estimators.shell_line import OF_FITS, OF_MODELS
from bayesvb.experts import EXPERTS
from bayesvb.gates import GATES

MOST_COMPONENTS = 8
"""Components that the control offers; code and files may have more."""

LINES = "bvb.DensityRegression('y ~ x', data).fit(seed=1), or bayesvb fit 'y ~ x' DATA --seed 1"
"""Examples of the lines that are read."""

SHELL_OPTIONS = {
    **{OF_MODELS[name]: name for name in ("n_components", "gate", "family")},
    OF_FITS["seed"]: "seed",
}
"""Arguments that the page has, by option of the command line."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """A density regression to be fitted.

    Attributes
    ----------
    formula : str
        It need not be readable.
    n_components : int
    gate, family : str
        Keys of ``GATES`` and ``EXPERTS``.
    seed : int

    Examples
    --------
    >>> request = Request(formula="accel ~ s(times)", n_components=2)
    >>> print(request.shell("mcycle"))
    bayesvb fit 'accel ~ s(times)' mcycle --components 2 --seed 1
    >>> Request.from_line(request.shell("mcycle")) == request
    True
    """

    formula: str
    n_components: int = 1
    gate: str = "softmax"
    family: str = "gaussian"
    seed: int = 1

    def __post_init__(self) -> None:
        """Check all values but the formula."""
        check_text("formula", self.formula)
        check_count("n_components", self.n_components)
        check_choice("gate", self.gate, tuple(GATES))
        check_choice("family", self.family, tuple(EXPERTS))
        check_seed("seed", self.seed)

    @property
    def options(self) -> dict[str, object]:
        """Arguments of the model beside formula and data."""
        return {"n_components": self.n_components, "gate": self.gate, "family": self.family}

    @property
    def chosen(self) -> dict[str, object]:
        """The options that differ from the defaults, and always the number of components."""
        usual = {field.name: field.default for field in fields(self)}
        return {
            name: value
            for name, value in self.options.items()
            if name == "n_components" or value != usual[name]
        }

    def to_json(self) -> str:
        """Return the request as one line of JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Request:
        """Read a request that ``to_json`` has written.

        Raises
        ------
        DataError
            If the text is not JSON, or not of a request.
        """
        try:
            values = json.loads(text)
        except ValueError as error:
            raise DataError(f"a request is one object of JSON, and this is not: {error}") from None
        return cls.from_values(values)

    @classmethod
    def from_values(cls, values: object) -> Request:
        """Make a request of values by name.

        Raises
        ------
        DataError
            If one is missing, unknown or out of range.
        """
        names = {field.name for field in fields(cls)}
        if not isinstance(values, Mapping) or not {"formula"} <= set(values) <= names:
            listed = ", ".join(sorted(names))
            raise DataError(f"a request has a formula, and of {listed} what is not the default")
        return cls(**values)

    def python(self, data: str) -> str:
        """Return the lines of Python that make this fit.

        Parameters
        ----------
        data : str
            Lines that make the table `data`.
        """
        arguments = "".join(f", {name}={value!r}" for name, value in self.chosen.items())
        return (
            f"import bayesvb as bvb\n\n{data}\n"
            f"model = bvb.DensityRegression({self.formula!r}, data{arguments})\n"
            f"fit = model.fit(seed={self.seed})"
        )

    def shell(self, source: str) -> str:
        """Return the line of a shell that makes this fit.

        Parameters
        ----------
        source : str
            A file, or the name of a shipped data set.
        """
        options = {name: self.chosen.get(key) for name, key in SHELL_OPTIONS.items()}
        options["--seed"] = self.seed
        words = [f"{name} {value}" for name, value in options.items() if value is not None]
        return " ".join(["bayesvb fit", shlex.quote(self.formula), shlex.quote(source), *words])

    @classmethod
    def from_line(cls, text: str) -> Request:
        """Read a line of Python or of a shell back; nothing of it is executed.

        Raises
        ------
        DataError
            If it is no such line, or has an option that the page has not.
        """
        text = text.strip()
        if text.removeprefix("$ ").startswith("bayesvb fit "):
            return cls.from_values(_read_shell(text.removeprefix("$ ")))
        return cls.from_values(_read_python(text))


def _read_shell(line: str) -> dict[str, object]:
    try:
        _, _, formula, _, *words = shlex.split(line)
    except ValueError as error:
        raise DataError(f"this line of a shell cannot be read: {error}", hint=LINES) from None
    values: dict[str, object] = {"formula": formula}
    for option, value in zip(words[::2], [*words[1::2], ""], strict=False):
        if option not in SHELL_OPTIONS:
            listed = ", ".join(SHELL_OPTIONS)
            raise DataError(f"{option!r} is not an option of the page", hint=f"it has {listed}")
        name = SHELL_OPTIONS[option]
        values[name] = int(value) if value.isdecimal() else value
    return values


def _read_python(text: str) -> dict[str, object]:
    """Arguments of the calls of a model and of its ``fit``, which are constants."""
    try:
        calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise DataError("this is neither Python nor a line of a shell", hint=LINES) from None
    by_name = {_name(call): call for call in calls}
    if "DensityRegression" not in by_name:
        raise DataError("no call of DensityRegression is in these lines", hint=LINES)
    model, fit = by_name["DensityRegression"], by_name.get("fit")
    if not model.args:
        raise DataError("DensityRegression is called without a formula", hint=LINES)
    values = {"formula": _constant(model.args[0], "formula")}
    for keyword in [*model.keywords, *(fit.keywords if fit else [])]:
        name = str(keyword.arg)
        values[name] = _constant(keyword.value, name)
    return values


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)


def _constant(node: ast.expr, name: str) -> object:
    if not isinstance(node, ast.Constant):
        raise DataError(f"{name}={ast.unparse(node)[:80]} is not a constant", hint=LINES)
    return node.value
