"""`y ~ x1 + x2 | gating(x1)`: the parts of a formula, each still as text.

Three stages with a value between them: the text becomes tokens, the tokens become spans between
`~` and the bars, and each span becomes a named part whose terms have been checked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from bayesvb.errors import FormulaError
from bayesvb.tokens import Piece, Token, tokens
from bayesvb.wilkinson import check_response, check_terms

__all__ = ["Formula", "parse_formula"]

NEAR = {
    "gate": "gating", "mixing": "gating", "mixture": "gating", "weights": "gating",
    "concomitant": "gating", "theta": "gating",
}  # fmt: skip
RESERVED = {"precision", "sigma", "tau", "phi"}


@dataclass(frozen=True)
class Formula:
    """A formula taken apart.

    Attributes
    ----------
    text : str
        As it was given, on one line.
    response : str or None
        What stands left of `~`.
    parts : mapping of str to str
        Right-hand side of each part.
    gating_given : bool
        False if the gating has the terms of the mean because none were written.
    """

    text: str
    response: str | None
    parts: Mapping[str, str] = field(default_factory=dict)
    gating_given: bool = True

    def canonical(self) -> str:
        """The formula with every part written out and named.

        Examples
        --------
        >>> parse_formula("y~x1+x2|x1").canonical()
        'y ~ x1 + x2 | gating(x1)'
        """
        first, *others = self.parts.items()
        named = [f"{name}({_spaced(terms)})" for name, terms in others]
        left = f"{_spaced(self.response)} ~ " if self.response else "~ "
        return left + " | ".join([_spaced(first[1]), *named])


def parse_formula(
    text: str, *, parts: tuple[str, ...] = ("mean", "gating"), one_sided: bool = False
) -> Formula:
    """The formula's response and parts.

    Parameters
    ----------
    text : str
        `response ~ terms | terms`, or `~ terms` if one-sided. A part after the first may be
        named: `gating(terms)`.
    parts : tuple of str
        Names of the parts in their order; a gating that is left out copies the mean.
    one_sided : bool
        Whether the formula has no response; its one part is then called `variables`.

    Raises
    ------
    FormulaError
        With the place of what cannot be read, and what to write instead.

    Examples
    --------
    >>> dict(parse_formula("y ~ x1 + x2 | gating(x1)").parts)
    {'mean': 'x1 + x2', 'gating': 'x1'}
    """
    if not isinstance(text, str) or not text.strip():
        example = "'~ x1 + x2'" if one_sided else "'y ~ x1 + x2 | gating(x1)'"
        raise FormulaError(str(text), "the formula is empty", hint=f"write for example {example}")
    text = re.sub(r"\s", " ", text)
    names = ("variables",) if one_sided else parts
    left, pieces = _split(Piece(text, 0, len(text)), one_sided=one_sided)
    if left is not None:
        check_response(left)
    found: dict[str, str] = {}
    for position, piece in enumerate(pieces):
        name, body = _named(piece, position, names)
        if name in found:
            raise FormulaError(text, f"`{name}` is given twice", piece.span)
        check_terms(body)
        found[name] = body.text or "1"
    given = "gating" in found or "gating" not in names
    if not given:
        found["gating"] = found["mean"]
    ordered = {name: found[name] for name in names if name in found}
    return Formula(text, left.text if left else None, ordered, given)


def _split(whole: Piece, *, one_sided: bool) -> tuple[Piece | None, list[Piece]]:
    """The response and the pieces between the bars."""
    text, depth = whole.formula, 0
    tildes: list[Token] = []
    bars: list[Token] = []
    for token in whole.tokens():
        if token.kind == "bracket":
            depth += 1 if token.text in "([" else -1
        elif token.kind == "operator" and token.text == "=":
            raise FormulaError(text, "a formula uses `~`, not `=`", token.span)
        elif token.kind == "operator" and token.text == "|":
            _check_bar(text, token, depth, bars)
            bars.append(token)
        elif token.kind == "operator" and token.text == "~":
            tildes.append(token)
    left = _response(whole, tildes, one_sided=one_sided)
    if bars and bars[0].start < tildes[0].start:
        raise FormulaError(text, "`|` belongs to the right of `~`", bars[0].span)
    begins = [tildes[0].stop, *(bar.stop for bar in bars)]
    ends = [*(bar.start for bar in bars), len(text)]
    return left, [Piece(text, begin, end) for begin, end in zip(begins, ends, strict=True)]


def _check_bar(text: str, bar: Token, depth: int, before: list[Token]) -> None:
    if depth:
        raise FormulaError(
            text,
            "group-level terms such as (1 | g) are not part of this model",
            bar.span,
            "write g, or C(g, contr.sum), for an effect of each level",
        )
    if before and not text[before[-1].stop : bar.start].strip():
        raise FormulaError(text, "nothing stands between the bars", (before[-1].start, bar.start))


def _response(whole: Piece, tildes: list[Token], *, one_sided: bool) -> Piece | None:
    """What stands left of the one tilde."""
    text = whole.formula
    if not tildes:
        hint = (
            f"write '~ {text.strip()}'"
            if one_sided
            else ("write the response first: 'y ~ x1 + x2'")
        )
        raise FormulaError(text, "there is no `~`", hint=hint)
    if len(tildes) > 1:
        raise FormulaError(text, "there is more than one `~`", tildes[1].span)
    left = Piece(text, 0, tildes[0].start)
    if one_sided and left.text:
        raise FormulaError(
            text,
            "this model has no response: nothing stands left of `~`",
            left.span,
            f"write '{text[tildes[0].start :].strip()}'",
        )
    if not one_sided and not left.text:
        raise FormulaError(text, "there is no response left of `~`", tildes[0].span)
    return left if left.text else None


def _named(piece: Piece, position: int, names: tuple[str, ...]) -> tuple[str, Piece]:
    """The name of a part, written or by position, and its terms."""
    text, inside = piece.formula, piece.tokens()
    if not inside:
        at = max(piece.start - 1, 0)
        raise FormulaError(text, "a part is empty", (at, at), "write 1 for a constant")
    named = [
        (t, m[0])
        for t in inside
        if t.kind == "python" and (m := re.match(r"[A-Za-z_]\w*(?=\s*\()", t.text))
    ]
    for token, head in named:
        _check_head(piece, token, head, names, alone=len(inside) == 1 and position > 0)
    if named and len(inside) == 1 and named[0][1] in names[1:]:
        token, head = named[0]
        if position == 0:
            raise FormulaError(
                text,
                f"the first part is the {names[0]}",
                piece.span,
                f"write '... ~ 1 | {piece.text}'",
            )
        return head, Piece(text, token.start + token.text.index("(") + 1, token.stop - 1)
    if position >= len(names):
        spare = "reserved" if position == 2 and "gating" in names else "one too many"
        raise FormulaError(text, f"part {position + 1} is {spare}", piece.span, _parts_are(names))
    if position and piece.text in names:
        raise FormulaError(
            text,
            f"`{piece.text}` has no terms",
            piece.span,
            f"write {piece.text}(x), or {piece.text}(1) for a constant",
        )
    return names[position], piece


def _check_head(
    piece: Piece, token: Token, head: str, names: tuple[str, ...], *, alone: bool
) -> None:
    """Refuse a part's name where it cannot stand, and words that only look like one."""
    at = (token.start, token.start + len(head) - 1)
    if head == "precision" or (alone and head in RESERVED):
        raise FormulaError(piece.formula, f"`{head}(...)` is reserved", at, _parts_are(names))
    if head in names[1:] and piece.text != token.text:
        raise FormulaError(
            piece.formula,
            f"`{head}(...)` must be a part of its own",
            token.span,
            f"put all its terms inside: {head}(x + z)",
        )
    if not alone or head in names[1:]:
        return
    near = NEAR.get(head) or next(iter(get_close_matches(head, names[1:], 1, 0.75)), None)
    if near in names[1:]:
        raise FormulaError(
            piece.formula, f"`{head}` is not a part of this model", at, f"did you mean {near}(...)?"
        )


def _parts_are(names: tuple[str, ...]) -> str:
    noun = "parts are" if len(names) > 1 else "only part is"
    return f"this model's {noun} {' and '.join(names)}"


def _spaced(terms: str) -> str:
    """Terms with a space on either side of each + and -, and nowhere else."""
    pieces: list[str] = []
    for token in tokens(terms):
        joins = token.text in ("+", "-") and pieces and pieces[-1][-1] not in "(*:/^+- "
        pieces.append(f" {token.text} " if joins or token.text[0] == "%" else token.text)
    return "".join(pieces)
