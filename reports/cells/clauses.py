"""Clauses of the first sentence, and the checks that contradict them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bayesvb.results.checks.base import Check

from .numerals import enumerated

SHAPE = ("Skewness", "Tails", "Shape", "Predictive spread", "Smallest response", "Largest response",
         "Discreteness", "Repeated value", "Zeros", "One more component")  # fmt: skip
"""Checks of the distribution around the mean, which do not contradict a change of the mean: the
checks *Mean by* each covariate test whether a further component improves the mean."""

UNFINISHED = ("Convergence", "Chains agree", "Likelihood has a maximum")
"""Checks of the computation without which no numbers are stated."""

MOST_NAMED = 2
"""Checks that a sentence names."""

LEADS = ("All", "At", "Both", "From", "No", "One", "The", "With")
"""First words of sentences that are in lower case after a colon."""


@dataclass(frozen=True)
class Clause:
    """One statement about a fit.

    Attributes
    ----------
    text : str
        Wording if no check contradicts the statement.
    doubted : str
        Wording if a check does, before which the checks are named; if empty, the clause is
        omitted.
    covariate : str
        Whose effect is stated; empty if the clause is about all rows.
    response : str
        Empty if the clause is about all variables.
    of_spread : bool
        Whether the clause is about the spread of the response instead of its mean.
    """

    text: str
    doubted: str = ""
    covariate: str = ""
    response: str = ""
    of_spread: bool = False


def written(
    sentences: Sequence[Sequence[Clause]], checks: Sequence[Check], responses: Sequence[str]
) -> list[str]:
    """Sentences with the wording that the checks allow.

    Examples
    --------
    >>> clause = Clause("From x = 1 to 2 y rises by 2", "From x = 1 to 2 y changes by 2", "x", "y")
    >>> written([[clause]], [], ["y"])
    ['From x = 1 to 2 y rises by 2.']
    >>> check = Check("Mean by x", "fit", "problem", 1.0, "", 0.0, "", "", "")
    >>> written([[clause]], [check], ["y"])
    ['The fit fails the check Mean by x, so this may be wrong: from x = 1 to 2 y changes by 2.']
    >>> written([[clause]], [replace(check, name="Tails")], ["y"])
    ['Provisional: from x = 1 to 2 y rises by 2.']
    >>> written([[clause]], [replace(check, name="Convergence")], ["y"])
    ['Not converged: no finding.']
    """
    problems = [check for check in checks if check.grade == "problem" and check.weighs]
    if sentences and any(check.name in UNFINISHED for check in problems):
        return ["Not converged: no finding."]
    found = [text for each in sentences if (text := _sentence(each, problems, responses))]
    stated = [clause for clauses in sentences for clause in clauses if not clause.of_spread]
    doubted = any(_contradicts(check, clause, responses) for check in problems for clause in stated)
    if found and not doubted and any(_is_beside(check, stated, responses) for check in problems):
        found[0] = f"Provisional: {_after_colon(found[0])}"
    return found


def _sentence(
    clauses: Sequence[Clause], problems: Sequence[Check], responses: Sequence[str]
) -> str:
    """One sentence; if checks contradict a clause, they are named before it."""
    texts: list[str] = []
    doubts: list[str] = []
    for clause in clauses:
        names = [
            check.name.removesuffix(f" of {clause.response}")
            for check in problems
            if _contradicts(check, clause, responses)
        ]
        if text := clause.doubted if names else clause.text:
            texts.append(text)
            doubts += names
    text = f"{'; '.join(texts)}." if texts else ""
    if not doubts:
        return text
    whose = f" of {clauses[0].response}" if len(responses) > 1 and clauses[0].response else ""
    lead = f"The fit{whose} fails {_named(list(dict.fromkeys(doubts)))}, so this may be wrong"
    return f"{lead}: {_after_colon(text)}"


def _named(names: Sequence[str]) -> str:
    """The first names of checks, and how many more there are."""
    shown, more = names[:MOST_NAMED], len(names) - MOST_NAMED
    noun = "check" if len(names) == 1 else "checks"
    return f"the {noun} {enumerated([*shown, *([f'{more} more'] if more > 0 else [])])}"


def _after_colon(text: str) -> str:
    """A sentence after a colon; names of columns keep their capitals."""
    first, _, _ = text.partition(" ")
    return text[0].lower() + text[1:] if first in LEADS else text


def _is_beside(check: Check, stated: Sequence[Clause], responses: Sequence[str]) -> bool:
    """Whether a problem of the fit neither contradicts a statement nor removes one of spread."""
    if check.group != "fit":
        return False
    touched = stated
    if check.name.startswith("Spread by "):
        touched = [replace(clause, of_spread=True) for clause in stated]
    return not any(_contradicts(check, clause, responses) for clause in touched)


def _contradicts(check: Check, clause: Clause, responses: Sequence[str]) -> bool:
    """Whether a problem of this check makes the clause doubtful.

    A check of another covariate, another response or of predictions compared with a simpler model
    does not; an unknown check does.
    """
    if check.group == "accuracy" or _is_of_another(check, clause.response, responses):
        return False
    name = check.name.removesuffix(f" of {clause.response}")
    if not clause.covariate:
        return True
    part, by, subject = name.partition(" by ")
    if by and part in ("Mean", "Spread"):
        return clause.of_spread == (part == "Spread") and subject in (
            clause.covariate,
            "prediction",
        )
    if name == "Interactions":
        pair = check.measure.rpartition(", ")[2]
        named = pair.startswith(f"{clause.covariate}:") or pair.endswith(f":{clause.covariate}")
        return not clause.of_spread and named
    return clause.of_spread or name not in SHAPE


def _is_of_another(check: Check, response: str, responses: Sequence[str]) -> bool:
    """Whether the name of a check ends with another response than this one."""
    others = [other for other in responses if other != response]
    return bool(response) and any(check.name.endswith(f" of {other}") for other in others)
