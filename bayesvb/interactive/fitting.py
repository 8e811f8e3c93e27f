"""The two fits of a request: a quick one of a sample of the rows, and the full one.

The quick fit shows the picture while a formula is typed: one initialisation, few iterations, at
most 2,000 rows. It is labelled quick everywhere, and is judged only by the checks of its fit to
these rows. The full fit is the library's default.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pandas as pd

from bayesvb.argument_checks import check_choice
from bayesvb.errors import BayesVBError, DataError
from bayesvb.interactive.answers import component_tables, picture, sentences
from bayesvb.interactive.covariate_controls import covariate_controls
from bayesvb.interactive.history import Record
from bayesvb.interactive.messages import (
    FORMATS,
    Along,
    Components,
    Failed,
    Judged,
    Preview,
    Progress,
    Shown,
    WhatIf,
    Written,
)
from bayesvb.interactive.remedies import remedies
from bayesvb.interactive.request import Request
from bayesvb.interactive.tasks import FitTask, ReportTask
from bayesvb.interactive.what_if import predicted
from bayesvb.reports.fragments import panel_html
from bayesvb.reports.panels import panels
from bayesvb.results.checks.base import Check
from bayesvb.results.checks.table import GROUPS, checks, worst
from bayesvb.results.criteria import loo

if TYPE_CHECKING:
    from bayesvb.estimators.fit import Fit

Tell = Callable[[object], None]

QUICK: dict[str, object] = {
    "restarts": 1, "draws": 100, "covariance": "mean-field", "max_iter": 200, "seconds": 1.0,
    "n_jobs": 1,
}  # fmt: skip
"""Arguments of a quick fit: of slow families it ends by the clock."""

ANSWERS: Mapping[type, Callable[[Fit, Any, Sequence[Check]], object]] = {
    Along: lambda fit, question, checks: picture(fit, question.along, checks),
    Components: lambda fit, question, checks: component_tables(fit),
    WhatIf: lambda fit, question, checks: predicted(fit, question),
}
"""Answer of a fit, whose checks are known, by the kind of the question."""


def work(task: FitTask | ReportTask, tell: Tell, questions: Iterator[object]) -> Iterator[object]:
    """Yield the messages of a task.

    Parameters
    ----------
    task : FitTask or ReportTask
    tell : callable
        Called with ``Progress``, which cannot be yielded during a fit.
    questions : iterator
        Waits for the next question of the page.
    """
    if isinstance(task, FitTask):
        return _fit_messages(task, tell, questions)
    return _written(task)


def _fit_messages(task: FitTask, tell: Tell, questions: Iterator[object]) -> Iterator[object]:
    """Yield ``Shown``, of a full fit its ``Record``, ``Judged``, then answers to questions."""
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit = _fit(task, tell)
    notes = [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
    seen, controls = picture(fit, task.along), covariate_controls(fit)
    yield Shown(
        picture=seen,
        n_rows=fit.model.design.n_fitted,
        seconds=time.perf_counter() - began,
        cpu=time.process_time(),
        notes=tuple(notes if task.is_full else ()),
        controls=controls,
    )
    judged = _judged(task, fit, began)
    if task.path is not None:
        yield _record(task.request, fit, judged.verdict, task.path)
    yield judged
    for question in questions:
        yield answered(question, fit, judged.checks)


def _written(task: ReportTask) -> Iterator[object]:
    """``Preview`` of the short edition of the report of a saved fit, then ``Written``."""
    fit = _loaded(task.path)
    page = task.path.with_suffix(FORMATS["HTML"])
    fit.report(page, source=task.source, edition="short")
    yield Preview(path=task.path, html=page.read_text("utf-8"))
    for ending in FORMATS.values():
        fit.report(task.path.with_suffix(ending), source=task.source)
    yield Written(path=task.path)


def _loaded(path: Path) -> Fit:
    from bayesvb.estimators.loading import load  # 15 MB, which most tasks do without

    return load(path)


def _fit(task: FitTask, tell: Tell) -> Fit:
    if task.path is not None and task.path.exists():
        return _loaded(task.path)
    model = task.request.make_model(task.rows)
    given = task.request.arguments
    options = {**given, "progress": _throttled(tell)} if task.is_full else QUICK
    return cast("Fit", model.fit(seed=task.request.seed, **options))


def _judged(task: FitTask, fit: Fit, began: float) -> Judged:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        groups = GROUPS if task.is_full else ("fit",)
        made = tuple(checks(fit, order=_order(task), only=groups))
        return Judged(
            verdict=worst(made),
            checks=made,
            remedies=remedies(made, task.request, fit.model, task.frame),
            sentences=sentences(fit, task.along, made),
            panels=tuple(panel_html(panel) for panel in panels(fit)),
            seconds=time.perf_counter() - began,
        )


def _order(task: FitTask) -> pd.Series | None:
    """Values by which the rows are ordered, if a column defines their order.

    Raises
    ------
    DataError
        If the data do not have the column.
    """
    if not task.request.order:
        return None
    check_choice("order", task.request.order, tuple(map(str, task.frame)))
    return task.rows[task.request.order]


def _record(request: Request, fit: Fit, verdict: str, path: Path) -> Record | Failed:
    """Save a full fit, and return its record."""
    try:
        if not path.exists():
            fit.save(path)
    except DataError as error:  # a full disk takes nothing of what is seen
        return failed(error)
    formula = fit.model.formula
    has_gate = fit.model.size > 1 or formula.gating_given
    options = replace(request, formula=formula.canonical(gate=has_gate))
    return Record(
        request=request,
        key=options.to_json(),
        response=" + ".join(fit.model.observed()),
        elpd=loo(fit),
        verdict=verdict,
        path=path,
    )


def failed(error: BaseException) -> Failed:
    """Return the message of an error.

    Examples
    --------
    >>> failed(KeyboardInterrupt()).stopped
    True
    """
    if isinstance(error, KeyboardInterrupt):
        return Failed(message="stopped", stopped=True)
    if isinstance(error, BayesVBError):
        return Failed(message=error.why, hint=error.hint or "")
    message = f"{type(error).__name__}: {error}"
    return Failed(message=message, hint="please report this defect")


def answered(question: object, fit: Fit, checks: Sequence[Check]) -> object:
    """Return the answer of a fit to a question, or why there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ANSWERS[type(question)](fit, question, checks)
    except (Exception, KeyboardInterrupt) as error:  # the next question may have an answer
        return failed(error)


def _throttled(tell: Tell) -> Callable[[int, int, float], None]:
    """Return a callback for the progress of a fit."""
    last = 0.0

    def progress(restart: int, iteration: int, bound: float) -> None:
        nonlocal last
        # Seconds between two messages about progress: more often cannot be read.
        if time.perf_counter() - last > 0.2:
            last = time.perf_counter()
            tell(Progress(restart=restart + 1, iteration=iteration))

    return progress


def warm() -> None:
    """Import what fits, pictures and checks need, by making one: the first would wait for it."""
    frame = pd.DataFrame({"x": [float(i) for i in range(40)]})
    frame["y"] = (frame["x"] * 7.0) % 11.0
    request = Request(formula="y ~ s(x, k=4)", options={"n_components": 1})
    for _ in work(FitTask(request=request, frame=frame), lambda message: None, iter(())):
        pass
