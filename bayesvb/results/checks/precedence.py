"""Which checks to see to first, as the others rest on what these ask."""

from __future__ import annotations

from collections.abc import Mapping

CONTINUITY = ("Component of one value", "Discreteness")
"""Checks whether the response is a continuous number; all others of the fit take it for one."""


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
    >>> first_of_all({"Discreteness": "problem", "Skewness": "ok"})
    ''
    """
    problems = [name for name, grade in grades.items() if grade == "problem"]
    named = [name for name in problems if name.startswith(CONTINUITY)]
    if not named or len(named) == len(problems):
        return ""
    return (
        f"See to {', '.join(named)} first: the other checks of the fit take the response for "
        "continuous."
    )
