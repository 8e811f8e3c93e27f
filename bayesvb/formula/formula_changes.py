"""Stage 1, parse: a formula changed by another, as ``~ . + z`` of R's ``update``."""

from __future__ import annotations

from bayesvb.errors import FormulaError
from bayesvb.formula.edited_terms import changed_terms
from bayesvb.formula.parser import RESPONSE, Formula, name_section, split_sections
from bayesvb.formula.tokens import read_section

__all__ = ["change_formula"]


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
