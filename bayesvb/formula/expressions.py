"""Stage 1, parse: allowed computations, checked on the syntax tree of each expression.

A formula may come from a file or a web form, and the formula package evaluates its function calls
as Python. Here every expression is taken apart first. It may call what `allowed_functions` lists
and functions handed in by name; it may not reach into attributes, build functions, index, unpack,
or name anything private.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NoReturn

from bayesvb.errors import FormulaError
from bayesvb.formula.allowed_functions import (
    CONSTANTS,
    CONTR,
    ELEMENTWISE,
    OF_ONE_VALUE,
    numpy_hint,
)
from bayesvb.formula.budget import too_costly

Role = Literal[
    "lookup", "value", "levels", "groups", "hashed", "call", "status", "event", "upper",
]  # fmt: skip
"""Alone as a term, in arithmetic, inside C(), right of a bar, inside hashed(), called, or an
argument of a response of several numbers per row."""

ARITHMETIC = (
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow,
    ast.BitAnd, ast.BitOr, ast.BitXor,
)  # fmt: skip

SIGNS = (ast.UAdd, ast.USub, ast.Invert)

COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)

# The formula package pastes expressions into code between quotes: none may stand in a text.
UNSAFE_IN_TEXT = re.compile(r"""["'\\`]|[^\x20-\x7e\xa1-\U0010ffff]""")

MARK = "ᛟ"  # begins the names that stand for backquoted ones


@dataclass(frozen=True)
class NameUse:
    """One name in a code: its use, and the span of its characters."""

    name: str
    role: Role
    start: int
    stop: int


@dataclass(frozen=True)
class Code:
    """Checked code for the formula package, and the names that it uses, in their order."""

    text: str
    uses: tuple[NameUse, ...]

    def renamed(self, names: Sequence[str]) -> str:
        """The text with these names instead of the used ones, one for each use."""
        pieces, at = [], 0
        for use, name in zip(self.uses, names, strict=True):
            pieces += [self.text[at : use.start], name]
            at = use.stop
        return "".join([*pieces, self.text[at:]])


def read_expression(code: str, *, text: str, start: int) -> Code:
    """The expression, if it keeps to the allow-list.

    Parameters
    ----------
    code : str
        Python code; names that are not identifiers stand in backquotes.
    text : str
        The whole formula, for the message.
    start : int
        Position of the code in it.

    Raises
    ------
    FormulaError
        With the place of whatever is not allowed.

    Examples
    --------
    >>> [use.name for use in read_expression("log(x + 1)", text="y ~ log(x + 1)", start=4).uses]
    ['log', 'x']
    """
    start += len(code) - len(code.lstrip())
    code = code.strip()
    reader = _Reader(code, text, start)
    try:
        tree = ast.parse(masked(code), mode="eval")
        costly = too_costly(tree)
        if costly:
            reader.refuse(*costly)
        uses = tuple(reader.value(tree.body))
    except SyntaxError as error:
        raise FormulaError(
            text, f"cannot read `{code}`: {error.msg}", (start, start + len(code) - 1)
        ) from error
    except (RecursionError, MemoryError, ValueError) as error:
        if isinstance(error, FormulaError):
            raise
        raise FormulaError(text, "an expression is too deeply nested or not text") from error
    return Code(code, tuple(sorted(uses, key=lambda use: use.start)))


def masked(code: str) -> str:
    """The code with each backquoted name replaced by an identifier of the same length."""
    names = iter(range(len(code)))

    def identifier(quoted: re.Match[str]) -> str:
        return f"{MARK}{next(names)}".ljust(len(quoted[0]), MARK)

    return re.sub(r"`[^`]*`", identifier, code)


@dataclass(frozen=True)
class _Reader:
    """Walk over one syntax tree that yields the names and rejects all other syntax."""

    code: str
    text: str
    start: int

    def value(self, node: ast.AST) -> Iterator[NameUse]:
        """A number per row: what may be added and multiplied."""
        match node:
            case ast.Name():
                yield self.use(node, "value")
            case ast.Constant(value=bool() | int() | float()):
                pass
            case ast.BinOp(op=ast.Pow()) if _is_literal(node.left):
                yield from self.power_of_numbers(node)
            case ast.BinOp(op=op) if isinstance(op, ARITHMETIC):
                yield from self.value(node.left)
                yield from self.value(node.right)
            case ast.UnaryOp(op=op) if isinstance(op, SIGNS):
                yield from self.value(node.operand)
            case ast.Compare(ops=[op]) if isinstance(op, COMPARISONS):
                yield from self.argument(node.left)
                yield from self.argument(node.comparators[0])
            case ast.Call():
                yield from self.call(node)
            case ast.Attribute():
                yield from self.attribute(node)
            case _:
                self.refuse(node, f"{_described(node)} cannot stand in a formula")

    def argument(self, node: ast.AST) -> Iterator[NameUse]:
        """Names in an argument of a call, which may also be a text, a list, or a mapping."""
        match node:
            case ast.Constant(value=str() as words):
                if UNSAFE_IN_TEXT.search(words) or MARK in words:
                    self.refuse(
                        node, "a string in a formula cannot contain quotes or control characters"
                    )
            case ast.Constant(value=None):
                pass
            case ast.List(elts=items) | ast.Tuple(elts=items):
                for item in items:
                    yield from self.argument(item)
            case ast.Dict(keys=keys, values=values) if all(keys):
                for entry in (*keys, *values):
                    yield from self.argument(entry or node)
            case _:
                yield from self.value(node)

    def call(self, node: ast.Call) -> Iterator[NameUse]:
        """A function of the allow-list, or one handed in by name."""
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg.startswith("_"):
                self.refuse(keyword, "private and unpacked arguments cannot stand in a formula")
        match node.func:
            case ast.Name(id=name):
                if name in OF_ONE_VALUE:
                    self.count_arguments(node, name, 1)
                yield self.use(node.func, "call")
            case ast.Attribute(value=ast.Name(id="np"), attr=name) if name in ELEMENTWISE:
                self.count_arguments(node, f"np.{name}", ELEMENTWISE[name])
                name = ""
            case ast.Attribute():
                yield from self.attribute(node.func, called=True)
                name = ""
            case _:
                self.refuse(node.func, "only functions can be called, and only by name")
        yield from self.arguments(node, name)

    def arguments(self, node: ast.Call, function: str) -> Iterator[NameUse]:
        """The arguments of a call; the first of C() and hashed() is read as it stands."""
        first: Role | None = {"C": "levels", "hashed": "hashed"}.get(function)  # type: ignore[assignment]
        for i, item in enumerate(node.args):
            if first and i == 0 and isinstance(item, ast.Name):
                yield self.use(item, first)
            else:
                yield from self.argument(item)
        for keyword in node.keywords:
            yield from self.argument(keyword.value)

    def attribute(self, node: ast.Attribute, *, called: bool = False) -> Iterator[NameUse]:
        """np.pi and contr.sum; no other attribute of anything."""
        match node:
            case ast.Attribute(value=ast.Name(id="np"), attr=name) if name in CONSTANTS:
                return
            case ast.Attribute(value=ast.Name(id="contr"), attr=name) if name in CONTR:
                return
            case ast.Attribute(value=ast.Name(id="np"), attr=name):
                self.refuse(node, f"np.{name} is not one that a formula may use", numpy_hint(name))
            case ast.Attribute(attr=name) if called and name in ELEMENTWISE:
                self.refuse(
                    node,
                    f"methods such as .{name}() cannot be called in a formula",
                    f"write np.{name}(x, ...)",
                )
            case _:
                self.refuse(
                    node,
                    "attributes cannot be used in a formula",
                    "a column whose name has a dot stands in backquotes: "
                    f"`{ast.unparse(node)[:60]}`",
                )
        yield from ()

    def power_of_numbers(self, node: ast.BinOp) -> Iterator[NameUse]:
        """A number to the power of something; of another number only while that is small."""
        exponent = node.right
        if _is_literal(exponent):
            if not (isinstance(exponent, ast.Constant) and isinstance(node.left, ast.Constant)):
                self.refuse(node, "the power of a number is too large for a formula")
        yield from self.value(node.left)
        yield from self.value(exponent)

    def count_arguments(self, node: ast.Call, name: str, expected: int) -> None:
        starred = any(isinstance(item, ast.Starred) for item in node.args)
        if starred or node.keywords or len(node.args) != expected:
            noun = "value" if expected == 1 else "values"
            self.refuse(node, f"{name}() takes {expected} {noun} here, and no keywords")

    def use(self, node: ast.Name, role: Role) -> NameUse:
        start, stop = span_of(self.code, node)
        name = self.code[start:stop]
        if name.startswith("__"):
            self.refuse(node, "private names cannot stand in a formula")
        return NameUse(name.strip("`") if name.startswith("`") else name, role, start, stop)

    def refuse(self, node: ast.AST, why: str, hint: str | None = None) -> NoReturn:
        start, stop = 0, len(self.code)
        if isinstance(node, ast.expr | ast.keyword):
            start, stop = span_of(self.code, node)
        raise FormulaError(self.text, why, (self.start + start, self.start + stop - 1), hint)


def span_of(code: str, node: ast.expr | ast.keyword) -> tuple[int, int]:
    """First character of a node and the one after the last; the parser counts bytes of UTF-8."""
    encoded = masked(code).encode()
    ends = node.col_offset, node.end_col_offset or node.col_offset
    start, stop = (len(encoded[:end].decode()) for end in ends)
    return start, stop


def _is_literal(node: ast.AST) -> bool:
    """Whether it contains no name except functions: `I(9)` is a number."""
    called = {id(part.func) for part in ast.walk(node) if isinstance(part, ast.Call)}
    names = (part for part in ast.walk(node) if isinstance(part, ast.Name))
    return all(id(name) in called for name in names)


def _described(node: ast.AST) -> str:
    names: Mapping[type[ast.AST], str] = {
        ast.Lambda: "a lambda",
        ast.Subscript: "indexing with [ ]",
        ast.BoolOp: "`and` and `or` (write & and |)",
        ast.UnaryOp: "`not` (write ~)",
        ast.Compare: "a chained comparison",
        ast.Constant: "a string or other constant",
        ast.IfExp: "`if` and `else` (write np.where)",
        ast.Starred: "unpacking with *",
    }
    return names.get(type(node), f"Python of this kind ({type(node).__name__})")
