"""Stage 1, parse: a formula as tokens, each with its place in the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bayesvb.errors import FormulaError

ESCAPES = re.compile(r"[⧛⧚]|\x1b\[[0-9;]*m")

QUOTED = re.compile(r"`[^`]*`")

DOT = re.compile(r"(?<![\w.])\.(?![\w.])")
"""The dot alone, and not the dot of a number or a name."""

# The formula package marks the place it means, in its copy of the text, with these signs.
MARKED = re.compile(r"⧛(?:\x1b\[[0-9;]*m)?(.*?)(?:\x1b\[0m)?⧚")


@dataclass(frozen=True)
class Token:
    """A piece of a formula: `kind` is name, python, value, operator or bracket."""

    kind: str
    text: str
    start: int
    stop: int

    @property
    def span(self) -> tuple[int, int]:
        """First and last position."""
        return self.start, self.stop - 1


@dataclass(frozen=True)
class Section:
    """Characters of a formula between two of its separators, and the tokens that they make.

    Attributes
    ----------
    formula : str
    start, stop : int
        First position, and the one after the last.
    tokens : tuple of Token
    cut : bool
        Whether tokens were taken out: the characters between two that are left are not all blank.
    """

    formula: str
    start: int
    stop: int
    tokens: tuple[Token, ...]
    cut: bool = False

    @property
    def text(self) -> str:
        """Text without the space around it, and without tokens that were taken out."""
        if self.cut:
            return "".join(self.gap(i) + token.text for i, token in enumerate(self.tokens)).strip()
        return self.formula[self.start : self.stop].strip()

    def gap(self, number: int) -> str:
        """The space in front of one of its tokens."""
        before = self.tokens[number - 1].stop if number else self.span[0]
        between = self.formula[before : self.tokens[number].start]
        return between if between.isspace() or not between else " "

    @property
    def span(self) -> tuple[int, int]:
        """First and last position that is not space."""
        raw = self.formula[self.start : self.stop]
        first = self.start + len(raw) - len(raw.lstrip())
        return first, max(first, self.start + len(raw.rstrip()) - 1)

    def between(self, start: int, stop: int) -> Section:
        """The part of it between two positions of the formula, which cut no token."""
        inside = (token for token in self.tokens if start <= token.start and token.stop <= stop)
        return Section(self.formula, start, stop, tuple(inside))


def read_section(formula: str, start: int, stop: int) -> Section:
    """The characters between two positions, and their tokens.

    Operators are single characters; white space is omitted.

    Raises
    ------
    FormulaError
        If a bracket or a quote is not closed, or nothing stands in backquotes.
    """
    from formulaic.errors import FormulaParsingError
    from formulaic.parser.algos.tokenize import tokenize

    text = formula[start:stop]
    empty = next((one.start() for one in QUOTED.finditer(text) if len(one[0]) == 2), None)
    if empty is not None:
        raise FormulaError(
            formula,
            "the backquotes are empty: a column needs a name",
            (start + empty, start + empty + 1),
            "rename the column in the data",
        )
    try:
        raw = [(t.kind.value, t.source_start, t.source_end) for t in tokenize(text)]
    except FormulaParsingError as error:
        raise FormulaError(
            formula, f"cannot read the formula: {first_line(error)}", marked_span(error, start)
        ) from error
    tokens = (token for kind, first, last in raw for token in _single(text, kind, first, last))
    placed = (Token(t.kind, t.text, t.start + start, t.stop + start) for t in tokens)
    return Section(formula, start, stop, tuple(placed))


def _single(text: str, kind: str, start: int, stop: int) -> Iterator[Token]:
    """One token of the formula package as ours: quotes belong to it, operators are split."""
    if kind == "operator" and text[start] != "%":
        for at in range(start, stop + 1):
            if not text[at].isspace():
                yield Token("operator", text[at], at, at + 1)
        return
    closing = {"`": "`", "{": "}", "%": "%"}.get(text[start])
    if (
        closing
        and text[stop + 1 : stop + 2] == closing
        and (stop == start or text[stop] != closing)
    ):
        stop += 1
    kind = "bracket" if kind == "context" else kind
    yield Token(kind, text[start : stop + 1], start, stop + 1)


def first_line(error: Exception) -> str:
    """First line of the formula package's message, without its copy of the formula."""
    said = ESCAPES.sub("", str(error)).splitlines()[0]
    if "Expected: " in said:
        return f"a bracket or quote is not closed, `{said.rpartition('Expected: ')[2]}` is missing"
    return said


def marked_span(error: Exception, offset: int) -> tuple[int, int] | None:
    """The place that the formula package means, if it marks one."""
    copy = str(error).splitlines()[-1]
    match = MARKED.search(copy)
    if match is None or not match[1]:
        return None
    return offset + match.start(), offset + match.start() + len(match[1]) - 1
