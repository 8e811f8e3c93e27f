"""Stage 1, parse: ``s(x, k=10, by=g)``, a smooth curve, as its meaning."""

from __future__ import annotations

import ast
import math
from dataclasses import dataclass

from bayesvb.formula.budget import too_costly
from bayesvb.formula.expressions import Code, Role, masked, read_expression, span_of
from bayesvb.formula.limits import LIMITS
from bayesvb.formula.special_terms import SpecialTerm

Period = tuple[float, float]
"""Ends of the period of a periodic curve."""


@dataclass(frozen=True)
class SmoothTerm:
    """A smooth curve of one covariate, or a smooth surface over two.

    Attributes
    ----------
    place : SpecialTerm
        Where it stands.
    variables : tuple of Code
        Covariates of the curve, or surface.
    by : str or None
        A column: of each of its levels there is a curve, or its numbers multiply the curve.
    by_role : {"lookup", "levels"}
        Whether the column has levels even if it holds numbers.
    n_knots : tuple of int
        Of each covariate.
    periods : tuple
        Of each covariate; None where the curve is not periodic.
    """

    place: SpecialTerm
    variables: tuple[Code, ...]
    by: str | None
    by_role: Role
    n_knots: tuple[int, ...]
    periods: tuple[Period | None, ...]

    @property
    def numbers(self) -> tuple[Code, ...]:
        """Expressions of numbers that it reads."""
        return self.variables

    @property
    def columns(self) -> tuple[tuple[str, Role], ...]:
        """Columns that it reads as they stand, and how."""
        return () if self.by is None else ((self.by, self.by_role),)


ARGUMENTS = {"s": ("k", "by", "bs", "period"), "te": ("k", "bs", "period")}
"""Arguments of the functions besides covariates."""


def read_smooth(place: SpecialTerm) -> SmoothTerm:
    """The smooth that a term writes.

    Raises
    ------
    FormulaError
        With its place, if it has other arguments than covariates, ``k``, ``bs``, ``period`` and,
        for a curve, ``by``.
    """
    inner, start = place.inside()
    name = place.text.partition("(")[0].strip()
    code = f"{name}({inner})"
    try:
        call = ast.parse(masked(code), mode="eval").body
    except SyntaxError as error:
        raise place.refused(f"cannot read `{place.text}`: {error.msg}") from error
    costly = too_costly(call)
    if costly:
        raise place.refused(costly[1])
    _check_arguments(place, name, call)
    assert isinstance(call, ast.Call)
    known = {str(keyword.arg): keyword.value for keyword in call.keywords}
    shift = start - len(name) - 1
    variables = []
    for argument in call.args:
        first, last = span_of(code, argument)
        read = read_expression(code[first:last], text=place.section.formula, start=shift + first)
        if all(use.role != "value" for use in read.uses):
            raise place.refused(f"`{place.text}` reads no column of numbers", "write s(x)")
        variables.append(read)
    by, role = _by(place, code, known.get("by"))
    periods = _periods(place, len(variables), known.get("bs"), known.get("period"))
    knots = _knots(place, periods, known.get("k"))
    return SmoothTerm(place, tuple(variables), by, role, knots, periods)


def _check_arguments(place: SpecialTerm, name: str, call: ast.expr) -> None:
    number = len(call.args) if isinstance(call, ast.Call) else 0
    takes = {"s": 1, "te": 2}[name]
    counted = "no covariate" if number == 0 else f"{number} covariate" + "s" * (number > 1)
    if number != takes:
        more = f"te({', '.join('xzvw'[:number])})" if number == 2 else "s(x) + s(z)"
        raise place.refused(
            f"`{place.text}` has {counted}, and {name}() takes {('one', 'two')[takes - 1]}",
            f"write s(x) for a curve, te(x, z) for a surface, {more}" if number else "write s(x)",
        )
    assert isinstance(call, ast.Call)
    for keyword in call.keywords:
        if keyword.arg not in ARGUMENTS[name]:
            known = ", ".join(f"{one}=" for one in ARGUMENTS[name])
            raise place.refused(f"{name}() takes covariates and {known}, not `{keyword.arg}`")


def _by(place: SpecialTerm, code: str, node: ast.expr | None) -> tuple[str | None, Role]:
    """The column after ``by=``, alone or inside C()."""
    if node is None:
        return None, "lookup"
    role: Role = "lookup"
    match node:
        case ast.Call(func=ast.Name(id="C"), args=[ast.Name() as name], keywords=[]):
            role, node = "levels", name
        case ast.Name():
            pass
        case _:
            raise place.refused(
                f"by= in `{place.text}` must be a column", "write by=g, by=C(g) or by=z"
            )
    first, last = span_of(code, node)
    return code[first:last].strip("`"), role


def _values(node: ast.expr | None) -> object:
    """A literal; the node itself if it is none."""
    try:
        return None if node is None else ast.literal_eval(node)
    except (ValueError, TypeError):
        return node


def _periods(
    place: SpecialTerm, size: int, bs: ast.expr | None, period: ast.expr | None
) -> tuple[Period | None, ...]:
    """Period of each covariate; None if its curve is not periodic."""
    kinds = _values(bs)
    each = kinds if isinstance(kinds, tuple) else ("cr" if kinds is None else kinds,) * size
    if len(each) != size or not all(kind in ("cr", "cc") for kind in each):
        raise place.refused(
            f"bs in `{place.text}` must be 'cr' (natural cubic) or 'cc' (periodic), one for each"
        )
    given = _values(period)
    several = isinstance(given, tuple) and all(isinstance(one, tuple) for one in given)
    pairs = given if isinstance(given, tuple) and several else (given,)
    ends = [] if given is None else [_ends(pair) for pair in pairs]
    if len(ends) != each.count("cc") or None in ends:
        raise place.refused(
            f"`{place.text}` needs the start and the end of each period",
            "write s(hour, bs='cc', period=(0, 24))",
        )
    rest = iter(ends)
    return tuple(next(rest) if kind == "cc" else None for kind in each)


def _ends(pair: object) -> Period | None:
    """Two finite numbers, the second of them larger; None if it is anything else."""
    if not isinstance(pair, tuple) or len(pair) != 2:
        return None
    if not all(type(one) in (int, float) and abs(one) < 1e100 for one in pair):
        return None
    return (float(pair[0]), float(pair[1])) if pair[0] < pair[1] else None


def _knots(
    place: SpecialTerm, periods: tuple[Period | None, ...], node: ast.expr | None
) -> tuple[int, ...]:
    """The numbers after ``k=``: one, or one of each covariate."""
    given = _values(node)
    if given is None:
        curve = tuple(LIMITS.knots if one is None else LIMITS.cyclic_knots for one in periods)
        return curve if len(periods) == 1 else (LIMITS.surface_knots,) * len(periods)
    each = given if isinstance(given, tuple) else (given,) * len(periods)
    whole = tuple(one for one in each if isinstance(one, int) and not isinstance(one, bool))
    if not len(whole) == len(each) == len(periods) or min(whole) < LIMITS.least_knots:
        raise place.refused(
            f"k in `{place.text}` must be a whole number of at least {LIMITS.least_knots}",
            "k is the number of knots, which limits the flexibility of the curve",
        )
    if math.prod(whole) > LIMITS.basis:
        raise place.refused(f"`{place.text}` can have at most {LIMITS.basis} columns")
    return whole
