"""Stage 1, parse: a formula changed by another, as ``~ . + z`` of R's ``update``."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from bayesvb.errors import FormulaError
from bayesvb.formula.parser import RESPONSE, Formula, name_section, split_sections
from bayesvb.formula.special_terms import summands
from bayesvb.formula.tokens import DOT, read_section


def change_formula(formula: Formula, change: str, names: tuple[str, ...]) -> str:
    """Return the formula in which the dot of a change stands for the present terms.

    Parameters
    ----------
    formula : Formula
    change : str
        ``~ . + z``: left of ``~`` nothing or a dot keeps the response. Parts that are not written
        stay as they are; a gating that was never written keeps the terms of the mean.
    names : tuple of str
        Names of the parts of the model.

    Raises
    ------
    FormulaError
        If the change cannot be read.

    Examples
    --------
    >>> from bayesvb.formula.parser import parse_formula
    >>> read = parse_formula("y ~ x | gating(x)")
    >>> change_formula(read, "log(y) ~ . + z", ("mean", "gating"))
    'log(y) ~ x + z | gating(x)'
    """
    if not isinstance(change, str) or "~" not in change:
        raise FormulaError(
            str(change), "the change of a formula begins with `~`", hint="write '~ . + z'"
        )
    one_sided = RESPONSE not in formula.read
    whole = read_section(change, 0, len(change))
    left, sections = split_sections(whole, one_sided=not whole.between(0, change.index("~")).text)
    changed = {} if left is None else {RESPONSE: changed_terms(formula.response or "", left.text)}
    present = formula.parts
    for position, section in enumerate(sections):
        name, body = name_section(section, position, ("variables",) if one_sided else names)
        changed[name] = changed_terms(present.get(name, "1"), body.text)
    return formula.canonical(gate=formula.gating_given, changed=changed)


def listed_terms(text: str) -> list[tuple[str, str]]:
    """Sign and text of each summand of a part.

    Examples
    --------
    >>> listed_terms("x + s(z, k=5) - 1")
    [('+', 'x'), ('+', 's(z, k=5)'), ('-', '1')]
    """
    return [
        ("+" if one.sign is None else one.sign.text,
         text[one.tokens[0].start : one.tokens[-1].stop])
        for one in summands(read_section(text, 0, len(text)).tokens)
    ]  # fmt: skip


def with_terms(text: str, terms: Sequence[str], replaced: Collection[str] = ()) -> str:
    """Return a part with further terms, in the place of those that they replace.

    Examples
    --------
    >>> with_terms("x + z", ["s(x)"], ["x"]), with_terms("1", ["x"]), with_terms("x - 1", ["z"])
    ('s(x) + z', 'x', 'x - 1 + z')
    """
    present = [one for one in listed_terms(text) if one != ("+", "1")]
    gone = {("+", one) for one in replaced}
    at = next((number for number, one in enumerate(present) if one in gone), len(present))
    added = [("+", term) for term in terms if ("+", term) not in present]
    joined = [*present[:at], *added, *(one for one in present[at:] if one not in gone)]
    return " ".join(f"{sign} {term}" for sign, term in joined).removeprefix("+ ") or "1"


def changed_terms(text: str, change: str) -> str:
    """Return the terms of a change, in which the dot stands for the present terms.

    Examples
    --------
    >>> changed_terms("x + s(z)", ". - x + w"), changed_terms("x", "w"), changed_terms("x", ".:w")
    ('s(z) + w', 'w', 'x:w')
    """
    terms: list[tuple[str, str]] = []
    for sign, term in listed_terms(change):
        if (sign, term) == ("+", "."):
            terms += listed_terms(text)
        elif sign == "-" and ("+", term) in terms:
            terms.remove(("+", term))
        else:
            terms.append((sign, DOT.sub(text if text.isidentifier() else f"({text})", term)))
    return " ".join(f"{sign} {term}" for sign, term in terms).removeprefix("+ ") or "1"


def written(name: str) -> str:
    """Name of a column in a formula: in backquotes if it is not a valid name.

    Examples
    --------
    >>> written("age"), written("Solar.R")
    ('age', '`Solar.R`')
    """
    return name if name.isidentifier() else f"`{name}`"
