"""Stage 1, parse: what reading and evaluating a formula may cost, checked before it is paid.

A formula may come from a file or a web form. Its length, the depth of its brackets, the number and
the order of its interactions, and the columns that its transforms make are bounded here, by counts
that need no expansion.
"""

from __future__ import annotations

import ast
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from math import inf, prod
from typing import TYPE_CHECKING, Any

from bayesvb.errors import FormulaError

if TYPE_CHECKING:
    from bayesvb.formula.tokens import Section

__all__ = ["check_columns", "check_text", "check_tree", "too_costly"]

LONGEST = 10_000
"""Characters of a formula: a thousand columns by name."""

DEEPEST = 40
"""Brackets inside one another."""

MOST_TERMS = 10_000
"""Products that the terms of a part may expand to, before equal ones are joined."""

HIGHEST_ORDER = 9
"""Variables in one interaction: each combination of its contrasts is looked at."""

LARGEST_BASIS = 200
"""Columns that one transform may make."""

LARGEST_BASES = {"hashed": 1000}
"""Those of transforms that may make more."""

HIGHEST_DEGREE = 20
"""Degree of a spline, which is made by a recursion over degrees."""

BEYOND = 10**9
"""More than any bound here, and less than the largest double."""

MOST_NODES = 5000
"""Terms and operators of a part."""

MOST_COLUMNS = 20_000
"""Columns of the matrix of a part: a covariance matrix of them takes three gigabytes."""

LARGEST_EXPONENT = 64
"""Exponent written as a number: 9**9**9 would never end."""

BASES = {"bs", "cc", "cr", "cs", "poly", "hashed", "s"}
"""Transforms that make several columns."""

SIZES = {"df", "degree", "k", "knots", "levels"}
"""Their arguments that say how many."""

LONGEST_CHAIN = 200
"""Levels of the syntax tree of an expression: sums nest to the left."""


def check_text(text: str) -> None:
    """Refuse a formula that is too long, too deeply nested, or not text.

    Raises
    ------
    FormulaError
        With the place.
    """
    if len(text) > LONGEST:
        raise FormulaError(
            f"{text[:60]} ...",
            f"cannot read a formula of {len(text)} characters; {LONGEST} are the most",
            hint="`.` stands for all columns that are not named elsewhere",
        )
    for at, sign in enumerate(text):
        if not sign.isspace() and unicodedata.category(sign) in ("Cc", "Cs"):
            raise FormulaError(
                text, f"the formula holds {sign!a}, which is no character of a text", (at, at)
            )
    depth = 0
    for at, sign in enumerate(text):
        depth += (sign in "([{") - (sign in ")]}")
        if depth > DEEPEST:
            why = f"cannot read brackets more than {DEEPEST} deep"
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
    """What makes an expression cost too much, the node and why; None if nothing does.

    Examples
    --------
    >>> too_costly(ast.parse("bs(x, df=100000)", mode="eval"))[1]
    'bs() makes at most 200 columns'
    >>> too_costly(ast.parse("bs(x, df=6)", mode="eval")) is None
    True
    """
    for node, depth in _with_depth(tree):
        if depth > LONGEST_CHAIN:
            return node, f"an expression is nested more than {LONGEST_CHAIN} deep"
        match node:
            case ast.BinOp(op=ast.Pow(), right=exponent) if _is_tower(exponent):
                return node, "the power of a power cannot stand in a formula"
            case ast.BinOp(op=ast.Pow(), right=exponent) if _too_large(exponent):
                return node, f"an exponent is at most {LARGEST_EXPONENT}"
            case ast.Call(func=ast.Name(id=name)) if name in BASES:
                most = LARGEST_BASES.get(name, LARGEST_BASIS)
                if basis_size(node) > most:
                    return node, f"{name}() makes at most {most} columns"
                if name == "bs" and _degree(node) > HIGHEST_DEGREE:
                    return node, f"splines have a degree of at most {HIGHEST_DEGREE}"
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
    """Degree that is asked of a spline."""
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
    return any(_number(part) > LARGEST_EXPONENT for part in ast.walk(exponent))


def _number(node: ast.AST) -> float:
    """Size of a number as it is written; zero for anything else."""
    match node:
        case ast.Constant(value=int() | float() as value):
            return float(min(abs(value), BEYOND))
    return 0.0


def check_tree(tree: object, section: Section, *, available: int) -> None:
    """Refuse terms that expand to too many products, or to interactions of too many variables.

    Parameters
    ----------
    tree : ASTNode, Token or None
        What the formula package reads in a section, before anything is multiplied out.
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
    if len(nodes) > MOST_NODES:
        why = f"a part has {len(nodes)} terms and operators; {MOST_NODES} are the most"
        raise FormulaError(section.formula, why, section.span)
    for node in nodes:
        symbol = getattr(getattr(node, "operator", None), "symbol", None)
        sizes = [order[id(child)] for child in getattr(node, "args", ())]
        if symbol in ("**", "^"):
            exponent = _exponent(node, section)
            size = min(sizes[0][0] ** exponent, 2 * MOST_TERMS), sizes[0][1] * exponent
        else:
            size = _expanded(symbol, sizes, available)
        order[id(node)] = size
        if size[0] > MOST_TERMS:
            why = f"the terms multiply out to more than {MOST_TERMS}"
            raise FormulaError(section.formula, why, section.span)
        if size[1] > HIGHEST_ORDER:
            why = f"interactions go up to {HIGHEST_ORDER}"
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
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:4]) <= HIGHEST_ORDER):
        raise FormulaError(
            section.formula,
            f"interactions go up to {HIGHEST_ORDER}: terms are raised to a whole number from 1 "
            f"to {HIGHEST_ORDER}",
            section.span,
        )
    return int(text)


def _children_first(tree: object) -> list[object]:
    """Nodes of a tree, each behind its arguments; without recursion, for terms are many."""
    found, waiting = [], [tree]
    while waiting:
        node = waiting.pop()
        found.append(node)
        waiting += getattr(node, "args", ())
    return found[::-1]


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
    columns = 0.0
    for term in terms:
        columns += prod(max(levels(f.expr), _made_by(f.expr)) for f in term.factors)
        if columns > MOST_COLUMNS:
            raise FormulaError(
                formula,
                f"the {part} part would have more than {MOST_COLUMNS} columns",
                hint="join levels of its factors, or leave out an interaction",
            )


def _made_by(expression: str) -> float:
    """Columns of the largest transform in an expression."""
    try:
        calls = [node for node in ast.walk(ast.parse(expression)) if isinstance(node, ast.Call)]
    except SyntaxError:
        return 1
    named = [node for node in calls if isinstance(node.func, ast.Name) and node.func.id in BASES]
    return max([1.0, *map(basis_size, named)])
