"""The terms of one part, in the notation of Wilkinson and Rogers as the formula package reads it.

References
----------
.. [1] Wilkinson and Rogers (1973), Symbolic description of factorial models for analysis of
   variance, Applied Statistics 22(3), doi:10.2307/2346786.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from bayesvb.errors import FormulaError
from bayesvb.expressions import Expression, read_expression
from bayesvb.tokens import Piece, Token, first_line, marked_span

if TYPE_CHECKING:
    from formulaic import SimpleFormula

__all__ = ["check_response", "check_terms", "expression_of", "read_terms"]

LARGEST_INTERACTION = 9  # (a + b)**99 would never end


def check_terms(piece: Piece) -> None:
    """Refuse what a part cannot hold, before any data are seen.

    Raises
    ------
    FormulaError
        With the place.
    """
    inside = piece.tokens()
    for token in inside:
        _check_token(piece.formula, token)
    for before, token in pairwise(inside):
        if token.text == "^" or (before.text == token.text == "*" and before.stop == token.start):
            _check_power(piece.formula, inside, token)
    read_terms(piece, piece.text or "1", available=())


def check_response(piece: Piece) -> None:
    """Refuse a left-hand side other than columns, or expressions of them, joined by +."""
    for token in piece.tokens():
        if token.kind == "python":
            expression_of(piece.formula, token)
        elif token.text != "+" and (token.kind != "name" or token.text == "."):
            raise FormulaError(
                piece.formula,
                f"`{token.text}` cannot stand in a response",
                token.span,
                "several responses are joined by +, arithmetic stands in I(): I(y - z) ~ x",
            )
    read_terms(piece, piece.text, available=(), intercept=False)


def _check_token(formula: str, token: Token) -> None:
    if token.kind == "python":
        expression_of(formula, token)
    if token.kind != "operator":
        return
    if token.text == "~":
        raise FormulaError(formula, "there is more than one `~`", token.span, "leave it out")
    if token.text == "|":
        raise FormulaError(formula, "a part cannot have parts", token.span)
    if token.text == ",":
        raise FormulaError(formula, "terms are joined by +, not by commas", token.span)


def expression_of(formula: str, token: Token) -> tuple[Expression, int]:
    """The checked expression in a token and where it begins in the token's text."""
    inner = token.text[1:-1] if token.text.startswith("{") else token.text
    shift = len(token.text) - len(inner) - token.text.startswith("{")
    return read_expression(inner, text=formula, start=token.start + shift), shift


def _check_power(formula: str, inside: list[Token], sign: Token) -> None:
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
    if exponent.isdigit() and int(exponent) > LARGEST_INTERACTION:
        raise FormulaError(
            formula, f"interactions go up to {LARGEST_INTERACTION}", inside[at + 1].span
        )


def read_terms(
    piece: Piece, text: str, *, available: Sequence[str], intercept: bool = True
) -> SimpleFormula:
    """The terms of a part as the formula package has them.

    Parameters
    ----------
    piece : Piece
        Where the part stands, for the message.
    text : str
        Its terms; columns may go by other names than in the piece.
    available : sequence of str
        What `.` stands for.
    intercept : bool
        Whether a constant is added unless the part says otherwise.
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
        return Formula(text, _parser=parser, _context=context)
    except FormulaParsingError as error:
        at = marked_span(error, piece.span[0]) if text == piece.text else None
        raise FormulaError(
            piece.formula, f"cannot read `{piece.text}`: {first_line(error)}", at or piece.span
        ) from error
    except (RecursionError, SyntaxError, ValueError) as error:
        raise FormulaError(
            piece.formula, f"cannot read `{piece.text[:60]}`: {type(error).__name__}", piece.span
        ) from error
