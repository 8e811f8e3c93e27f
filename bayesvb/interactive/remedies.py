"""Remedies of checks as changes of the request: buttons of the page.

A remedy names what to write between backquotes. A change is offered only if the request that it
leads to can be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from bayesvb.data.parts import GATING, PARTS
from bayesvb.interactive.reading import ROWS, read, sample_of
from bayesvb.interactive.request import Request
from bayesvb.results.checks.base import Check

CODE = re.compile(r"(`+) ?(.+?) ?\1(?!`)")
"""Code in a sentence, as in Markdown."""

FEWEST_WEIGHED = 3
"""Components with which weights that change with a covariate begin."""


@dataclass(frozen=True, kw_only=True)
class Remedy:
    """A change that a check proposes.

    Attributes
    ----------
    label : str
        Text of the button.
    request : Request
        What is fitted after it.
    """

    label: str
    request: Request


def remedies(
    checks: Sequence[Check], request: Request, frame: pd.DataFrame
) -> dict[str, list[Remedy]]:
    """Return the changes that checks propose, by the name of the check.

    Parameters
    ----------
    checks : sequence of Check
    request : Request
        What was fitted.
    frame : pandas.DataFrame
        The rows that were fitted.

    Examples
    --------
    >>> check = Check("Tails", "fit", "problem", 1.0, "", 0.0, "", 'Fit `family="student"`.', "")
    >>> rows = pd.DataFrame({"x": [1.0, 2.0, 4.0, 5.0], "y": [1.0, 3.0, 4.0, 9.0]})
    >>> (remedy,) = remedies([check], Request(formula="y ~ x"), rows)["Tails"]
    >>> remedy.label, remedy.request.family
    ('Use family "student"', 'student')
    """
    sample = sample_of(frame, ROWS)
    readable: dict[Request, bool] = {request: False}
    offered: dict[str, list[Remedy]] = {}
    for check in checks:
        for remedy in _proposed(check.remedy, request):
            if remedy.request not in readable:
                readable[remedy.request] = read(remedy.request, sample).readable
            if readable[remedy.request]:
                offered.setdefault(check.name, []).append(remedy)
    return offered


def _proposed(sentence: str, request: Request) -> Iterator[Remedy]:
    """Changes of each piece of code in a sentence."""
    for match in CODE.finditer(sentence):
        code = match[2]
        if size := re.fullmatch(r"n_components=(\d+)", code):
            label = f"Use {size[1]} components"
            yield Remedy(label=label, request=replace(request, n_components=int(size[1])))
        elif family := re.fullmatch(r'family="([\w-]+)"', code):
            label = f'Use family "{family[1]}"'
            yield Remedy(label=label, request=replace(request, family=family[1]))
        elif re.match(r"[(\w]", code) and "..." not in code and not _is_known(code, request):
            yield Remedy(label=f"Write {code}", request=_with_code(request, code))


def _is_known(code: str, request: Request) -> bool:
    """Whether code only names a column that the formula has."""
    known = re.findall(r"[\w.]+", request.formula)
    return code in known


def _with_code(request: Request, code: str) -> Request:
    """Return the request with a part, a term or a transformed response."""
    response, tilde, right = request.formula.partition("~")
    mean, bar, parts = _split(right)
    call = re.fullmatch(r"(\w+)\((.*)\)", code)
    if call and call[1] in PARTS:
        size = request.n_components
        if call[1] == GATING:
            size = max(size, FEWEST_WEIGHED)
        formula = f"{request.formula.rstrip()} {'+' if bar else '|'} {code}"
        return replace(request, formula=formula, n_components=size)
    if call and call[1] == "log":
        return replace(request, formula=f"{code} {tilde}{right}")
    if call:
        mean = _replaced(mean, call[1], call[2].split(",")[0].strip(), code)
    else:
        mean = f"{mean.rstrip()} + {code} "
    return replace(request, formula=f"{response}{tilde}{mean}{bar}{parts}")


def _split(right: str) -> tuple[str, str, str]:
    """Split what stands right of `~` at the first bar outside of brackets."""
    depth = 0
    for place, sign in enumerate(right):
        depth += (sign == "(") - (sign == ")")
        if sign == "|" and depth == 0:
            return right[:place], "|", right[place + 1 :]
    return right, "", ""


def _replaced(mean: str, call: str, column: str, code: str) -> str:
    """Return a mean with a call instead of the column, or of the same call of it."""
    name = re.escape(column)
    for old in (rf"\b{call}\(\s*{name}\s*(,[^()]*)?\)", rf"(?<![\w.(`]){name}(?![\w.(`])"):
        changed, count = re.subn(old, lambda _: code, mean, count=1)
        if count:
            return changed
    return f"{mean.rstrip()} + {code} "
