"""Which checks to see to first, as the others rest on what these ask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bayesvb.results.checks.base import Check
from bayesvb.results.checks.far_rows import FAR_ROWS

CONTINUITY = ("Component of one value", "Discreteness")
"""Checks whether the response is a continuous number; all others of the fit take it for one."""

OF_RESPONSE = (*CONTINUITY, "Shared value")
"""Checks of the values that the response takes, which no other density describes."""


def has_far_rows(checks: Sequence[Check]) -> bool:
    """Whether outliers distort the fit."""
    return any(one.name.startswith(FAR_ROWS) and one.grade == "problem" for one in checks)


def after_far_rows(checks: Sequence[Check]) -> list[Check]:
    """Checks of a fit whose rows are outliers, with one remedy: fix these first.

    Outliers move and widen all predictions, so that every other finding may be theirs.
    """
    far = [one for one in checks if has_far_rows([one])]
    remedy = f"Fix *{far[0].name}* first: it may explain this."
    rest = [replace(one, remedy=remedy) if one.remedy else one for one in checks if one not in far]
    return [*far, *rest]


def response_first(checks: Sequence[Check]) -> list[Check]:
    """Checks with problems of the response itself before misfits of its distribution."""
    problems = [
        one for one in checks if one.name.startswith(OF_RESPONSE) and one.grade == "problem"
    ]
    return [*problems, *(one for one in checks if one not in problems)]


def first_of_all(grades: Mapping[str, str]) -> str:
    """One sentence that names the problems to see to before the others; empty if there are none.

    Parameters
    ----------
    grades : mapping of str to str
        Of the checks of the fit to the data, by name.

    Examples
    --------
    >>> first_of_all({"Discreteness": "problem", "Skewness": "problem", "Tails": "ok"})
    'See to Discreteness first: the other checks of the fit take the response for continuous.'
    >>> first_of_all({"Rows far off": "problem", "Skewness": "problem"})
    'Fix Rows far off first: outliers distort the other checks of the fit.'
    >>> first_of_all({"Discreteness": "problem", "Skewness": "ok"})
    ''
    """
    problems = [name for name, grade in grades.items() if grade == "problem"]
    for names, verb, reason in (
        ((FAR_ROWS,), "Fix", "outliers distort the other checks of the fit."),
        (CONTINUITY, "See to", "the other checks of the fit take the response for continuous."),
    ):
        named = [name for name in problems if name.startswith(names)]
        if named and len(named) < len(problems):
            return f"{verb} {', '.join(named)} first: {reason}"
    return ""
