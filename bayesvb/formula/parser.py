"""Stage 1, parse: `y ~ x1 + x2 | gating(x1)` as its parts, before any data are seen.

The text becomes tokens, the tokens become sections between `~` and the bars, and each section
becomes a named part whose terms have been checked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from bayesvb.data.parts import GATING, MEAN, PARTS, SIGMA
from bayesvb.errors import FormulaError
from bayesvb.formula.budget import check_text
from bayesvb.formula.limits import LIMITS
from bayesvb.formula.special_terms import OFFSET, SpecialTerm, taken_out
from bayesvb.formula.terms import Part, read_offset, read_part, read_part_with_offset, read_response
from bayesvb.formula.tokens import Section, Token, read_section

RESPONSE = "response"
"""Name of the part to the left of `~`."""

RESERVED = {"precision", "sigma", "tau", "phi"}

FUNCTIONS = {"scale"}
"""Synonyms of a part that are functions too: `| scale(z)` is a gate on standardised z."""

COMPARISON = frozenset("=<>!")
"""Signs that stand in calls only: a formula has `~` for its equality."""


@dataclass(frozen=True)
class Formula:
    """A formula taken apart.

    Attributes
    ----------
    text : str
        As it was given, on one line.
    read : mapping of str to Part
        The parts by name, after the response if there is one.
    gating_given : bool
        False if no gating was written: it has the terms of the mean, or is constant with sigma or
        zero.
    """

    text: str
    read: Mapping[str, Part]
    gating_given: bool = True

    @property
    def response(self) -> str | None:
        """Part to the left of `~`."""
        return self.read[RESPONSE].text if RESPONSE in self.read else None

    @property
    def parts(self) -> Mapping[str, str]:
        """Right-hand side of each part, without the offset."""
        return {
            name: part.text for name, part in self.read.items() if name not in (RESPONSE, OFFSET)
        }

    @property
    def knows_noise(self) -> bool:
        """Whether the noise has a known factor, ``sigma(offset(z))``."""
        return any(part.offset is not None for part in self.read.values())

    def place(self, name: str, *, after: int = 0) -> tuple[int, int] | None:
        """First and last position of a name in the text."""
        search = re.compile(rf"(?<![\w.]){re.escape(name)}(?![\w.])").search(self.text, after)
        return (search.start(), search.end() - 1) if search else None

    def canonical(self, *, gate: bool = True, changed: Mapping[str, str] | None = None) -> str:
        """The formula with every part written out and named.

        Parameters
        ----------
        gate : bool
            Whether to include the gating; one component has none.
        changed : mapping of str to str, optional
            Other terms of parts, or of the response, by name.

        Examples
        --------
        >>> parse_formula("y~x1+x2|x1").canonical()
        'y ~ x1 + x2 | gating(x1)'
        >>> parse_formula("y~x1+x2|x1").canonical(gate=False)
        'y ~ x1 + x2'
        """
        changed = changed or {}
        first, *others = {**self.parts, **changed}.items()
        named = [
            f"{name}({_spaced(terms)})"
            for name, terms in others
            if name != RESPONSE and (gate or name in changed or not PARTS[name].of_weights)
        ]
        response = changed.get(RESPONSE, self.response)
        left = f"{_spaced(response)} ~ " if response else "~ "
        offset = [_spaced(self.read[OFFSET].text)] if OFFSET in self.read else []
        mean = " + ".join([_spaced(first[1]), *offset])
        return left + " | ".join([mean, *named])


def parse_formula(
    text: str,
    *,
    parts: tuple[str, ...] = (MEAN, GATING),
    one_sided: bool = False,
    offset: bool = False,
    calls: bool = False,
) -> Formula:
    """The formula's response and parts.

    Parameters
    ----------
    text : str
        `response ~ terms | terms`, or `~ terms` if one-sided. A part after the first may be
        named: `gating(terms)`. With `sigma(terms)` or `zero(terms)` and no gating the weights are
        constant.
    parts : tuple of str
        Names of the parts, keys of ``PARTS``. The first two may be written without their name.
    one_sided : bool
        Whether the formula has no response; its one part is then called `variables`.
    offset : bool
        Whether the first part may have an ``offset()``.
    calls : bool
        Whether the response may have several numbers per row, as ``cens(y, status)``.

    Raises
    ------
    FormulaError
        With the place of what cannot be read, and what to write instead.

    Examples
    --------
    >>> dict(parse_formula("y ~ x1 + x2 | gating(x1)").parts)
    {'mean': 'x1 + x2', 'gating': 'x1'}
    """
    example = "'~ x1 + x2'" if one_sided else "'y ~ x1 + x2 | gating(x1)'"
    if not isinstance(text, str):
        raise FormulaError(
            type(text).__name__,
            f"the formula is a {type(text).__name__}, and must be a string",
            hint=f"the formula comes first, then the data; write for example {example}",
        )
    if not text.strip():
        raise FormulaError(text, "the formula is empty", hint=f"write for example {example}")
    check_text(text)
    text = re.sub(r"\s", " ", text)
    names = ("variables",) if one_sided else parts
    left, sections = split_sections(read_section(text, 0, len(text)), one_sided=one_sided)
    result = {} if left is None else {RESPONSE: read_response(left, calls=calls)}
    for position, section in enumerate(sections):
        name, body = name_section(section, position, names)
        if name in result:
            raise FormulaError(text, f"`{name}` is given twice", section.span)
        result |= _read_body(name, body, position, offset=offset, intercept=not one_sided)
    defaults = {name: PARTS[name].default for name in names if name in PARTS and name not in result}
    # Beside a spread or zeros that covariates change, weights that they change are rarely meant.
    further = any(name in result for name, part in PARTS.items() if part.coefficient_sd)
    constant = read_part(read_section("1", 0, 1)) if further else None
    copied = {name: constant or result[first] for name, first in defaults.items() if first}
    result |= copied
    ordered = {name: result[name] for name in (RESPONSE, *names, OFFSET) if name in result}
    return Formula(text, ordered, not copied)


def _read_body(
    name: str, body: Section, position: int, *, offset: bool, intercept: bool
) -> dict[str, Part]:
    """A part by its name, and its offsets, which stay among the terms of ``sigma``."""
    rest, known = taken_out(body, (OFFSET,))
    if known:
        _check_offset(known[0], allowed=offset, part=name if position else "")
    if known and name == SIGMA:
        return {name: read_part_with_offset(body, known)}
    offsets = {OFFSET: read_offset(known)} if known else {}
    return {**offsets, name: read_part(rest, intercept=intercept)}


def _check_offset(term: SpecialTerm, *, allowed: bool, part: str) -> None:
    """Refuse an offset of another part than the first, or where no response has a place."""
    if not allowed:
        raise term.refused(
            f"`{term.text}`: this model has no offset",
            "subtract it from the response: I(y - z) ~ x; DensityRegression has offsets",
        )
    if part and part not in (GATING, SIGMA):
        raise term.refused(
            f"the part {part} has no offset",
            "write z as a term here, with a coefficient; in the first part, y ~ offset(z) + x, it "
            "is added to the mean or its link",
        )
    if part == GATING:
        raise term.refused(
            "an offset of the mixing weights has no effect: a constant added to all logits does "
            "not change the weights",
            "put it in the first part, y ~ offset(z) + x | gating(x), or write z as a term here",
        )


def split_sections(whole: Section, *, one_sided: bool) -> tuple[Section | None, list[Section]]:
    """The response and the sections between the bars."""
    text, depth = whole.formula, 0
    tildes: list[Token] = []
    bars: list[Token] = []
    for token in whole.tokens:
        if token.kind == "bracket":
            depth += 1 if token.text in "([" else -1
        elif token.kind == "operator" and token.text in COMPARISON:
            raise _comparison(text, token)
        elif token.kind == "operator" and token.text == "|" and not depth and tildes:
            _check_bar(text, token, bars)
            bars.append(token)
        elif token.kind == "operator" and token.text == "~":
            tildes.append(token)
    left = _response(whole, tildes, one_sided=one_sided)
    begins = [tildes[0].stop, *(bar.stop for bar in bars)]
    ends = [*(bar.start for bar in bars), len(text)]
    return left, [whole.between(begin, end) for begin, end in zip(begins, ends, strict=True)]


def _comparison(text: str, sign: Token) -> FormulaError:
    """Error for a sign of a comparison outside of a call, or for `=` instead of `~`."""
    around = text[max(sign.start - 1, 0) : sign.stop + 1]
    if sign.text == "=" and not any(other in around for other in ("==", "!=", "<=", ">=")):
        return FormulaError(text, "a formula uses `~`, not `=`", sign.span)
    left = text.partition("~")[0].strip()
    inside = left[1:-1] if left.startswith("(") and left.endswith(")") else left
    example = "I(x > 0)" if "~" in text[: sign.start] else f"I({inside}) ~ ..."
    return FormulaError(
        text, "a comparison must stand in I(...)", sign.span, f"write {example}, which is 0 or 1"
    )


def _check_bar(text: str, bar: Token, before: list[Token]) -> None:
    if before and not text[before[-1].stop : bar.start].strip():
        raise FormulaError(text, "nothing stands between the bars", (before[-1].start, bar.start))


def _response(whole: Section, tildes: list[Token], *, one_sided: bool) -> Section | None:
    """Response: the text to the left of the only tilde."""
    text = whole.formula
    if not tildes:
        hint = (
            f"write '~ {text.strip()}'"
            if one_sided
            else ("write the response first: 'y ~ x1 + x2'")
        )
        raise FormulaError(text, "`~` is missing", hint=hint)
    if len(tildes) > 1:
        raise FormulaError(text, "there is more than one `~`", tildes[1].span)
    left = whole.between(0, tildes[0].start)
    if one_sided and left.text:
        raise FormulaError(
            text,
            "this model has no response: leave the left side of `~` empty",
            left.span,
            f"write '{text[tildes[0].start :].strip()}'",
        )
    if not one_sided and not left.text:
        raise FormulaError(text, "the response left of `~` is missing", tildes[0].span)
    return left if left.text else None


def name_section(section: Section, position: int, names: tuple[str, ...]) -> tuple[str, Section]:
    """The name of a part, written or by position, and its terms."""
    text, inside = section.formula, section.tokens
    if not inside:
        at = max(section.start - 1, 0)
        raise FormulaError(text, "a part is empty", (at, at), "write 1 for a constant")
    named = [
        (t, m[0])
        for t in inside
        if t.kind == "python" and (m := re.match(r"[A-Za-z_]\w*(?=\s*\()", t.text))
    ]
    for token, head in named:
        place = position if len(inside) == 1 else 0
        _check_head(section, token, head, names, place=place)
    if named and len(inside) == 1 and named[0][1] in names[1:]:
        token, head = named[0]
        if position == 0:
            raise FormulaError(
                text,
                f"the first part is the {names[0]}",
                section.span,
                f"write '... ~ 1 | {section.text}'",
            )
        return head, read_section(text, token.start + token.text.index("(") + 1, token.stop - 1)
    if position >= min(len(names), LIMITS.unnamed_parts):
        what = "needs a name" if position < len(names) else "is one too many"
        what = f"part {position + 1} {what}"
        raise FormulaError(text, what, section.span, _parts_are(names))
    if position and section.text in names:
        raise FormulaError(
            text,
            f"`{section.text}` has no terms",
            section.span,
            f"write {section.text}(x), or {section.text}(1) for a constant",
        )
    return names[position], section


SHAPES = ("dispersion", "disp", "shape")
CONSTANT = " It is for family='gaussian' and 'student': dispersions and shapes are constants"
"""Parameters of other families that have no terms, and what to say of them."""


def _check_head(
    section: Section, token: Token, head: str, names: tuple[str, ...], *, place: int
) -> None:
    """Refuse a part's name where it cannot stand, and words that only look like one.

    ``place`` is the position of a part that has no other terms, zero of the first and of others.
    """
    alone = place > 0
    at = (token.start, token.start + len(head) - 1)
    if head == "precision" or (alone and head in RESERVED and head not in names):
        raise FormulaError(section.formula, f"`{head}(...)` is reserved", at, _parts_are(names))
    if head in names[1:] and section.text != token.text:
        raise FormulaError(
            section.formula,
            f"`{head}(...)` must be a part of its own",
            token.span,
            f"put all its terms inside: {head}(x + z)",
        )
    if not alone or head in names[1:] or (place == 1 and head in FUNCTIONS):
        return
    synonyms = {word: part.name for part in PARTS.values() for word in part.synonyms}
    near = synonyms.get(head) or next(iter(get_close_matches(head, names[1:], 1, 0.75)), None)
    if near in names[1:]:
        raise FormulaError(
            section.formula,
            f"`{head}` is not a part of this model",
            at,
            f"did you mean {near}(...)?{CONSTANT if head in SHAPES else ''}",
        )


def _parts_are(names: tuple[str, ...]) -> str:
    noun = "parts are" if len(names) > 1 else "only part is"
    return f"this model's {noun} {' and '.join(names)}"


def _spaced(terms: str) -> str:
    """Terms with a space on either side of each +, - and bar, and nowhere else."""
    pieces: list[str] = []
    for token in read_section(terms, 0, len(terms)).tokens:
        joins = token.text in ("+", "-", "|") and pieces and pieces[-1][-1] not in "(*:/^+- "
        pieces.append(f" {token.text} " if joins or token.text[0] == "%" else token.text)
    return "".join(pieces).replace(" | |", " || ")
