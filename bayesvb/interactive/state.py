"""The state of a page: its request, content, and current work."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from bayesvb.interactive.autosave import Offer
from bayesvb.interactive.history import History, Record
from bayesvb.interactive.messages import (
    ComponentTables,
    Control,
    Failed,
    Judged,
    Picture,
    Predicted,
    Preview,
    Progress,
    Shown,
    Written,
)
from bayesvb.interactive.reading import Reading
from bayesvb.interactive.request import Request
from bayesvb.interactive.tables import Table
from bayesvb.interactive.tasks import QUICK_ROWS, FitTask

RESTARTS = 8
"""Initialisations of a full fit of several components, by default."""


@dataclass(frozen=True, kw_only=True)
class State:
    """Content of a page.

    Attributes
    ----------
    table : Table
    task, shown : FitTask and Shown, or None
        The fit whose picture is seen.
    judged_task, judged : FitTask and Judged, or None
        The fit whose checks are seen: it may be the one before.
    status : str
        Current work.
    tone : {"idle", "busy", "done", "failed"}
    history : History
    preview : Preview or None
        Report that is shown.
    reports : frozenset of Path
        Files of the fits whose reports are written.
    offer : Offer or None
        Earlier session of these data.
    typed, reading : Request and Reading, or None
        Content of the controls, and the messages about it.
    controls : tuple of Control
        Covariates of the fit that is shown.
    row : Mapping of str to str
        Their values for predictions.
    predicted : FitTask and Predicted, or None
    components : FitTask and ComponentTables, or None
        Answers of a fit to the panes that are open, and which fit it was.
    """

    table: Table
    task: FitTask | None = None
    shown: Shown | None = field(default=None, repr=False)
    judged_task: FitTask | None = None
    judged: Judged | None = field(default=None, repr=False)
    status: str = ""
    tone: str = "idle"
    history: History = field(default_factory=History)
    preview: Preview | None = field(default=None, repr=False)
    reports: frozenset[Path] = frozenset()
    offer: Offer | None = None
    typed: Request | None = None
    reading: Reading | None = None
    controls: tuple[Control, ...] = ()
    row: Mapping[str, str] = field(default_factory=dict)
    predicted: tuple[FitTask, Predicted] | None = None
    components: tuple[FitTask, ComponentTables] | None = None

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
                return self._with_controls(task, message)._doing(text, "busy")
            case Record():
                return self.with_history(self.history.with_record(message))
            case Picture() if self.shown is not None:
                return replace(self, shown=replace(self.shown, picture=message))
            case Predicted():
                return replace(self, predicted=(task, message))
            case ComponentTables():
                return replace(self, components=(task, message))
            case Judged():
                return self._judged(task, message)
            case Failed():
                failing = self.failing(message.message, message.hint)
                return replace(failing, tone="idle") if message.stopped else failing
        if self.tone == "busy":  # it ended without a word
            return self.saying("stopped")
        return self

    def with_history(self, history: History) -> State:
        """Return the state with other records; the preview goes with the fit that it shows."""
        if self.preview is not None and history.saved_in(self.preview.path) is None:
            return replace(self, history=history, preview=None)
        return replace(self, history=history)

    def reported(self, message: object) -> State:
        """Return the state after a message of the task that writes a report."""
        match message:
            case Preview() if self.history.saved_in(message.path) is not None:
                return replace(self, preview=message)
            case Written():
                written = replace(self, reports=self.reports | {message.path})
                return written.saying("the report is written: see Report", "done")
            case Failed():
                return self.failing(message.message, message.hint)
        return self

    def _judged(self, task: FitTask, judged: Judged) -> State:
        assert self.shown is not None
        text = f"{self._fit_words(task, self.shown)}, checked in {judged.seconds:.1f} s"
        picture = replace(self.shown.picture, sentences=judged.sentences)  # hedged by the checks
        shown = replace(self.shown, picture=picture)
        state = replace(self, shown=shown, judged=judged, judged_task=task)
        return state._doing(text)

    def _with_controls(self, task: FitTask, shown: Shown) -> State:
        """Show a fit; values of covariates stay where their control is the same as before."""
        state = replace(self, task=task, shown=shown)
        if shown.controls == self.controls:
            return state
        kept = {
            one.name: self.row[one.name] if one in self.controls else one.value
            for one in shown.controls
        }
        return replace(state, controls=shown.controls, row=kept)

    def _doing(self, status: str, tone: str = "idle") -> State:
        """Return the state with the progress of a fit, unless another message is shown."""
        return self if self.tone in ("failed", "done") else self.saying(status, tone)

    def _fit_words(self, task: FitTask, shown: Shown) -> str:
        """Words for the fit, its rows, and its time."""
        n, total = shown.n_rows, len(self.table.frame)
        kind = "full fit" if task.is_full else "quick fit"
        rows = f"{n:,} rows" if n == total else f"{n:,} of {total:,} rows"
        if n < total and (task.is_full or total <= QUICK_ROWS):  # it is not a sample of them
            rows += f" ({total - n:,} with missing values)"
        return f"{kind} of {rows} in {shown.seconds:.2f} s"


def _progress(task: FitTask, message: Progress) -> str:
    single = task.request.size in (None, 1)
    restarts = task.request.arguments.get("restarts", RESTARTS)
    start = "" if single else f"initialisation {min(message.restart, restarts)} of {restarts}, "
    return f"fitting all rows: {start}iteration {message.iteration:,}"
