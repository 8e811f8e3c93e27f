"""Stage 3, encode: what transforms of a formula learn, from all rows in passes over blocks."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayesvb.data.column_moments import ColumnMoments
from bayesvb.errors import DataError
from bayesvb.formula.columns import with_own_names
from bayesvb.numerics.arrays import RowVector
from bayesvb.numerics.order_statistics import quantiles

Values = Callable[[str], Iterator[RowVector]]
"""Goes over the values of an expression in all rows, a block at a time."""

State = Mapping[str, Any]

REASONS: Mapping[str, str] = {
    name: "its knots are quantiles of the distinct values, and its centre a mean over them"
    for name in ("cr", "cs", "cc")
}
"""Transforms whose state is not learned in passes, and why."""

INSTEAD = "write s(x) for a smooth curve, or bs(x, df=5)"


def exact_states(states: Mapping[str, State], values: Values, n_rows: int) -> dict[str, State]:
    """States of transforms after all rows, from those that a sample has left behind.

    Parameters
    ----------
    states : mapping of str to state
        The formula package's record of each transform, by how the transform is written, columns
        under their aliases.
    values : callable
    n_rows : int
        Number of rows.

    Raises
    ------
    DataError
        Of a transform whose state is not learned so, with the reason.
    """
    return {code: _learned(_Call.of(code), state, values, n_rows) for code, state in states.items()}


@dataclass(frozen=True)
class _Call:
    """A transform as it is written.

    Attributes
    ----------
    code : str
        All of it.
    name : str
        Of the transform.
    of_what : str
        The expression that it transforms.
    options : mapping of str to value
        Its other arguments, by name.
    """

    code: str
    name: str
    of_what: str
    options: Mapping[str, Any]

    @classmethod
    def of(cls, code: str) -> _Call:
        """The transform of this text."""
        call = ast.parse(code.strip(), mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            raise _refused(code, "it is not a call of a transform")
        name = call.func.id
        if name not in LEARNED:
            raise _refused(code, REASONS.get(name, "its estimates are not accessible"))
        inner = {node.func.id for arg in call.args for node in ast.walk(arg)
                 if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}  # fmt: skip
        if inner & (LEARNED.keys() | REASONS.keys()):
            raise _refused(code, "it transforms another transform that depends on all rows")
        if not call.args:
            raise _refused(code, "its first argument is not the column it transforms")
        given = dict(zip(ARGUMENTS[name], call.args[1:], strict=False))
        given |= {one.arg: one.value for one in call.keywords if one.arg}
        options = {key: _literal(code, node) for key, node in given.items()}
        return cls(code, name, ast.unparse(call.args[0]), options)


def _literal(code: str, node: ast.expr) -> object:
    """Value of an argument that is written out."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise _refused(code, "its options are not numbers that are written out") from None


def _refused(code: str, why: str) -> DataError:
    return DataError(
        f"`{with_own_names(code)}` cannot be computed for rows that are not all in memory: {why}",
        hint=f"{INSTEAD}; or make the column in the data",
    )


def _learned(call: _Call, state: State, values: Values, n_rows: int) -> State:
    """State of one transform."""
    return LEARNED[call.name](call, state, values, n_rows)


def _scale(call: _Call, state: State, values: Values, n_rows: int) -> State:
    """Mean and standard deviation, where they were learned and not given."""
    moments = _moments(values(call.of_what))
    new = dict(state)
    if state.get("center") is not None and call.options.get("center", True) is True:
        new["center"] = moments.mean[0]
    name = "rescale" if call.name == "standardize" else "scale"
    if state.get("scale") is not None and call.options.get(name, True) is True:
        centre = state.get("center")
        away = 0.0 if centre is None else float(new["center"])
        square = moments.deviation[0] ** 2 + (moments.mean[0] - away) ** 2
        new["scale"] = np.sqrt(square * (n_rows / (n_rows - state["ddof"])))
    return new


def _moments(batches: Iterator[RowVector]) -> ColumnMoments:
    """Mean and sum of squares of all values."""
    moments = ColumnMoments.of(np.empty((0, 1)))
    for values in batches:
        moments = moments + ColumnMoments.of(values[:, None])
    return moments


def _poly(call: _Call, state: State, values: Values, n_rows: int) -> State:
    """Coefficients of the three-term recurrence, a pass for each degree."""
    if not state:
        return state
    degree = int(call.options.get("degree", 1))
    alpha: dict[int, float] = {}
    norms2: dict[int, float] = {}
    for k in range(degree + 1):
        norm, first = 0.0, 0.0
        for x in values(call.of_what):
            squares = _monic(x, k, alpha, norms2) ** 2
            norm += float(squares.sum())
            first += float((x * squares).sum())
        norms2[k] = norm
        if k < degree:
            alpha[k] = first / norm
    return {**state, "alpha": alpha, "norms2": norms2}


def _monic(
    x: RowVector, k: int, alpha: Mapping[int, float], norms2: Mapping[int, float]
) -> RowVector:
    """The orthogonal polynomial of a degree with leading coefficient one."""
    before, here = np.zeros_like(x), np.ones_like(x)
    for i in range(k):
        beta = norms2[i] / norms2[i - 1] if i else 0.0
        before, here = here, (x - alpha[i]) * here - beta * before
    return here


def _bs(call: _Call, state: State, values: Values, n_rows: int) -> State:
    """Ends, and knots at quantiles of the values between them."""
    options = call.options
    moments = _moments(values(call.of_what))
    given = options.get("lower_bound"), options.get("upper_bound")
    low = float(moments.lowest[0] if given[0] is None else given[0])
    high = float(moments.highest[0] if given[1] is None else given[1])
    degree = int(options.get("degree", 3))
    inner = list(options.get("knots") or [])
    if options.get("df"):
        n_inner = len(state["knots"]) - 2 * (degree + 1)
        inner = _quantiles_between(call, values, (low, high), n_inner)
    ends = [low] * (degree + 1), [high] * (degree + 1)
    return {**state, "lower_bound": low, "upper_bound": high, "knots": [*ends[0], *inner, *ends[1]]}


def _quantiles_between(
    call: _Call, values: Values, ends: tuple[float, float], n_inner: int
) -> list[float]:
    """Evenly spaced quantiles of the values that are not beyond the ends."""
    whole = str(call.options.get("extrapolation", "raise")) in ("raise", "extend")

    def read() -> Iterator[RowVector]:
        for x in values(call.of_what):
            yield x if whole else x[(x >= ends[0]) & (x <= ends[1])]

    count = sum(len(x) for x in read())
    shares = np.linspace(0.0, 1.0, n_inner + 2)[1:-1]
    return [float(knot) for knot in quantiles(read, count, shares.tolist())]


LEARNED: Mapping[str, Callable[[_Call, State, Values, int], State]] = {
    "center": _scale,
    "scale": _scale,
    "standardize": _scale,
    "poly": _poly,
    "bs": _bs,
}
"""Functions that learn the state of each transform."""

ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "center": (),
    "scale": ("center", "scale", "ddof"),
    "standardize": ("center", "rescale", "ddof"),
    "poly": ("degree", "raw"),
    "bs": (
        "df", "knots", "degree", "include_intercept", "lower_bound", "upper_bound",
        "extrapolation",
    ),
}  # fmt: skip
"""Names of the arguments of each, behind the first one."""
