"""Stage 1, parse: the terms of one part, in the notation of Wilkinson and Rogers.

References
----------
.. [1] Wilkinson and Rogers (1973), Symbolic description of factorial models for analysis of
   variance, Applied Statistics 22(3), doi:10.2307/2346786.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from bayesvb.errors import FormulaError
from bayesvb.formula.budget import check_tree
from bayesvb.formula.expressions import Code, NameUse, read_expression
from bayesvb.formula.group_terms import GroupTerm, read_group
from bayesvb.formula.limits import LIMITS
from bayesvb.formula.response_forms import ResponseCall, read_call
from bayesvb.formula.smooth_terms import SmoothTerm, read_smooth
from bayesvb.formula.special_terms import GROUP, OFFSET, SMOOTH, SpecialTerm, taken_out
from bayesvb.formula.tokens import Section, Token, first_line, marked_span

if TYPE_CHECKING:
    from formulaic import SimpleFormula

# What the formula package raises where brackets and operators do not go together.
UNREADABLE = (
    ArithmeticError, AttributeError, LookupError, RuntimeError, StopIteration, SyntaxError,
    TypeError, ValueError,
)  # fmt: skip


@dataclass(frozen=True)
class Part:
    """One part of a formula, or its response.

    Attributes
    ----------
    text : str
        Its terms as they were written; a constant if none were.
    code : Code
        The same for the formula package, with the names.
    section : Section
        Where it stands.
    intercept : bool
        Whether it has a constant unless it says otherwise.
    own : tuple of SmoothTerm or GroupTerm
        Its terms that the formula package does not know, which are not in the code.
    call : ResponseCall or None
        Of a response of several numbers per row, how it was written.
    offset : Code or None
        Known summands that are among the terms in the code, of the part ``sigma``.
    """

    text: str
    code: Code
    section: Section
    intercept: bool
    own: tuple[SmoothTerm | GroupTerm, ...] = ()
    call: ResponseCall | None = None
    offset: Code | None = None

    @property
    def names(self) -> set[str]:
        """Names that its terms use, of columns and of functions."""
        codes = [self.code, *(code for term in self.own for code in term.numbers)]
        columns = {column for term in self.own for column, _ in term.columns}
        return {use.name for code in codes for use in code.uses} | columns


def read_part(section: Section, *, intercept: bool = True) -> Part:
    """The part in a section, read before any data are seen.

    Parameters
    ----------
    section : Section
        Its characters.
    intercept : bool
        False if it has no constant, even where it asks for one.

    Raises
    ------
    FormulaError
        With the position of a term that a part cannot hold.
    """
    rest, special = taken_out(section, (SMOOTH, GROUP))
    terms = _own_terms(special)
    if special and not intercept:
        raise special[0].refused(f"`{special[0].text}`: only a DensityRegression has such terms")
    code = _code(rest, _check_operator)
    for before, token in pairwise(rest.tokens):
        if token.text == "^" or (before.text == token.text == "*" and before.stop == token.start):
            _check_power(rest.formula, rest.tokens, token)
    read_terms(rest, rest.text or "1", available=())
    if not intercept:
        code = Code(f"{code.text} - 1", code.uses)
    return Part(section.text or "1", code, section, intercept, terms)


def _own_terms(special: Sequence[SpecialTerm]) -> tuple[SmoothTerm | GroupTerm, ...]:
    """Smooths and groups, each once."""
    terms: list[SmoothTerm | GroupTerm] = []
    for term in special:
        terms += [read_smooth(term)] if term.kind == SMOOTH else read_group(term)
    return tuple(terms)


def read_response(section: Section, *, calls: bool) -> Part:
    """The left-hand side: columns, or expressions of them, joined by +, or ``cens(y, status)``.

    Parameters
    ----------
    section : Section
    calls : bool
        Whether the model has responses of several numbers per row.

    Raises
    ------
    FormulaError
        With the place of anything else.
    """
    call = read_call(section, allowed=calls)
    if call is not None:
        return Part(section.text, summed(call.codes), section, intercept=False, call=call)
    code = _code(section, _check_in_response)
    read_terms(section, section.text, available=(), intercept=False)
    return Part(section.text, code, section, intercept=False)


def read_offset(terms: Sequence[SpecialTerm]) -> Part:
    """Content of some ``offset()`` terms, as columns without a constant.

    Raises
    ------
    FormulaError
        With the position of a term that is not an expression of columns.
    """
    codes = []
    for term in terms:
        inner, start = term.inside()
        codes.append(read_expression(inner, text=term.section.formula, start=start))
        if all(use.role != "value" for use in codes[-1].uses):
            raise term.refused(
                f"`{term.text}` reads no column of numbers",
                "write for example offset(log(exposure))",
            )
    text = " + ".join(term.text for term in terms)
    return Part(text, summed(codes), terms[0].section, intercept=False)


def read_part_with_offset(section: Section, offsets: Sequence[SpecialTerm]) -> Part:
    """Part with ``offset()`` terms among its terms, calls of a function that returns its argument.

    Raises
    ------
    FormulaError
        With the position of a term that a part, or an offset, cannot hold.
    """
    offset, part = read_offset(offsets).code, read_part(section)
    kept = [use for use in part.code.uses if (use.name, use.role) != (OFFSET, "call")]
    if len(part.code.uses) - len(kept) > len(offsets):
        return part  # one inside another function, which is then unknown
    return replace(part, code=replace(part.code, uses=tuple(kept)), offset=offset)


def summed(codes: Sequence[Code]) -> Code:
    """Expressions as terms that are joined by +."""
    pieces: list[str] = []
    uses: list[NameUse] = []
    written = 0
    for code in codes:
        uses += [
            NameUse(use.name, use.role, use.start + written + 1, use.stop + written + 1)
            for use in code.uses
        ]
        pieces.append(f"{{{code.text}}}")
        written += len(pieces[-1]) + len(" + ")
    return Code(" + ".join(pieces), tuple(uses))


def _code(section: Section, check: Callable[[str, Token], None]) -> Code:
    """The section's code, Python in braces; ``check`` sees every token that is not Python."""
    pieces: list[str] = []
    uses: list[NameUse] = []
    written = 0
    for number, token in enumerate(section.tokens):
        between = section.gap(number)
        written += len(between)
        if token.kind == "python":
            code = _expression(section.formula, token)
            uses += [
                NameUse(use.name, use.role, use.start + written + 1, use.stop + written + 1)
                for use in code.uses
            ]
            piece = f"{{{code.text}}}"
        else:
            check(section.formula, token)
            piece = token.text
            if token.kind == "name" and piece != ".":
                uses.append(NameUse(piece.strip("`"), "lookup", written, written + len(piece)))
        pieces += [between, piece]
        written += len(piece)
    return Code("".join(pieces) or "1", tuple(uses))


def _expression(formula: str, token: Token) -> Code:
    """The checked expression in a token, without the braces that it may stand in."""
    inner = token.text[1:-1] if token.text.startswith("{") else token.text
    shift = len(token.text) - len(inner) - token.text.startswith("{")
    return read_expression(inner, text=formula, start=token.start + shift)


def _check_operator(formula: str, token: Token) -> None:
    if token.kind != "operator":
        return
    if token.text == "~":
        raise FormulaError(formula, "there is more than one `~`", token.span, "omit it")
    if token.text == "|":
        raise FormulaError(
            formula,
            "`|` separates the parts of a formula and cannot stand inside one",
            token.span,
            "write y ~ x | gating(z), or (1 | g) for group-level effects",
        )
    if token.text == ",":
        raise FormulaError(formula, "terms are joined by +, not by commas", token.span)


def _check_in_response(formula: str, token: Token) -> None:
    if token.text != "+" and (token.kind != "name" or token.text == "."):
        raise FormulaError(
            formula,
            f"`{token.text}` cannot stand in a response",
            token.span,
            "join several responses by +, and write arithmetic in I(): I(y - z) ~ x",
        )


def _check_power(formula: str, inside: Sequence[Token], sign: Token) -> None:
    """Refuse x**2, which would be x itself, and interactions of too many terms."""
    at = inside.index(sign)
    base = inside[at - 1] if sign.text == "^" else inside[at - 2]
    exponent = inside[at + 1].text if at + 1 < len(inside) else ""
    if base.kind in ("name", "python"):
        whole = formula[base.start : sign.stop + len(exponent)]
        raise FormulaError(
            formula,
            f"`{whole}` would be `{base.text}` itself: a power of terms is an interaction",
            (base.start, sign.span[1]),
            f"write I({base.text}**{exponent or 2})",
        )
    if exponent.isdecimal() and int(exponent) > LIMITS.order:
        raise FormulaError(formula, f"interactions go up to {LIMITS.order}", inside[at + 1].span)


def read_terms(
    section: Section, code: str, *, available: Sequence[str], intercept: bool = True
) -> SimpleFormula:
    """The terms of a part as the formula package has them.

    Parameters
    ----------
    section : Section
        Where the part stands, for the message.
    code : str
        Its terms; columns may go by other names than in the section.
    available : sequence of str
        What `.` stands for.
    intercept : bool
        Whether a constant is added unless the part says otherwise.

    Raises
    ------
    FormulaError
        If the formula package cannot read them.
    """
    from formulaic import Formula
    from formulaic.errors import FormulaParsingError
    from formulaic.parser import DefaultFormulaParser

    flags = DefaultFormulaParser.FeatureFlags.NONE
    parser = DefaultFormulaParser(include_intercept=intercept, feature_flags=flags)
    context = {
        "__formulaic_variables_available__": list(available),
        "__formulaic_variables_used_lhs__": [],
    }
    try:
        tree = parser.get_ast(code, context=context)
        check_tree(tree, section, available=len(available))
        terms = parser.get_terms_from_ast(tree, context=context)
        return Formula(terms._simplify())
    except FormulaError:
        raise
    except FormulaParsingError as error:
        is_whole = code == section.text and not section.cut
        at = marked_span(error, section.span[0]) if is_whole else None
        raise FormulaError(
            section.formula,
            f"cannot read `{section.text}`: {first_line(error)}",
            at or section.span,
        ) from error
    except UNREADABLE as error:
        raise FormulaError(
            section.formula,
            f"cannot read `{section.text[:60]}`: {type(error).__name__}",
            section.span,
        ) from error
