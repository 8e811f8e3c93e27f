"""Statements about coefficients, as ``x > 2 * z``: estimates, intervals and probabilities."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bayesvb.argument_checks import shown
from bayesvb.data.line_width import PrintedTable
from bayesvb.data.parts import MEAN
from bayesvb.distributions.intervals import tails
from bayesvb.errors import DataError
from bayesvb.formula.formula_changes import written
from bayesvb.numerics.arrays import Floats
from bayesvb.results.summary import coefficient_draws

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit


REFERENCE = re.compile(
    r"(?<![\w.`])(?:(?P<part>[A-Za-z_]\w*)\.)?"
    r"(?:`(?P<quoted>[^`]+)`|(?P<name>[A-Za-z_]\w*(?:\[(?!\d+\])[^\]]+\])?))"
    r"(?:\[(?P<component>\d+)\])?(?![\w.\[]|\s*\()"
)
"""A coefficient: part and component are optional, and a name may be in backquotes."""

OPERATORS: Mapping[type[ast.operator], Callable[[Floats, Floats], Floats]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
"""Arithmetic of a statement."""

FUNCTIONS: Mapping[str, Callable[[Floats], Floats]] = {"exp": np.exp, "log": np.log}
"""Functions of a statement: ratios are exponentials of coefficients on a log scale."""

EXAMPLE = "write for example 'x > 0', 'x - z' or 'x[1] = x[2]'"


@dataclass(frozen=True)
class Hypothesis:
    """Statement about the draws of coefficients.

    Attributes
    ----------
    difference : ndarray, shape (draws,)
        Left side minus right side.
    relation : {">", "<", ""}
        Empty of a combination, or where both sides are equal.
    """

    difference: Floats
    relation: str

    @property
    def probability(self) -> float:
        """Share of the draws in which the statement holds; NaN where it has no direction."""
        if not self.relation:
            return float("nan")
        holds = self.difference > 0.0 if self.relation == ">" else self.difference < 0.0
        return float(holds.mean())


def hypothesis_table(
    fit: AbstractFit, statements: str | Sequence[str], prob: float
) -> pd.DataFrame:
    """Table of the statements; see ``Fit.hypothesis``."""
    if fit.is_point_estimate:
        raise DataError(
            f"method={fit.method!r} estimates points, and statements need draws of coefficients",
            hint="fit with method='cavi' or method='nuts'",
        )
    texts = [statements] if isinstance(statements, str) else list(statements)
    draws = coefficient_draws(fit)
    rows = []
    for text in texts:
        statement = read_statement(text, draws)
        lower, upper = np.quantile(statement.difference, tails(prob))
        estimate, sd = statement.difference.mean(), statement.difference.std(ddof=1)
        rows.append((estimate, sd, lower, upper, statement.probability))
    columns = ["estimate", "sd", "lower", "upper", "probability"]
    return PrintedTable(rows, columns=columns, index=pd.Index(texts, name="hypothesis"))


def read_statement(text: str, draws: pd.DataFrame) -> Hypothesis:
    """Return the statement in a text, with the draws of the coefficients it names.

    Parameters
    ----------
    text : str
    draws : pandas.DataFrame
        A column for each coefficient, labelled (part, component, term).

    Raises
    ------
    DataError
        If the text is not a statement, or a name is unknown or has several components.

    Examples
    --------
    >>> import pandas as pd
    >>> columns = pd.MultiIndex.from_tuples([("mean", 1, "x"), ("mean", 1, "z")])
    >>> draws = pd.DataFrame([[1.0, 2.0], [3.0, 2.0]], columns=columns)
    >>> read_statement("x > z", draws).probability
    0.5
    """
    values: dict[str, Floats] = {}

    def named(match: re.Match[str]) -> str:
        name = f"_{len(values)}"
        values[name] = _coefficient(match, text, draws)
        return name

    code = REFERENCE.sub(named, _quoted(text, [str(label[2]) for label in draws.columns]))
    relation = next((sign for sign in "<>" if sign in code), "")
    sides = re.split(r"==|[<>=]", code)
    if not values or len(sides) > 2 or not all(side.strip() for side in sides):
        raise DataError(f"{shown(text)} is not a statement about coefficients", hint=EXAMPLE)
    left, *right = (_evaluated(side, text, values) for side in sides)
    difference = np.broadcast_to(left - right[0] if right else left, len(draws))
    return Hypothesis(difference, relation)


def _quoted(text: str, terms: Sequence[str]) -> str:
    """Return the statement with names such as ``g[T.b]``, or ``g[b]`` for short, in backquotes."""
    names = {name.replace("[T.", "["): name for name in terms if not name.isidentifier()}
    names |= {name: name for name in names.values()}
    longest = sorted(names, key=len, reverse=True)
    known = "|".join(map(re.escape, longest))
    pattern = rf"`(?P<inside>[^`]*)`|(?<![\w:])(?:{known})(?![\w:.])" if known else "`([^`]*)`"

    def quoted(match: re.Match[str]) -> str:
        name = match[1] if match[0].startswith("`") else match[0]
        return f"`{names.get(name, name)}`"

    return re.sub(pattern, quoted, text)


def _coefficient(match: re.Match[str], text: str, draws: pd.DataFrame) -> Floats:
    """Draws of the one coefficient that a reference in the text names."""
    part = (match["part"] or MEAN).replace("_", " ")
    term = match["quoted"] or match["name"]
    written = match[0]
    labels = [label for label in draws.columns if label[0] == part and label[2] == term]
    if not labels:
        terms = dict.fromkeys(label[2] for label in draws.columns if label[0] == part)
        parts = dict.fromkeys(label[0] for label in draws.columns)
        if not terms:
            listed = ", ".join(str(name).replace(" ", "_") for name in parts)
            raise DataError(f"{shown(text)}: no part is {part!r}", hint=f"the parts are {listed}")
        what = f"the part {part!r} has no coefficient {term!r}"
        raise DataError(f"{shown(text)}: {what}", hint=_known(term, list(terms)))
    if match["component"]:
        labels = [label for label in labels if str(label[1]) == match["component"]]
        if not labels:
            raise DataError(
                f"{shown(text)}: {written} has no such component",
                hint="fit.components() lists the components",
            )
    if len(labels) > 1:
        numbers = ", ".join(str(label[1]) for label in labels)
        raise DataError(
            f"{shown(text)}: {written} has a coefficient in each of the components {numbers}",
            hint=f"name the component: {written}[{labels[0][1]}]",
        )
    return draws[labels[0]].to_numpy()


def _known(name: str, names: Sequence[str]) -> str:
    """Hint with the nearest of the names, or all of them but single groups."""
    levels = [one for one in names if "[" in name and one.startswith(name.split("[")[0] + "[T.")]
    if levels:
        return f"the reference level has the coefficient 0; the others are {', '.join(levels)}"
    if near := get_close_matches(name, names, 1):
        return f"did you mean {written(near[0])}?"
    shared = [one for one in names if " | " not in one]
    return f"write one of {', '.join(map(written, shared))}"


def _evaluated(code: str, text: str, values: Mapping[str, Floats]) -> Floats:
    """Value of one side of a statement in every draw."""
    try:
        return np.asarray(_value(ast.parse(code.strip(), mode="eval").body, values))
    except (SyntaxError, ValueError, KeyError, RecursionError, MemoryError) as error:
        raise DataError(
            f"{shown(text)} is not a statement about coefficients", hint=EXAMPLE
        ) from error


def _value(node: ast.expr, values: Mapping[str, Floats]) -> Floats:
    match node:
        case ast.Name(id=name):
            return values[name]
        case ast.Constant(value=int() | float() as number):
            return np.asarray(float(number))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return np.asarray(-_value(operand, values))
        case ast.BinOp(left=left, op=op, right=right):
            return np.asarray(OPERATORS[type(op)](_value(left, values), _value(right, values)))
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]):
            return np.asarray(FUNCTIONS[name](_value(argument, values)))
    raise ValueError(ast.dump(node))
