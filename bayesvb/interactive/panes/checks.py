"""Results of the checks, with a button for each change that they propose."""

from __future__ import annotations

import re

from htmltools import Tag, TagList, tags

from bayesvb.interactive.messages import Judged
from bayesvb.interactive.panes.buttons import request_button
from bayesvb.interactive.state import State
from bayesvb.interactive.tasks import FitTask
from bayesvb.results.checks.base import Check

VERDICTS = {
    "ok": "No misfit detected.",
    "note": "No clear misfit; see the notes.",
    "problem": "The model does not fit the data.",
}

CODE = re.compile(r"(`+) ?(.+?) ?\1(?!`)")
"""Code in a sentence, as in Markdown."""

MARKS = {"note": "!", "problem": "✕"}


def checks(state: State) -> Tag:
    """Return the verdict and the checks that are not in order."""
    judged, task = state.judged, state.judged_task
    if judged is None or task is None:
        return tags.p("The checks follow the picture.", class_="note")
    shown = [check for check in judged.checks if check.grade != "ok"]
    shown.sort(key=lambda check: (check.grade != "problem", not check.weighs))
    passed = len(judged.checks) - len(shown)
    return tags.div(
        tags.p(VERDICTS[judged.verdict], class_="says"),
        tags.p(_scope(state, task, passed, len(judged.checks)), class_="small"),
        tags.ul(*[_item(check, judged) for check in shown], class_="checks"),
        id="judged",
        data_formula=task.request.formula,
        data_components=str(task.request.size),
        data_full=str(task.is_full).lower(),
        data_verdict=judged.verdict,
    )


def _scope(state: State, task: FitTask, passed: int, total: int) -> str:
    """Words for the fit that was checked, with the number of checks that passed."""
    fit = "full fit" if task.is_full else "quick fit, of which the computation is not checked"
    text = f"{passed} of {total} checks passed: {fit}."
    return (
        f"{text} The picture is newer: this is of {task.request.formula}"
        if state.is_stale
        else text
    )


def _item(check: Check, judged: Judged) -> Tag:
    buttons = [
        request_button(remedy.label, remedy.request)
        for remedy in judged.remedies.get(check.name, [])
    ]
    return tags.li(
        tags.span(MARKS[check.grade], class_="mark", aria_hidden="true"),
        tags.div(
            tags.h3(check.name, " ", tags.span(check.grade, class_="word")),
            tags.p(_with_code(check.remedy)),
            tags.p(*buttons, class_="buttons") if buttons else None,
        ),
        class_=f"is-{check.grade}",
    )


def _with_code(sentence: str) -> TagList:
    """Return a sentence with its code as code, and names between asterisks as emphasis."""
    parts: list[object] = []
    end = 0
    for match in CODE.finditer(sentence):
        parts += [re.sub(r"\*(.+?)\*", r"\1", sentence[end : match.start()]), tags.code(match[2])]
        end = match.end()
    return TagList(*parts, re.sub(r"\*(.+?)\*", r"\1", sentence[end:]))
