"""The page without what its outputs show: places of the panes, controls, styles and script."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from htmltools import HTMLDependency, Tag, head_content, tags
from shiny import ui

from bayesvb.datasets import names
from bayesvb.interactive.guard import LARGEST_UPLOAD
from bayesvb.interactive.panes.controls import first_controls, further_controls

GONE = (
    "The connection to the workbench has ended. Load this page again, or start the workbench again "
    "with the same data: it offers to restore this session."
)


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


def document() -> Tag:
    """Return the page, whose outputs are empty."""
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
        tags.p(GONE, id="gone", role="alert", class_="failed", hidden=""),
        tags.div(ui.output_ui("offer"), role="status", class_="offer"),
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
        _folded("report", "Report", ui.output_ui("files"), ui.output_ui("preview")),
        tags.section(tags.h2("Code"), ui.output_ui("code"), _pasting(), class_="code"),
    )
    skip = tags.a("Skip to the picture", href="#seen", class_="skip")
    return tags.html(tags.body(head, *ASSETS, skip, header, main), lang="en")


def _folded(name: str, title: str, *content: object) -> Tag:
    """A pane that is computed only while it is open."""
    summary = tags.summary(tags.h2(title))
    return tags.section(tags.details(summary, *content, data_pane=name), class_="folded")


def _above() -> Tag:
    field = tags.input(type="number", step="any", id="above")
    label = tags.label("Probability of a response above", for_="above")
    return tags.div(tags.div(label, field), class_="row above")


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
            tags.summary("Weights, fit, priors"),
            tags.div(*further_controls(), _order(), class_="row"),
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


def _order() -> Tag:
    none = tags.option("none", value="")
    field = tags.select(none, id="order", data_kind="column")
    return tags.div(tags.label("Order of the rows, for the checks", for_="order"), field)


def _pasting() -> Tag:
    return tags.div(
        tags.label("Paste a line of Python or of a shell to restore its state", for_="pasted"),
        tags.textarea(id="pasted", rows="2", spellcheck="false"),
        tags.button("Restore", type="button", class_="act", id="restore"),
        class_="pasting",
    )
