"""The page in Shiny: controls, outputs, and the effect of each input."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from htmltools import Tag, tags
from shiny import App, Inputs, Outputs, Session, reactive, render

from bayesvb.datasets import names
from bayesvb.errors import BayesVBError
from bayesvb.interactive.autosave import autosave, new_folder, newest_session
from bayesvb.interactive.document import document
from bayesvb.interactive.jobs import Desk, Start
from bayesvb.interactive.messages import Along, Components, Shown, WhatIf
from bayesvb.interactive.panes import PANES, Pane
from bayesvb.interactive.reading import ROWS, completions, read, sample_of, vocabulary, word_before
from bayesvb.interactive.request import Request
from bayesvb.interactive.session import Session as Open
from bayesvb.interactive.session import first_request, open_session, save_session
from bayesvb.interactive.state import State
from bayesvb.interactive.tables import Table, file_table, shipped_table
from bayesvb.interactive.tasks import QUICK_ROWS, FitTask, ReportTask
from bayesvb.interactive.zygote import Idle
from bayesvb.numerics.forking import return_free_memory

MOST_PAGES = 4
"""Pages of one server that fit at the same time."""

SAVED = ("history", "task", "typed")
"""Parts of the state after whose change the session is saved."""

PAUSE = 1.0
"""Seconds between a change and its saving, in which others may follow."""

Event = Mapping[str, Any]
"""Message of the browser, as JSON has it."""

OLDER = "The picture is of the last formula that could be read."


def make_app(opened: Open, start: Start, folder: Path) -> App:
    """Make the application of a page.

    Parameters
    ----------
    opened : Session of bayesvb
        Initially open session.
    start : callable
        Starts the process of a task.
    folder : Path
        Where full fits are saved.
    """
    pages: set[Session] = set()
    numbers = itertools.count(len(opened.history.records))

    def server(input: Inputs, output: Outputs, session: Session) -> None:
        if len(pages) >= MOST_PAGES:
            message = (
                f"The workbench is open in {MOST_PAGES} pages: close one, and load this again."
            )
            _register(output, "status", lambda: tags.span(message, class_="failed"))
            return
        pages.add(session)
        session.on_ended(lambda: pages.discard(session))
        page = Page(opened, start, folder, session, numbers)
        session.on_ended(page.desk.end)
        session.on_ended(page.writer.end)
        session.on_ended(page.autosave)
        for pane in PANES:
            page.show(pane, output)
        _listen(page, input)

    return App(document(), server, static_assets={"/files": folder})


def _listen(page: Page, input: Inputs) -> None:
    """Let inputs change the page."""

    async def complete(caret: Event) -> None:
        await page.complete(**caret)

    async def act(event: Event) -> None:
        await page.act(event["name"], event["value"])

    async def predict(row: Any) -> None:
        page.predict({str(name): str(value) for name, value in row["values"].items()}, row["above"])

    async def upload(files: Sequence[Event]) -> None:
        (file,) = files
        await page.open(lambda: file_table(Path(file["datapath"]), file["name"]))

    _on(input.request, page.edit)
    _on(input.caret, complete)
    _on(input.event, act)
    _on(input.row_values, predict)
    _on(input.upload, upload)


def _on(event: Callable[[], object], change: Callable[[Any], Awaitable[None]]) -> None:
    """Call a function with each new value of an input."""

    async def changed() -> None:
        await change(event())

    reactive.effect(reactive.event(event)(changed))


class Page:
    """One open page: its state, and the fit that is being made for it."""

    def __init__(
        self,
        opened: Open,
        start: Start,
        folder: Path,
        session: Session,
        numbers: itertools.count[int],
    ) -> None:
        self.session, self.folder, self.numbers = session, folder, numbers
        self.desk = Desk(start, self._hear)
        self.writer = Desk(start, self._written)
        self.first = opened.request
        self.state = State(table=opened.table, history=opened.history)
        self.asked: tuple[Request, str] | None = None
        self.above = ""
        self.open_panes: set[str] = set()
        self._questions: dict[str, tuple[object, object]] = {}
        self._drawn: dict[str, reactive.Value[State]] = {}
        self._is_saved_soon = False
        self._saving = asyncio.Lock()
        self._take(opened.table)

    def show(self, pane: Pane, output: Outputs) -> None:
        """Draw a pane again whenever its inputs have changed."""
        value = self._drawn[pane.name] = reactive.Value(self.state)
        _register(output, pane.name, lambda: pane.draw(value()))

    def _set(self, state: State) -> None:
        before, self.state = self.state, state
        for pane in PANES:
            if any(getattr(before, part) is not getattr(state, part) for part in pane.reads):
                self._drawn[pane.name].set(state)
        changed = any(getattr(before, part) is not getattr(state, part) for part in SAVED)
        if changed and not self._is_saved_soon:
            self._is_saved_soon = True
            self._soon = asyncio.get_running_loop().create_task(self._autosave_soon())

    @property
    def _open(self) -> Open:
        """The session as it is saved."""
        state = self.state
        request = state.typed or self.first
        return Open(table=state.table, request=request, history=state.history)

    async def _autosave_soon(self) -> None:
        await asyncio.sleep(PAUSE)
        await self.autosave()

    async def autosave(self) -> None:
        """Save the session if it has changed."""
        if not self._is_saved_soon:
            return
        self._is_saved_soon = False
        async with self._saving:
            try:
                await asyncio.to_thread(autosave, self._open, self.saved)
            except BayesVBError as error:
                async with reactive.lock():
                    with reactive.isolate():
                        self._set(self.state.failing(f"not saved: {error.why}", error.hint or ""))
                    await reactive.flush()

    def _take(self, table: Table) -> None:
        self.saved = new_folder(table)
        self.words = vocabulary(table.frame)
        self.sample = sample_of(table.frame, ROWS)
        self.quick_rows = sample_of(table.frame, QUICK_ROWS)

    async def _hear(self, task: Any, message: object) -> None:
        """Take a message of a process, unless another task has begun meanwhile."""
        async with reactive.lock():
            is_current = task is self.desk.task
            if not is_current:
                return
            with reactive.isolate():
                self._set(self.state.heard(task, message))
                if isinstance(message, Shown):
                    await self._send("along", list(message.picture.covariates))
                if isinstance(message, Idle):
                    return_free_memory()
                    self._ask_for_panes()
            await reactive.flush()

    async def _send(self, kind: str, message: object) -> None:
        await self.session.send_custom_message(kind, message)

    async def edit(self, values: dict[str, object]) -> None:
        """Read what stands in the controls, and fit it."""
        along = str(values.pop("along", ""))
        try:
            request = Request.from_values(values)
        except BayesVBError as error:
            self._set(self.state.failing(error.why))
            return
        reading = read(request, self.sample)
        self._set(replace(self.state, typed=request, reading=reading))
        if not reading.readable:
            self.desk.end()
            self.asked = None
            self._set(self.state.saying(OLDER if self.state.shown else ""))
        elif self.asked is not None and self.asked[0] == request and self.desk.task is not None:
            if self.asked[1] != along:
                self.desk.ask(Along(along=along))
            self.asked = request, along
        elif self.asked != (request, along):
            self.asked = request, along
            self._begin(FitTask(request=request, frame=self.quick_rows, along=along))

    def predict(self, values: dict[str, str], above: str) -> None:
        """Predict a row of covariates."""
        self.state, self.above = replace(self.state, row=values), above
        self._ask_for_panes()

    def _ask_for_panes(self) -> None:
        """Request the content of the open panes from the fit, unless it was requested before."""
        questions: dict[str, object] = {
            "predict": WhatIf(values=self.state.row, above=self.above),
            "components": Components(),
        }
        task = self.desk.task
        if task is not self.state.task:  # the fit is not there yet
            return
        for name in self.open_panes & set(questions):
            asked = task, questions[name]
            if self._questions.get(name) != asked and self.desk.ask(asked[1]):
                self._questions[name] = asked

    def _begin(self, task: FitTask) -> None:
        self.desk.submit(task)
        self._set(self.state.begun(task))

    async def complete(self, text: str, at: int) -> None:
        """Offer the words that can follow."""
        words, begun = completions(text, at, self.words), len(word_before(text, at))
        await self._send("words", {"text": text, "words": words, "begun": begun})

    async def act(self, name: str, value: str) -> None:
        """Perform the action of a button."""
        if name == "ready":
            await self._send("columns", [str(column) for column in self.state.table.frame])
            await self._offer()
            if not value:  # otherwise the browser has restored a formula
                await self._begin_session()
        elif name == "resume":
            await self._resume()
        elif name == "decline":
            self._set(replace(self.state, offer=None))
        elif name == "stop":
            self._stop()
        elif name == "full":
            self._fit_fully()
        elif name == "remove":
            self._set(self.state.with_history(self.state.history.without(value)))
        elif name == "back":
            await self._go_back(value)
        elif name == "report":
            self._report(value)
        elif name == "show":
            self.open_panes.add(value)
            self._ask_for_panes()
        elif name == "hide":
            self.open_panes.discard(value)
        elif name == "paste":
            await self._paste(value)
        elif name == "save":
            await self._save(value)
        elif name == "open" and value in names():
            await self.open(lambda: shipped_table(value))
        elif name == "large":
            self._set(
                self.state.saying(f"{value} is larger than 64 MB: start with its path", "failed")
            )

    def _fit_fully(self) -> None:
        state = self.state
        if state.typed is None or state.reading is None or not state.reading.readable:
            self._set(
                state.saying("The formula must be readable before all rows are fitted.", "failed")
            )
            return
        along = self.asked[1] if self.asked else ""
        path = self.folder / f"fit-{next(self.numbers)}.nc"
        self.asked = state.typed, along
        self._begin(FitTask(request=state.typed, frame=state.table.frame, along=along, path=path))

    async def _begin_session(self) -> None:
        """Show the fit of the first request, if it was saved, or let it be fitted."""
        records = [r for r in self.state.history.records if r.request == self.first]
        if records:
            await self._go_back(records[-1].key)
        else:
            await self._send("set", asdict(self.first))

    async def _offer(self) -> None:
        """Offer the newest session of these data, unless one is open."""
        if not self.state.history.records:
            offer = await asyncio.to_thread(newest_session, self.state.table)
            self._set(replace(self.state, offer=offer))

    async def _resume(self) -> None:
        """Restore the session that is offered."""
        offer, table = self.state.offer, self.state.table
        if offer is None:
            return
        try:
            again = await asyncio.to_thread(open_session, offer.folder, table.frame, self.folder)
        except BayesVBError as error:
            self._set(replace(self.state, offer=None).failing(error.why, error.hint or ""))
            return
        self.first = again.request
        self._set(replace(self.state, offer=None, history=again.history))
        await self._begin_session()

    async def _save(self, folder: str) -> None:
        """Save the session."""
        try:
            path = await asyncio.to_thread(save_session, self._open, folder)
        except BayesVBError as error:
            self._set(self.state.failing(error.why, error.hint or ""))
        else:
            text = f"saved; to open it again: bayesvb workbench {path}"
            self._set(self.state.saying(text, "done"))

    def _stop(self) -> None:
        if self.desk.is_busy:
            self.asked = None
            self.desk.stop()
            self._set(self.state.saying("stopping ..." if self.desk.task else "stopped"))

    async def _go_back(self, key: str) -> None:
        """Show a fit of the history, and its request in the controls."""
        record = self.state.history.find(key)
        if record is None:
            return
        self.asked = record.request, ""
        await self._send("set", asdict(record.request))
        frame = self.state.table.frame
        self._begin(FitTask(request=record.request, frame=frame, path=record.path))

    def _report(self, key: str) -> None:
        """Write the report of a fit next to it, in a separate process."""
        record = self.state.history.find(key)
        if record is not None:
            task = ReportTask(path=record.path, source=self.state.table.name)
            self.writer.submit(task, pause=0.0)
            self._set(self.state.saying("writing the report ...", "busy"))

    async def _written(self, task: object, message: object) -> None:
        """Show a report, or say why it cannot be written."""
        async with reactive.lock():
            with reactive.isolate():
                self._set(self.state.reported(message))
            await reactive.flush()

    async def _paste(self, line: str) -> None:
        try:
            request = Request.from_line(line)
        except BayesVBError as error:
            self._set(self.state.failing(error.why, error.hint or ""))
        else:
            await self._send("set", asdict(request))

    async def open(self, make: Callable[[], Table]) -> None:
        """Open other data; fits to the earlier data are removed."""
        try:
            table = make()
        except BayesVBError as error:
            self._set(self.state.failing(error.why, error.hint or ""))
            return
        self.desk.end()
        self.asked = None
        self._take(table)
        self._set(State(table=table, status=f"{table.name} is open"))
        await self._send("columns", [str(column) for column in table.frame])
        await self._send("set", asdict(first_request(table)))
        await self._offer()


def _register(output: Outputs, name: str, draw: Callable[[], Tag]) -> None:
    """Make a function the content of an output, which Shiny names after it."""
    draw.__name__ = name
    output(suspend_when_hidden=False)(render.ui(draw))  # a pane that is folded is hidden
