"""The state of a page: what is shown, of which request, and what is being done."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from bayesvb.interactive.fitting import Failed, FitTask, Judged, Progress, Shown
from bayesvb.interactive.history import History
from bayesvb.interactive.reading import Reading
from bayesvb.interactive.request import Request
from bayesvb.interactive.tables import Table

RESTARTS = 8
"""Initialisations of a full fit of several components."""


@dataclass(frozen=True, kw_only=True)
class State:
    """What a page shows.

    Attributes
    ----------
    table : Table
    task, shown : FitTask and Shown, or None
        The fit whose picture is seen.
    judged_task, judged : FitTask and Judged, or None
        The fit whose checks are seen: it may be the one before.
    status : str
        What is being done.
    tone : {"idle", "busy", "failed"}
    history : History
    reports : frozenset of str
        Keys of the records whose reports are written.
    typed, reading : Request and Reading, or None
        What stands in the controls, and what is said of it.
    """

    table: Table
    task: FitTask | None = None
    shown: Shown | None = field(default=None, repr=False)
    judged_task: FitTask | None = None
    judged: Judged | None = field(default=None, repr=False)
    status: str = ""
    tone: str = "idle"
    history: History = field(default_factory=History)
    reports: frozenset[str] = frozenset()
    typed: Request | None = None
    reading: Reading | None = None

    @property
    def request(self) -> Request | None:
        """The request whose picture is seen."""
        return None if self.task is None else self.task.request

    @property
    def is_stale(self) -> bool:
        """Whether the checks are of another fit than the picture."""
        return self.judged_task is not self.task

    def saying(self, status: str, tone: str = "idle") -> State:
        """Return the state with another status."""
        return replace(self, status=status, tone=tone)

    def failing(self, message: str, hint: str = "") -> State:
        """Return the state with an error as its status, and the remedy in brackets."""
        return self.saying(f"{message} ({hint})" if hint else message, "failed")

    def begun(self, task: FitTask) -> State:
        """Return the state when a task begins."""
        return self.saying("fitting all rows ..." if task.is_full else "quick fit ...", "busy")

    def heard(self, task: FitTask, message: object) -> State:
        """Return the state after a message of a task; None is its end."""
        match message:
            case Progress():
                return self._doing(_progress(task, message), "busy")
            case Shown():
                text = f"{self._fit_words(task, message)}; checking ..."
                shown = replace(self, task=task, shown=message)
                return shown._doing(text, "busy")
            case Judged():
                return self._judged(task, message)
            case Failed():
                failing = self.failing(message.message, message.hint)
                return replace(failing, tone="idle") if message.stopped else failing
        if self.tone == "busy":  # it ended without a word
            return self.saying("stopped")
        return self

    def _judged(self, task: FitTask, judged: Judged) -> State:
        history = self.history
        if judged.record is not None:
            history = history.with_record(judged.record)
        assert self.shown is not None
        text = f"{self._fit_words(task, self.shown)}, checked in {judged.seconds:.1f} s"
        state = replace(self, judged=judged, judged_task=task, history=history)
        return state._doing(text)

    def _doing(self, status: str, tone: str = "idle") -> State:
        """Return the state with what a fit does, unless an error is shown that came meanwhile."""
        return self if self.tone == "failed" else self.saying(status, tone)

    def _fit_words(self, task: FitTask, shown: Shown) -> str:
        """Which fit of which rows it is, and how long it took."""
        n, total = shown.n_rows, len(self.table.frame)
        kind = "full fit" if task.is_full else "quick fit"
        rows = f"{n:,} rows" if n == total else f"{n:,} of {total:,} rows"
        return f"{kind} of {rows} in {shown.seconds:.2f} s"


def _progress(task: FitTask, message: Progress) -> str:
    single = task.request.n_components == 1
    start = "" if single else f"initialisation {min(message.restart, RESTARTS)} of {RESTARTS}, "
    return f"fitting all rows: {start}iteration {message.iteration:,}"
