"""Stage 1, parse: terms that are none of Wilkinson and Rogers', found in a part of a formula.

They stand by themselves, joined to other terms by ``+``: ``offset(z)``, a known summand of the
response, ``s(x)`` and ``te(x, z)``, a smooth curve and surface, and ``(x | g)``, an effect of every
group.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from bayesvb.errors import FormulaError
from bayesvb.formula.tokens import Section, Token

OFFSET = "offset"
"""A known summand of the response; also among the names of the parts."""

SMOOTH = "smooth"

GROUP = "group"

HEADS: Mapping[str, str] = {"offset": OFFSET, "s": SMOOTH, "te": SMOOTH}
"""Names that look like functions -> kinds of terms."""


def is_offset(code: str) -> bool:
    """Whether the code of a term, under the aliases of its columns, is an offset."""
    return code.startswith(f"{OFFSET}(")


@dataclass(frozen=True)
class SpecialTerm:
    """A term that stands by itself.

    Attributes
    ----------
    kind : {"offset", "smooth", "group"}
    section : Section
        Its characters.
    """

    kind: str
    section: Section

    @property
    def text(self) -> str:
        """Text of the term as it was written."""
        return self.section.text

    def inside(self) -> tuple[str, int]:
        """Text between the brackets, and its position in the formula."""
        opening = self.section.formula.index("(", self.section.start)
        return self.section.formula[opening + 1 : self.section.stop - 1], opening + 1

    def refused(self, why: str, hint: str | None = None) -> FormulaError:
        """An error at its place."""
        return FormulaError(self.section.formula, why, self.section.span, hint)


@dataclass(frozen=True)
class Summand:
    """Tokens between two signs, and the sign in front of them."""

    sign: Token | None
    tokens: tuple[Token, ...]


def taken_out(section: Section, kinds: Collection[str]) -> tuple[Section, tuple[SpecialTerm, ...]]:
    """The rest of a part, and the special terms of some kinds that were taken out of it.

    Raises
    ------
    FormulaError
        With the place of one that is subtracted or part of an interaction.
    """
    removed: list[SpecialTerm] = []
    kept: list[Token] = []
    for summand in summands(section.tokens):
        term = _special(section, summand)
        if term is not None and term.kind in kinds:
            removed.append(term)
        else:
            kept += [token for token in (summand.sign, *summand.tokens) if token is not None]
    if not removed:
        return section, ()
    if kept and kept[0].text == "+":
        kept = kept[1:]
    return replace(section, tokens=tuple(kept), cut=True), tuple(removed)


def summands(tokens: Sequence[Token]) -> Iterator[Summand]:
    """Summands, joined by + and - outside of brackets."""
    sign: Token | None = None
    inside: list[Token] = []
    depth = 0
    for token in tokens:
        if token.kind == "bracket":
            depth += 1 if token.text in "([" else -1
        if depth == 0 and token.kind == "operator" and token.text in "+-" and (inside or not sign):
            if inside:
                yield Summand(sign, tuple(inside))
            sign, inside = token, []
        else:
            inside.append(token)
    if inside or sign:
        yield Summand(sign, tuple(inside))


def _special(section: Section, summand: Summand) -> SpecialTerm | None:
    """The summand as a special term, if it is one; an interaction cannot have one inside."""
    kind = _kind(summand.tokens)
    if kind is None:
        _check_plain(section, summand.tokens)
        return None
    first, last = summand.tokens[0], summand.tokens[-1]
    term = SpecialTerm(kind, section.between(first.start, last.stop))
    if summand.sign is not None and summand.sign.text == "-":
        raise term.refused(
            f"`- {term.text}` is not possible: this term cannot be subtracted", "omit it"
        )
    return term


def _kind(tokens: Sequence[Token]) -> str | None:
    """The kind of the term that these tokens are."""
    if len(tokens) == 1:
        return _head(tokens[0])
    bars = [at for at, token in enumerate(tokens) if token.text == "|"]
    depths = _depths(tokens)
    wrapped = bool(tokens) and tokens[0].text == "(" and min(depths[:-1], default=0) > 0
    return GROUP if wrapped and any(depths[at] == 1 for at in bars) else None


def _depths(tokens: Sequence[Token]) -> list[int]:
    """Number of open brackets after each token."""
    depths, depth = [], 0
    for token in tokens:
        if token.kind == "bracket":
            depth += 1 if token.text in "([" else -1
        depths.append(depth)
    return depths


def _head(token: Token) -> str | None:
    """The kind of a term that a token begins."""
    match = re.match(r"([A-Za-z_]\w*)\s*\(", token.text) if token.kind == "python" else None
    return HEADS.get(match[1]) if match else None


def _check_plain(section: Section, tokens: Sequence[Token]) -> None:
    """Raise for a special term inside an interaction or brackets."""
    for token, depth in zip(tokens, _depths(tokens), strict=True):
        if _head(token) or (token.text == "|" and token.kind == "operator" and depth):
            shown = token.text if _head(token) else "(... | ...)"
            raise FormulaError(
                section.formula,
                f"`{shown}` cannot be part of a product or bracket: it must be a term of its own",
                token.span,
                _curve_per_level(tokens, token)
                or f"join it to the other terms by +, as in y ~ x + {shown}",
            )


def _curve_per_level(tokens: Sequence[Token], curve: Token) -> str | None:
    """Hint for ``s(x) * g`` and ``s(x):g``, in either order."""
    others = [token for token in tokens if token is not curve]
    operators = [token for token in others if token.text in ("*", ":")]
    if _head(curve) != SMOOTH or len(others) != 2 or len(operators) != 1:
        return None
    by = next(token.text for token in others if token is not operators[0])
    return f"for a curve per level of {by} write {by} + {curve.text[:-1]}, by={by})"
