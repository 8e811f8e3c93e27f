"""Stage 1, parse: what reading and evaluating a formula may cost, checked before it is paid.

A formula may come from a file or a web form. Its length, the depth of its brackets, the number and
the order of its interactions, and the columns that its transforms make are bounded here, by counts
that need no expansion.
"""

from __future__ import annotations

import ast
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from math import inf, prod
from typing import TYPE_CHECKING, Any

from bayesvb.errors import FormulaError
from bayesvb.formula.limits import LIMITS

if TYPE_CHECKING:
    from bayesvb.formula.tokens import Section

LARGEST_BASES = {"hashed": 1000}
"""Limits of transforms that may create more columns."""

BASES = {"bs", "cc", "cr", "cs", "poly", "hashed", "s"}
"""Transforms that make several columns."""

SIZES = {"df", "degree", "k", "knots", "levels"}
"""Their arguments that say how many."""


def check_text(text: str) -> None:
    """Refuse a formula that is too long, too deeply nested, or not text.

    Raises
    ------
    FormulaError
        With the place.
    """
    if len(text) > LIMITS.characters:
        raise FormulaError(
            f"{text[:60]} ...",
            f"the formula has {len(text)} characters; the limit is {LIMITS.characters}",
            hint="`.` stands for all columns that are not named elsewhere",
        )
    for at, sign in enumerate(text):
        if not sign.isspace() and unicodedata.category(sign) in ("Cc", "Cs"):
            raise FormulaError(
                text, f"the formula contains the control character {sign!a}", (at, at)
            )
    depth = 0
    for at, sign in enumerate(text):
        depth += (sign in "([{") - (sign in ")]}")
        if depth > LIMITS.brackets:
            why = f"cannot read brackets more than {LIMITS.brackets} deep"
            raise FormulaError(text, why, (at, at))
    _check_quoted_names(text)


def _check_quoted_names(text: str) -> None:
    """Names in backquotes stand on one line."""
    ticks = [at for at, sign in enumerate(text) if sign == "`"]
    for first, last in list(pairwise(ticks))[::2]:
        for at in range(first, last):
            if text[at].isspace() and text[at] != " ":
                raise FormulaError(
                    text,
                    f"a name in backquotes holds {text[at]!a}",
                    (at, at),
                    "rename the column in the data: a name can hold blanks, but no other space",
                )


def too_costly(tree: ast.AST) -> tuple[ast.AST, str] | None:
    """Node that makes an expression too costly, with the reason; None if none does.

    Examples
    --------
    >>> too_costly(ast.parse("bs(x, df=100000)", mode="eval"))[1]
    'bs() makes at most 200 columns'
    >>> too_costly(ast.parse("bs(x, df=6)", mode="eval")) is None
    True
    """
    for node, depth in _with_depth(tree):
        if depth > LIMITS.chain:
            return node, f"an expression is nested more than {LIMITS.chain} deep"
        match node:
            case ast.BinOp(op=ast.Pow(), right=exponent) if _is_tower(exponent):
                return node, "the power of a power cannot stand in a formula"
            case ast.BinOp(op=ast.Pow(), right=exponent) if _too_large(exponent):
                return node, f"an exponent is at most {LIMITS.exponent}"
            case ast.Call(func=ast.Name(id=name)) if name in BASES:
                most = LARGEST_BASES.get(name, LIMITS.basis)
                if basis_size(node) > most:
                    return node, f"{name}() makes at most {most} columns"
                if name == "bs" and _degree(node) > LIMITS.degree:
                    return node, f"splines have a degree of at most {LIMITS.degree}"
    return None


def basis_size(call: ast.Call) -> float:
    """The largest number that may be the number of columns of a transform, one if none is.

    Arithmetic counts as infinite: 10**9 is a size, and nothing computes it here.
    """
    named = (keyword.value for keyword in call.keywords if keyword.arg in SIZES)
    sizes = [_size(argument) for argument in (*call.args[1:], *named)]
    return max([1.0, *sizes])


def _size(argument: ast.AST) -> float:
    match argument:
        case ast.BinOp() | ast.UnaryOp() | ast.Compare():
            return inf
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return float(len(items))
    return _number(argument)


def _degree(call: ast.Call) -> float:
    """Requested degree of a spline."""
    named = [keyword.value for keyword in call.keywords if keyword.arg == "degree"]
    return max([0.0, *map(_size, (*call.args[3:4], *named))])


def _with_depth(tree: ast.AST) -> Iterator[tuple[ast.AST, int]]:
    """Every node, and how many others it stands in."""
    waiting = [(tree, 0)]
    while waiting:
        node, depth = waiting.pop()
        yield node, depth
        waiting += [(child, depth + 1) for child in ast.iter_child_nodes(node)]


def _is_tower(exponent: ast.AST) -> bool:
    return any(isinstance(part, ast.Pow) for part in ast.walk(exponent))


def _too_large(exponent: ast.AST) -> bool:
    return any(_number(part) > LIMITS.exponent for part in ast.walk(exponent))


def _number(node: ast.AST) -> float:
    """Size of a number as it is written; zero for anything else."""
    match node:
        case ast.Constant(value=int() | float() as value):
            return float(min(abs(value), sys.maxsize))
    return 0.0


def check_tree(tree: object, section: Section, *, available: int) -> None:
    """Refuse terms that expand to too many products, or to interactions of too many variables.

    Parameters
    ----------
    tree : ASTNode, Token or None
        Syntax tree of a section, before it is multiplied out.
    section : Section
        For the message.
    available : int
        Number of columns that `.` stands for.

    Raises
    ------
    FormulaError
        With the section's place.
    """
    order: dict[int, tuple[int, int]] = {}
    nodes = _children_first(tree)
    if len(nodes) > LIMITS.nodes:
        why = f"a part has {len(nodes)} terms and operators; {LIMITS.nodes} are the most"
        raise FormulaError(section.formula, why, section.span)
    for node in nodes:
        symbol = getattr(getattr(node, "operator", None), "symbol", None)
        sizes = [order[id(child)] for child in getattr(node, "args", ())]
        if symbol in ("**", "^"):
            exponent = _exponent(node, section)
            size = min(sizes[0][0] ** exponent, 2 * LIMITS.products), sizes[0][1] * exponent
        else:
            size = _expanded(symbol, sizes, available)
        order[id(node)] = size
        if size[0] > LIMITS.products:
            why = f"the terms multiply out to more than {LIMITS.products}"
            raise FormulaError(section.formula, why, section.span)
        if size[1] > LIMITS.order:
            why = f"interactions go up to {LIMITS.order}"
            raise FormulaError(section.formula, why, section.span)


def _expanded(symbol: str | None, sizes: list[tuple[int, int]], available: int) -> tuple[int, int]:
    """Number of products and highest order of what an operator makes of its arguments."""
    match symbol, sizes:
        case ".", _:
            return max(available, 1), 1
        case (("+" | "-"), [(n, order), (m, other)]):
            return n + m, max(order, other)
        case "*", [(n, order), (m, other)]:
            return n + m + n * m, order + other
        case ":", [(n, order), (m, other)]:
            return n * m, order + other
        case "/", [(n, order), (m, other)]:
            return n + m, n * order + other
        case "in", [(m, other), (n, order)]:
            return n + m, n * order + other
        case _, [(n, order)]:
            return n, order
        case _:
            return 1, 1


def _exponent(node: Any, section: Section) -> int:
    """The whole number to which terms are raised."""
    text = str(getattr(node.args[1], "token", ""))
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:4]) <= LIMITS.order):
        raise FormulaError(
            section.formula,
            f"interactions go up to {LIMITS.order}: terms are raised to a whole number from 1 "
            f"to {LIMITS.order}",
            section.span,
        )
    return int(text)


def _children_first(tree: object) -> list[object]:
    """Nodes of a tree, each behind its arguments; without recursion, for terms are many."""
    visited, waiting = [], [tree]
    while waiting:
        node = waiting.pop()
        visited.append(node)
        waiting += getattr(node, "args", ())
    return visited[::-1]


def check_columns(
    formula: str, part: str, terms: Iterable[Any], levels: Callable[[str], int]
) -> None:
    """Refuse terms whose matrix would have too many columns.

    Parameters
    ----------
    formula, part : str
        For the message.
    terms : iterable of Term
        As the formula package has them.
    levels : callable
        Levels that an expression has, one if it is a number.

    Raises
    ------
    FormulaError
    """
    counts = [
        (len(term.factors), prod(max(levels(f.expr), _made_by(f.expr)) for f in term.factors))
        for term in terms
    ]
    columns = sum(count for _, count in counts)
    interacts = any(factors > 1 for factors, _ in counts)
    most = LIMITS.columns_with_interactions if interacts else LIMITS.columns
    if columns > most:
        with_interactions = ", with interactions" if interacts else ""
        raise FormulaError(
            formula,
            f"the {part} part would have {columns:,.0f} columns; the limit is {most:,}"
            f"{with_interactions}",
            hint="omit an interaction, name fewer columns than `.`, or merge levels of its factors",
        )


def _made_by(expression: str) -> float:
    """Columns of the largest transform in an expression."""
    try:
        calls = [node for node in ast.walk(ast.parse(expression)) if isinstance(node, ast.Call)]
    except SyntaxError:
        return 1
    named = [node for node in calls if isinstance(node.func, ast.Name) and node.func.id in BASES]
    return max([1.0, *map(basis_size, named)])
