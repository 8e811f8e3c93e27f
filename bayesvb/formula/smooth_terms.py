"""Stage 1, parse: ``s(x, k=10, by=g)``, a smooth curve, as what it says."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from bayesvb.formula.budget import too_costly
from bayesvb.formula.expressions import Code, Role, masked, read_expression, span_of
from bayesvb.formula.limits import LIMITS
from bayesvb.formula.special_terms import SpecialTerm

__all__ = ["SmoothTerm", "read_smooth"]


@dataclass(frozen=True)
class SmoothTerm:
    """A smooth curve of one covariate.

    Attributes
    ----------
    place : SpecialTerm
        Where it stands.
    variable : Code
        What it is a curve of.
    by : str or None
        A column: of each of its levels there is a curve, or its numbers multiply the curve.
    by_role : {"lookup", "levels"}
        Whether the column has levels even if it holds numbers.
    n_knots : int
    """

    place: SpecialTerm
    variable: Code
    by: str | None
    by_role: Role
    n_knots: int

    @property
    def numbers(self) -> tuple[Code, ...]:
        """Expressions of numbers that it reads."""
        return (self.variable,)

    @property
    def columns(self) -> tuple[tuple[str, Role], ...]:
        """Columns that it reads as they stand, and how."""
        return () if self.by is None else ((self.by, self.by_role),)


def read_smooth(place: SpecialTerm) -> SmoothTerm:
    """The smooth that a term writes.

    Raises
    ------
    FormulaError
        With its place, if it has other arguments than a covariate, ``k`` and ``by``.
    """
    inner, start = place.inside()
    code = f"s({inner})"
    try:
        call = ast.parse(masked(code), mode="eval").body
    except SyntaxError as error:
        raise place.refused(f"cannot read `{place.text}`: {error.msg}") from error
    costly = too_costly(call)
    if costly:
        raise place.refused(costly[1])
    if not isinstance(call, ast.Call) or len(call.args) != 1:
        raise place.refused(
            f"`{place.text}` is a curve of {_counted(call)}, and s() takes one",
            "write s(x) + s(z), or for a surface bs(x, df=4):bs(z, df=4)",
        )
    known = {keyword.arg: keyword.value for keyword in call.keywords}
    for name in known:
        if name not in ("k", "by"):
            raise place.refused(f"s() takes a covariate, k= and by=, not `{name}`")
    first, last = span_of(code, call.args[0])
    shift = start - len("s(")
    variable = read_expression(code[first:last], text=place.section.formula, start=shift + first)
    if all(use.role != "value" for use in variable.uses):
        raise place.refused(f"`{place.text}` reads no column of numbers", "write s(x)")
    by, role = _by(place, code, known.get("by"))
    return SmoothTerm(place, variable, by, role, _knots(place, known.get("k")))


def _counted(call: ast.expr) -> str:
    number = len(call.args) if isinstance(call, ast.Call) else 0
    return "nothing" if number == 0 else f"{number} covariates"


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
            raise place.refused(f"by= in `{place.text}` is a column", "write by=g, by=C(g) or by=z")
    first, last = span_of(code, node)
    return code[first:last].strip("`"), role


def _knots(place: SpecialTerm, node: ast.expr | None) -> int:
    """The number after ``k=``."""
    value = LIMITS.knots if node is None else getattr(node, "value", None)
    if not isinstance(value, int) or isinstance(value, bool) or value < LIMITS.least_knots:
        raise place.refused(
            f"k in `{place.text}` is a whole number of at least {LIMITS.least_knots}",
            "k is the number of knots: how wiggly the curve may be at most",
        )
    return value
