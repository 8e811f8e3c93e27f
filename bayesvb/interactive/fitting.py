"""The two fits of a request: a quick one of a sample of the rows, and the full one.

The quick fit is there to show the picture while a formula is typed: one initialisation, few
iterations, at most 2,000 rows. It is called quick wherever it is seen, and is judged only by the
checks of its fit to these rows. The full fit is what the library makes by default.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pandas as pd

from bayesvb.errors import BayesVBError, DataError
from bayesvb.estimators.loading import load
from bayesvb.interactive.answers import Picture, Question, picture
from bayesvb.interactive.covariate_controls import Control, covariate_controls
from bayesvb.interactive.history import Record
from bayesvb.interactive.reading import sample_of
from bayesvb.interactive.remedies import Remedy, remedies
from bayesvb.interactive.request import Request
from bayesvb.reports.panels import panels
from bayesvb.results.checks.base import Check
from bayesvb.results.checks.table import checks, worst
from bayesvb.results.criteria import loo

if TYPE_CHECKING:
    from bayesvb.estimators.fit import Fit

QUICK_ROWS = 2000
"""Rows of a quick fit: of 2,000 the picture takes 0.5 s, of 10,000 two seconds."""

QUICK: dict[str, Any] = {
    "restarts": 1, "draws": 100, "covariance": "mean-field", "max_iter": 200, "seconds": 1.0,
    "n_jobs": 1,
}  # fmt: skip
"""Arguments of a quick fit: of slow families it ends by the clock."""

BETWEEN = 0.2
"""Seconds between two messages about progress: more often cannot be read."""

Tell = Callable[[object], None]


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a full fit is: the number of its restart from 1, and the iterations of that."""

    restart: int
    iteration: int


@dataclass(frozen=True, kw_only=True)
class Shown:
    """The picture of a fit.

    Attributes
    ----------
    picture : Picture
    n_rows : int
        Rows that were fitted.
    seconds : float
        From the start of the task.
    notes : tuple of str
        Warnings.
    controls : tuple of Control
        Controls for the covariates.
    """

    picture: Picture
    n_rows: int
    seconds: float
    notes: tuple[str, ...]
    controls: tuple[Control, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Judged:
    """The checks of a fit.

    Attributes
    ----------
    verdict : str
        Their worst grade.
    checks : tuple of Check
    remedies : mapping
        Changes that are proposed, by the name of the check.
    sentences : tuple of str
        First sentences of the report, with the wording that the checks allow.
    panels : tuple of mapping
        Panels of the report: the largest effects.
    seconds : float
        From the start of the task.
    """

    verdict: str
    checks: tuple[Check, ...]
    remedies: dict[str, list[Remedy]]
    sentences: tuple[str, ...]
    panels: tuple[dict[str, Any], ...]
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Failed:
    """An error in words, and what to do; ``stopped`` if it was an interrupt."""

    message: str
    hint: str = ""
    stopped: bool = False


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
    assert isinstance(question, Question)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return question.answer(fit, checks)
    except (Exception, KeyboardInterrupt) as error:  # the next question may have an answer
        return failed(error)


@dataclass(frozen=True, kw_only=True, eq=False)
class FitTask:
    """A fit of a request, its picture and its checks, as the work of a process.

    Attributes
    ----------
    request : Request
    frame : pandas.DataFrame
        All rows; a quick fit samples them.
    along : str
        Covariate of the picture; the one that changes the response most if empty.
    path : Path, optional
        Where a full fit is saved; it is read if it is there. A quick one is made without.
    """

    request: Request
    frame: pd.DataFrame = field(repr=False)
    along: str = ""
    path: Path | None = None

    @property
    def is_full(self) -> bool:
        """Whether all rows are fitted."""
        return self.path is not None

    def messages(self, tell: Tell, questions: Iterator[object]) -> Iterator[object]:
        """Yield ``Shown``, of a full fit its ``Record``, ``Judged``, then answers to questions.

        Meanwhile ``tell`` is called with ``Progress``.
        """
        began = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fit = self._fit(tell)
        notes = [str(w.message) for w in caught if issubclass(w.category, UserWarning)]
        yield Shown(
            picture=picture(fit, self.along),
            n_rows=fit.model.design.n_fitted,
            seconds=time.perf_counter() - began,
            notes=tuple(notes if self.is_full else ()),
            controls=covariate_controls(fit),
        )
        judged = self._judged(fit, began)
        if self.path is not None:
            yield self._record(fit, judged.verdict, self.path)
        yield judged
        for question in questions:
            yield answered(question, fit, judged.checks)

    def _fit(self, tell: Tell) -> Fit:
        request = self.request
        if self.path is not None and self.path.exists():
            return load(self.path)
        frame = self.frame if self.is_full else sample_of(self.frame, QUICK_ROWS)
        model = request.make_model(frame)
        options = {"progress": _throttled(tell)} if self.is_full else QUICK
        return cast("Fit", model.fit(seed=request.seed, **options))

    def _judged(self, fit: Fit, began: float) -> Judged:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = tuple(checks(fit) if self.is_full else checks(fit, only=("fit",)))
            return Judged(
                verdict=worst(made),
                checks=made,
                remedies=remedies(made, self.request, fit.model, self.frame),
                sentences=picture(fit, self.along, made).sentences,
                panels=tuple(panels(fit)),
                seconds=time.perf_counter() - began,
            )

    def _record(self, fit: Fit, verdict: str, path: Path) -> Record | Failed:
        """Save a full fit, and return what is kept of it."""
        try:
            if not path.exists():
                fit.save(path)
        except DataError as error:  # a full disk takes nothing of what is seen
            return failed(error)
        formula = fit.model.formula
        has_gate = fit.model.size > 1 or formula.gating_given
        options = replace(self.request, formula=formula.canonical(gate=has_gate))
        return Record(
            request=self.request,
            key=options.to_json(),
            response=" + ".join(fit.model.observed()),
            elpd=loo(fit),
            verdict=verdict,
            path=path,
        )


def _throttled(tell: Tell) -> Callable[[int, int, float], None]:
    """Return what a fit calls with its progress."""
    last = 0.0

    def progress(restart: int, iteration: int, bound: float) -> None:
        nonlocal last
        if time.perf_counter() - last > BETWEEN:
            last = time.perf_counter()
            tell(Progress(restart=restart + 1, iteration=iteration))

    return progress


def warm() -> None:
    """Import what fits, pictures and checks need, by making one: the first would wait for it."""
    frame = pd.DataFrame({"x": [float(i) for i in range(40)]})
    frame["y"] = (frame["x"] * 7.0) % 11.0
    task = FitTask(request=Request(formula="y ~ s(x, k=4)"), frame=frame)
    for _ in task.messages(lambda message: None, iter(())):
        pass
