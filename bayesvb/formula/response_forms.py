"""Stage 1, parse: responses of several numbers per row, as calls: ``cens(y, status)``."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bayesvb.data.response_columns import INTERVAL, TRIALS
from bayesvb.errors import FormulaError
from bayesvb.formula.expressions import Code, Role, masked, read_expression, span_of
from bayesvb.formula.tokens import Section, Token


@dataclass(frozen=True)
class ResponseForm:
    """A way to write a response of several numbers per row.

    Attributes
    ----------
    name : str
        Name of the call.
    arguments : tuple of str
    n_required : int
        Required arguments.
    further : str
        Name of the matrix of further columns, a key of ``RESPONSE_COLUMNS``.
    example : str
    roles : mapping of str to str
        Argument -> role of its columns, where these are read in their own way.
    """

    name: str
    arguments: tuple[str, ...]
    n_required: int
    further: str
    example: str
    roles: Mapping[str, Role]


@dataclass(frozen=True)
class ResponseCall:
    """A response that was written in one of these forms.

    Attributes
    ----------
    form : ResponseForm
    texts : tuple of str
        Arguments as they were written.
    codes : tuple of Code
        Arguments that read columns.
    constants : tuple of float or None
        Of each argument its number; None where it reads columns.
    """

    form: ResponseForm
    texts: tuple[str, ...]
    codes: tuple[Code, ...]
    constants: tuple[float | None, ...]


def read_call(section: Section, *, allowed: bool) -> ResponseCall | None:
    """The call that a response is, ``cens(y, status)`` or ``y | cens(status)``; None of others.

    Parameters
    ----------
    section : Section
        What stands left of ``~``.
    allowed : bool
        Whether the model has such responses.

    Raises
    ------
    FormulaError
        With the position of an expression that is not such a call.
    """
    bars = [at for at, token in enumerate(section.tokens) if token.text == "|"]
    last = section.tokens[bars[0] + 1 :] if bars else section.tokens
    form = FORMS.get(_head(last[0])) if len(last) == 1 else None
    if form is None:
        _refuse(section, bars)
        return None
    if not allowed:
        raise FormulaError(
            section.formula, f"this model has no `{form.name}(...)`", last[0].span,
            "bayesvb.DensityRegression has such responses",
        )  # fmt: skip
    pieces, keywords = _arguments(last[0], form, section.formula)
    if bars:
        first = section.between(section.start, section.tokens[bars[0]].start)
        pieces.insert(0, (first.text, first.span[0]))
    return _call(form, section, pieces, keywords)


def _head(token: Token) -> str:
    """Name of the function that a token calls; empty if it calls none."""
    match = re.match(r"([A-Za-z_]\w*)\s*\(", token.text) if token.kind == "python" else None
    return match[1] if match else ""


def _refuse(section: Section, bars: Sequence[int]) -> None:
    """Raise for a bar, or for a call among other responses."""
    known = ", ".join(f"{name}(...)" for name in FORMS)
    if bars:
        bar = section.tokens[bars[0]]
        hint = f"left of `~`, `y | ...` takes one of {known}; truncated data have no model"
        raise FormulaError(section.formula, "`|` belongs to the right of `~`", bar.span, hint)
    for token in section.tokens:
        if _head(token) in FORMS:
            raise FormulaError(
                section.formula, f"`{token.text}` must be the only response", token.span,
                "fit one model for each response",
            )  # fmt: skip


def _arguments(
    token: Token, form: ResponseForm, formula: str
) -> tuple[list[tuple[str, int]], dict[str, tuple[str, int]]]:
    """Arguments of a call, each with the place where it starts: in order, and by name."""
    code = token.text
    try:
        call = ast.parse(masked(code), mode="eval").body
    except SyntaxError as error:
        raise FormulaError(formula, f"cannot read `{code}`: {error.msg}", token.span) from error
    if not isinstance(call, ast.Call):
        hint = f"write {form.example}"
        raise FormulaError(formula, f"`{code}` is not a call of {form.name}()", token.span, hint)

    def piece(node: ast.expr) -> tuple[str, int]:
        first, last = span_of(code, node)
        return code[first:last], token.start + first

    return [piece(one) for one in call.args], {str(k.arg): piece(k.value) for k in call.keywords}


def _call(
    form: ResponseForm,
    section: Section,
    pieces: list[tuple[str, int]],
    keywords: Mapping[str, tuple[str, int]],
) -> ResponseCall:
    """The call with these arguments."""
    named = dict(zip(form.arguments, pieces, strict=False))
    unknown = [name for name in keywords if name not in form.arguments or name in named]
    named |= keywords
    lacking = [name for name in form.arguments[: form.n_required] if name not in named]
    if unknown or lacking or len(pieces) > len(form.arguments):
        what = f"{form.name}() takes {', '.join(form.arguments)}"
        raise FormulaError(section.formula, what, section.span, f"write {form.example}")
    names = [name for name in form.arguments if name in named]
    texts, codes, constants = [], [], []
    for name in names:
        text, start = named[name]
        code = read_expression(text, text=section.formula, start=start)
        number = None if code.uses else _constant(text)
        if number is None:
            codes.append(_in_role(code, form.roles.get(name)))
        texts.append(text)
        constants.append(number)
    if constants[0] is not None:
        what = f"`{texts[0]}` reads no column"
        raise FormulaError(section.formula, what, section.span, f"write {form.example}")
    return ResponseCall(form, tuple(texts), tuple(codes), tuple(constants))


def _constant(text: str) -> float | None:
    """The number that an argument is, if it is one."""
    try:
        return float(ast.literal_eval(text))
    except (TypeError, ValueError):
        return None


def _in_role(code: Code, role: Role | None) -> Code:
    """The code whose columns have a role; a status has it only if it is a column alone."""
    alone = [use.stop - use.start for use in code.uses] == [len(code.text)]
    if role is None or (role != "upper" and not alone):
        return code
    uses = (replace(use, role=role) if use.role == "value" else use for use in code.uses)
    return Code(code.text, tuple(uses))


FORMS: Mapping[str, ResponseForm] = {
    form.name: form
    for form in (
        ResponseForm(
            "cens", ("y", "status", "y2"), 2, INTERVAL,
            "cens(y, status) or cens(y, status, upper)", {"status": "status", "y2": "upper"},
        ),
        ResponseForm(
            "Surv", ("time", "event"), 2, INTERVAL, "Surv(time, event)", {"event": "event"}),
        ResponseForm("rounded", ("y", "width"), 2, INTERVAL, "rounded(y, 0.5)", {}),
        ResponseForm("cbind", ("successes", "failures"), 2, TRIALS, "cbind(k, n - k)", {}),
        ResponseForm("trials", ("successes", "n"), 2, TRIALS, "k | trials(n)", {}),
    )
}  # fmt: skip
"""Forms of responses by the name of their call; ``READERS`` says what their numbers mean."""
