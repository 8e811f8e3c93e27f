"""Stage 1, parse: ``(x | g)``, an effect of every group, as its meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bayesvb.errors import FormulaError
from bayesvb.formula.expressions import Code, Role, read_expression
from bayesvb.formula.special_terms import SpecialTerm
from bayesvb.formula.tokens import Token


@dataclass(frozen=True)
class GroupTerm:
    """Effects of the levels of a column, or of the combinations of several.

    Attributes
    ----------
    place : SpecialTerm
        Where it stands.
    intercept : bool
        Whether every group has a level of its own.
    numbers : tuple of Code
        Covariates of which every group has a slope of its own.
    groups : tuple of str
        Columns whose combinations are the groups.
    correlated : bool
        Whether several effects of a group have a full covariance, not independent prior scales.
    """

    place: SpecialTerm
    intercept: bool
    numbers: tuple[Code, ...]
    groups: tuple[str, ...]
    correlated: bool = False

    @property
    def columns(self) -> tuple[tuple[str, Role], ...]:
        """Columns that it reads as they stand, and how."""
        return tuple((group, "groups") for group in self.groups)


def read_group(place: SpecialTerm) -> tuple[GroupTerm, ...]:
    """The effects that a term writes: one for each level of nesting.

    ``(x | a/b)`` is ``(x | a) + (x | a:b)``. Several effects of ``(x | a)`` are correlated within
    each group, effects of ``(x || a)`` independent.

    Raises
    ------
    FormulaError
        With its place, if a side of the bar is none of an effect.
    """
    inside = place.section.tokens[1:-1]
    bars = [at for at, token in enumerate(inside) if token.text == "|"]
    twice = len(bars) == 2 and bars[1] == bars[0] + 1
    if len(bars) != 1 and not twice:
        raise place.refused(f"`{place.text}` has more than one bar", "write (x | g)")
    intercept, numbers = _effects(place, inside[: bars[0]])
    names, signs = _groups(place, inside[bars[-1] + 1 :])
    depths = range(1, len(names) + 1) if "/" in signs else (len(names),)
    return tuple(GroupTerm(place, intercept, numbers, names[:n], not twice) for n in depths)


def _effects(place: SpecialTerm, tokens: Sequence[Token]) -> tuple[bool, tuple[Code, ...]]:
    """Effects to the left of the bar: whether there is a constant, and the slopes."""
    if not tokens:
        raise place.refused(f"nothing stands left of the bar in `{place.text}`", "write (1 | g)")
    intercept = True
    numbers: list[Code] = []
    joined = tokens if tokens[0].text in "+-" else (None, *tokens)
    pairs = [(joined[at], joined[at + 1 : at + 2]) for at in range(0, len(joined), 2)]
    for sign, one in pairs:
        token = one[0] if one else None
        minus = sign is not None and sign.text == "-"
        if token is None or (sign is not None and sign.text not in "+-"):
            raise _unreadable(place)
        if token.text in ("0", "1"):
            intercept = (token.text == "1") is not minus
        elif token.kind in ("name", "python") and token.text != "." and not minus:
            inner = token.text[1:-1] if token.text.startswith("{") else token.text
            start = token.start + token.text.startswith("{")
            numbers.append(read_expression(inner, text=place.section.formula, start=start))
        else:
            raise _unreadable(place)
    if not intercept and not numbers:
        raise place.refused(f"`{place.text}` has neither an intercept nor a slope", "write (1 | g)")
    return intercept, tuple(numbers)


def _unreadable(place: SpecialTerm) -> FormulaError:
    return place.refused(
        f"cannot read what stands left of the bar in `{place.text}`",
        "write 1, 0, or numeric columns joined by +: (1 | g), (x | g), (0 + x | g), (x + z | g)",
    )


def _groups(place: SpecialTerm, tokens: Sequence[Token]) -> tuple[tuple[str, ...], str]:
    """Groups to the right of the bar: columns, and the signs between them."""
    names = tuple(token.text.strip("`") for token in tokens[::2] if token.kind == "name")
    signs = "".join(token.text for token in tokens[1::2])
    whole = len(names) == len(tokens[::2]) == len(signs) + 1 and "." not in names
    if not whole or set(signs) - set(":/") or len(set(signs)) > 1 or len(set(names)) < len(names):
        raise place.refused(
            f"cannot read what stands right of the bar in `{place.text}`",
            "a column, combinations a:b, or b inside of a: (1 | g), (1 | a:b), (1 | a/b); "
            "crossed groups are two terms: (1 | a) + (1 | b)",
        )
    return names, signs
