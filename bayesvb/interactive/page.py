"""The page in Shiny: controls, outputs, and what each input does."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from htmltools import HTMLDependency, Tag, head_content, tags
from shiny import App, Inputs, Outputs, Session, reactive, render, ui

from bayesvb.datasets import names
from bayesvb.errors import BayesVBError
from bayesvb.interactive.guard import LARGEST_UPLOAD
from bayesvb.interactive.jobs import Desk, Start
from bayesvb.interactive.messages import Along, Components, Shown, WhatIf
from bayesvb.interactive.panes import PANES, Pane
from bayesvb.interactive.panes.controls import first_controls, further_controls
from bayesvb.interactive.reading import ROWS, completions, read, sample_of, vocabulary, word_before
from bayesvb.interactive.request import Request
from bayesvb.interactive.session import Session as Open
from bayesvb.interactive.session import first_request, save_session
from bayesvb.interactive.state import State
from bayesvb.interactive.tables import Table, file_table, shipped_table
from bayesvb.interactive.tasks import QUICK_ROWS, FitTask, ReportTask
from bayesvb.interactive.zygote import Idle

MOST_PAGES = 4
"""Pages of one server that fit at the same time."""

OLDER = "The picture is of the last formula that could be read."


def _static(package: str) -> dict[str, str]:
    """Folder with the files of a package, which is not imported."""
    spec = find_spec(package)
    assert spec is not None
    (folder,) = spec.submodule_search_locations or []
    return {"subdir": str(Path(folder) / "static")}


ASSETS = [
    HTMLDependency(
        "bayesvb-report",
        "1",
        source=_static("bayesvb.reports"),
        stylesheet={"href": "report.css"},
    ),
    HTMLDependency(
        "bayesvb-workbench",
        "1",
        source=_static("bayesvb.interactive"),
        stylesheet={"href": "workbench.css"},
        script={"src": "workbench.js", "defer": ""},
    ),
]


def make_app(opened: Open, start: Start, folder: Path) -> App:
    """Make the application of a page.

    Parameters
    ----------
    opened : Session of bayesvb
        What is open first.
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
        for pane in PANES:
            page.show(pane, output)
        _listen(page, input)

    return App(_document(), server, static_assets={"/files": folder})


def _listen(page: Page, input: Inputs) -> None:
    """Let inputs change the page."""

    async def complete(caret: Any) -> None:
        await page.complete(**caret)

    async def act(event: Any) -> None:
        await page.act(event["name"], event["value"])

    async def predict(row: Any) -> None:
        page.predict({str(name): str(value) for name, value in row["values"].items()}, row["above"])

    async def upload(files: Any) -> None:
        (file,) = files
        await page.open(lambda: file_table(Path(file["datapath"]), file["name"]))

    _on(input.request, page.edit)
    _on(input.caret, complete)
    _on(input.event, act)
    _on(input.row_values, predict)
    _on(input.upload, upload)


def _on(event: Callable[[], Any], change: Callable[[Any], Awaitable[None]]) -> None:
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
        self._take(opened.table)

    def show(self, pane: Pane, output: Outputs) -> None:
        """Draw a pane again whenever what it reads has changed."""
        value = self._drawn[pane.name] = reactive.Value(self.state)
        _register(output, pane.name, lambda: pane.draw(value()))

    def _set(self, state: State) -> None:
        before, self.state = self.state, state
        for pane in PANES:
            if any(getattr(before, part) is not getattr(state, part) for part in pane.reads):
                self._drawn[pane.name].set(state)

    def _take(self, table: Table) -> None:
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
                    self._ask_for_panes()
            await reactive.flush()

    async def _send(self, kind: str, message: object) -> None:
        await self.session.send_custom_message(kind, message)

    async def edit(self, values: Any) -> None:
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
        """Ask the fit what the open panes show, unless it has been asked the same before."""
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
        """Do what a button says."""
        if name == "ready":
            await self._send("columns", [str(column) for column in self.state.table.frame])
            await self._begin_session()
        elif name == "stop":
            self._stop()
        elif name == "full":
            self._fit_fully()
        elif name == "remove":
            self._set(replace(self.state, history=self.state.history.without(value)))
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

    async def _save(self, folder: str) -> None:
        """Save the session."""
        state = self.state
        request = state.typed or self.first
        session = Open(table=state.table, request=request, history=state.history)
        try:
            path = await asyncio.to_thread(save_session, session, folder)
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
        """Write the report of a fit beside it, in a process of its own."""
        record = self.state.history.find(key)
        if record is not None:
            task = ReportTask(path=record.path, source=self.state.table.name)
            self.writer.submit(task, pause=0.0)
            self._set(self.state.saying("writing the report ...", "busy"))

    async def _written(self, task: Any, message: object) -> None:
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

    async def open(self, make: Any) -> None:
        """Open other data; what was fitted to those before goes."""
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


def _register(output: Outputs, name: str, draw: Callable[[], Tag]) -> None:
    """Make a function the content of an output, which Shiny names after it."""
    draw.__name__ = name
    output(suspend_when_hidden=False)(render.ui(draw))  # a pane that is folded is hidden


def _document() -> Tag:
    """The page without what its outputs show."""
    head = head_content(
        tags.title("bayesvb workbench"),
        tags.meta(name="viewport", content="width=device-width, initial-scale=1"),
        tags.meta(name="color-scheme", content="light dark"),
        tags.link(rel="icon", href="data:,"),
    )
    header = tags.header(
        tags.h1("bayesvb workbench"),
        ui.output_ui("data"),
        tags.details(tags.summary("Save session"), _saving(), id="saving"),
        tags.details(tags.summary("Open data"), _opening(), id="opening"),
    )
    main = tags.main(
        _formula(),
        _controls(),
        tags.section(tags.h2("Columns"), ui.output_ui("variables"), class_="variables"),
        tags.section(
            tags.h2("Picture", class_="hidden"),
            tags.div(ui.output_ui("status"), role="status", class_="status"),
            ui.output_ui("picture"),
            id="seen",
            tabindex="-1",
        ),
        tags.section(tags.h2("Checks"), ui.output_ui("checks"), id="verdict"),
        tags.section(tags.h2("Effects"), ui.output_ui("effects")),
        tags.section(tags.h2("Compare"), ui.output_ui("compare")),
        _folded("predict", "Predict", ui.output_ui("row"), _above(), ui.output_ui("predicted")),
        _folded("components", "Components", ui.output_ui("components")),
        _folded("report", "Report", ui.output_ui("report")),
        tags.section(tags.h2("Code"), ui.output_ui("code"), _pasting(), class_="code"),
    )
    skip = tags.a("Skip to the picture", href="#seen", class_="skip")
    return tags.html(tags.body(head, *ASSETS, skip, header, main), lang="en")


def _folded(name: str, title: str, *content: Any) -> Tag:
    """A pane that is computed only while it is open."""
    summary = tags.summary(tags.h2(title))
    return tags.section(tags.details(summary, *content, data_pane=name), class_="folded")


def _above() -> Tag:
    field = tags.input(type="number", step="any", id="above")
    label = tags.label("Probability of a response above", for_="above")
    return tags.div(tags.div(label, field), class_="row")


def _saving() -> Tag:
    return tags.div(
        tags.label("Folder on this machine", for_="folder"),
        tags.input(type="text", id="folder", value="session.bayesvb", spellcheck="false"),
        tags.button("Save", type="button", class_="act", id="save"),
        class_="opening",
    )


def _opening() -> Tag:
    return tags.div(
        tags.label("Shipped data set", for_="shipped"),
        tags.select(
            tags.option("choose ...", value=""),
            *[tags.option(name, value=name) for name in names()],
            id="shipped",
        ),
        ui.input_file("upload", "CSV or Parquet file", accept=[".csv", ".gz", ".parquet"]),
        data_largest=str(LARGEST_UPLOAD),
        class_="opening",
    )


def _formula() -> Tag:
    return tags.section(
        tags.label("Formula", for_="formula"),
        tags.div(
            tags.textarea(
                id="formula",
                rows="1",
                spellcheck="false",
                autocomplete="off",
                autocapitalize="off",
                aria_describedby="reading",
                aria_autocomplete="list",
                aria_controls="choices",
                aria_haspopup="listbox",
            ),
            tags.ul(id="choices", role="listbox", aria_label="Completions", hidden=""),
            class_="editor",
        ),
        tags.div(ui.output_ui("reading"), aria_live="polite", class_="reading"),
        class_="formula",
        aria_label="Formula",
    )


def _controls() -> Tag:
    return tags.section(
        *first_controls(),
        tags.div(
            tags.label("Picture along", for_="along"),
            tags.select(tags.option("automatic", value=""), id="along"),
        ),
        tags.details(
            tags.summary("Weights, groups, priors"),
            tags.div(*further_controls(), class_="row"),
            id="further",
        ),
        tags.div(
            tags.button("Stop", type="button", data_event="stop", data_value="", title="Escape"),
            tags.button(
                "Fit all rows", type="button", class_="main", data_event="full", data_value="",
                title="Ctrl+Enter",
            ),
            class_="buttons",
        ),
        class_="controls",
        aria_label="Model",
    )  # fmt: skip


def _pasting() -> Tag:
    return tags.div(
        tags.label("Paste a line of Python or of a shell to restore its state", for_="pasted"),
        tags.textarea(id="pasted", rows="2", spellcheck="false"),
        tags.button("Restore", type="button", class_="act", id="restore"),
        class_="pasting",
    )
