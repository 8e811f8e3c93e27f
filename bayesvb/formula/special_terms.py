"""Stage 1, parse: terms that are none of Wilkinson and Rogers', found in a part of a formula.

They stand by themselves, joined to other terms by ``+``: ``offset(z)``, a known summand of the
response.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from bayesvb.errors import FormulaError
from bayesvb.formula.tokens import Section, Token

__all__ = ["OFFSET", "SpecialTerm", "taken_out"]

OFFSET = "offset"
"""What is added to the response's place as it is, among the names of the parts."""

HEADS = (OFFSET,)
"""Names that look like functions and are kinds of terms."""


@dataclass(frozen=True)
class SpecialTerm:
    """A term that stands by itself.

    Attributes
    ----------
    kind : str
        ``"offset"``.
    section : Section
        Its characters.
    """

    kind: str
    section: Section

    @property
    def text(self) -> str:
        """As it was written."""
        return self.section.text

    def inside(self) -> tuple[str, int]:
        """What stands between its brackets, and where that starts in the formula."""
        opening = self.section.formula.index("(", self.section.start)
        return self.section.formula[opening + 1 : self.section.stop - 1], opening + 1


@dataclass(frozen=True)
class _Summand:
    """Tokens between two signs, and the sign in front of them."""

    sign: Token | None
    tokens: tuple[Token, ...]


def taken_out(
    section: Section, kinds: Collection[str] = HEADS
) -> tuple[Section, tuple[SpecialTerm, ...]]:
    """The rest of a part, and the special terms of some kinds that were taken out of it.

    Raises
    ------
    FormulaError
        With the place of one that is subtracted or part of an interaction.
    """
    found: list[SpecialTerm] = []
    kept: list[Token] = []
    for summand in _summands(section.tokens):
        term = _special(section, summand)
        if term is not None and term.kind in kinds:
            found.append(term)
        else:
            kept += [token for token in (summand.sign, *summand.tokens) if token is not None]
    if not found:
        return section, ()
    if kept and kept[0].text == "+":
        kept = kept[1:]
    return replace(section, tokens=tuple(kept), cut=True), tuple(found)


def _summands(tokens: Sequence[Token]) -> Iterator[_Summand]:
    """What is joined by + and - outside of brackets."""
    sign: Token | None = None
    inside: list[Token] = []
    depth = 0
    for token in tokens:
        if token.kind == "bracket":
            depth += 1 if token.text in "([" else -1
        if depth == 0 and token.kind == "operator" and token.text in "+-" and (inside or not sign):
            if inside:
                yield _Summand(sign, tuple(inside))
            sign, inside = token, []
        else:
            inside.append(token)
    if inside or sign:
        yield _Summand(sign, tuple(inside))


def _special(section: Section, summand: _Summand) -> SpecialTerm | None:
    """The summand as a special term, if it is one; an interaction cannot have one inside."""
    for token in summand.tokens:
        if len(summand.tokens) > 1 and _head(token):
            raise FormulaError(
                section.formula,
                f"`{token.text}` must be a term of its own",
                token.span,
                "join it to the other terms by +, outside of brackets",
            )
    if len(summand.tokens) != 1 or _head(summand.tokens[0]) is None:
        return None
    token = summand.tokens[0]
    if summand.sign is not None and summand.sign.text == "-":
        raise FormulaError(
            section.formula,
            f"`{token.text}` cannot be taken out of a part",
            token.span,
            "leave it out of the formula",
        )
    return SpecialTerm(_head(token) or "", section.between(token.start, token.stop))


def _head(token: Token) -> str | None:
    """The kind of a term that a token begins."""
    found = re.match(r"([A-Za-z_]\w*)\s*\(", token.text) if token.kind == "python" else None
    return found[1] if found and found[1] in HEADS else None
