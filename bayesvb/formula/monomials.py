"""Stage 3, encode: products of powers of variables that a term consists of.

Another zero of a variable adds to a term what divides its products: ``(x - c)**2 * z`` is
``x**2 * z``, ``x * z`` and ``z``. So the products say which terms are marginal to which.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable
from functools import reduce
from itertools import product

from bayesvb.formula.columns import roles_in
from bayesvb.formula.limits import LIMITS

Monomial = frozenset[tuple[str, int]]
"""Powers of variables that are multiplied, the powers positive."""

Monomials = frozenset[Monomial]

ONE: Monomials = frozenset([frozenset()])

LINEAR = ("C", "I", "center", "scale", "standardize")
"""Functions that change the zero, unit or reference level of their first argument at most."""


def monomials(factors: Iterable[str]) -> Monomials:
    """Products of powers in a term, without their coefficients.

    Parameters
    ----------
    factors : iterable of str
        Its expressions, columns under their aliases. A column with levels, or a function of
        columns, is one variable, with the power one.

    Examples
    --------
    >>> from bayesvb.formula.columns import ColumnRole
    >>> x = ColumnRole("x", "value").alias
    >>> sorted(sorted(one) for one in monomials([f"I({x}**2 + 3)"]))
    [[], [('x', 2)]]
    """
    return reduce(_multiplied, map(_of_code, factors), ONE)


def degree(term: Monomials) -> int:
    """Highest sum of the powers of a product."""
    return max((sum(power for _, power in one) for one in term), default=0)


def variables(term: Monomials) -> frozenset[str]:
    """Variables in the products of a term."""
    return frozenset(name for one in term for name, _ in one)


def is_polynomial(term: Monomials) -> bool:
    """Whether there is a power, or a product, of variables."""
    return degree(term) > 1


def is_marginal(lower: Monomials, higher: Monomials) -> bool:
    """Whether each product of one term is a divisor of some product of the other, and less.

    Examples
    --------
    >>> x, square = frozenset([frozenset([("x", 1)])]), frozenset([frozenset([("x", 2)])])
    >>> is_marginal(x, square), is_marginal(square, x), is_marginal(x, x)
    (True, False, False)
    """
    return bool(lower) and all(any(_divides(one, two) for two in higher) for one in lower)


def _divides(one: Monomial, two: Monomial) -> bool:
    """Whether a product is a divisor of another one, and not the same."""
    powers = dict(two)
    return one != two and all(power <= powers.get(name, 0) for name, power in one)


def _multiplied(first: Monomials, second: Monomials) -> Monomials:
    """Products of two sums."""
    if len(first) * len(second) > LIMITS.factors:
        return _variable(" ".join(sorted({name for one in first | second for name, _ in one})))
    sums = (Counter(dict(one)) + Counter(dict(two)) for one, two in product(first, second))
    return frozenset(frozenset(powers.items()) for powers in sums)


def _of_code(code: str) -> Monomials:
    return _of_node(ast.parse(code, mode="eval").body)


def _of_node(node: ast.expr) -> Monomials:
    """Products of powers in an expression."""
    if _is_constant(node):
        return ONE
    match node:
        case ast.Name(id=name):
            return _variable(roles_in(name)[0].column)
        case ast.UnaryOp(op=ast.UAdd() | ast.USub(), operand=operand):
            return _of_node(operand)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            return _of_node(left) | _of_node(right)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _multiplied(_of_node(left), _of_node(right))
        case ast.BinOp(left=left, op=ast.Div(), right=right) if _is_constant(right):
            return _of_node(left)
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int(power))) if (
            0 < power <= LIMITS.order
        ):
            return reduce(_multiplied, [_of_node(left)] * power)
        case ast.Call(args=[first, *more]):
            return _of_call(node, first, more)
    return _variable(ast.unparse(node))


def _of_call(node: ast.Call, first: ast.expr, more: list[ast.expr]) -> Monomials:
    """Products of powers that a function makes of its arguments."""
    name = ast.unparse(node.func)
    if name in LINEAR:
        return _of_node(first)
    if name == "np.square":
        return _multiplied(_of_node(first), _of_node(first))
    numbers = [*more, *(one.value for one in node.keywords if one.arg == "degree")]
    power = numbers[0].value if numbers and isinstance(numbers[0], ast.Constant) else 1
    if name == "poly" and isinstance(power, int) and 0 < power <= LIMITS.order:
        powers = (reduce(_multiplied, [_of_node(first)] * one) for one in range(1, power + 1))
        return frozenset().union(*powers)
    if name == "np.power" and isinstance(power, int) and 0 < power <= LIMITS.order and more:
        return reduce(_multiplied, [_of_node(first)] * power)
    return _variable(ast.unparse(node))


def _is_constant(node: ast.expr) -> bool:
    """Whether an expression reads no column."""
    return not roles_in(ast.unparse(node))


def _variable(name: str) -> Monomials:
    return frozenset([frozenset([(name, 1)])])
