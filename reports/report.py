"""A fit as one self-contained HTML page, its content as Markdown or JSON, or a picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bayesvb.argument_checks import check_any_fits, check_choice, checked
from bayesvb.errors import DataError
from bayesvb.storage.whole_files import check_writable, write_whole

from .cells.plain import Summary
from .choices import Choices
from .markdown import markdown
from .page import html, indented, page_summary
from .picture import find_browser, first_screen

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit
    from bayesvb.results.simulation_calibration import SimulationCalibration

    from .sections.candidates import HasCandidates

__all__ = ["FORMATS", "report"]

FORMATS: Mapping[str, Callable[[Summary], bytes]] = {
    "html": lambda summary: html(summary).encode(),
    "markdown": lambda summary: markdown(html(summary)).encode(),
    "json": lambda summary: indented(summary).encode(),
    "png": lambda summary: first_screen(html(summary)),
}
"""Formats of a report."""

EDITIONS = ("short", "full")
"""Editions of a report: the parts that are written, or open."""

OTHER_FORMATS = (".pdf", ".docx", ".odt", ".tex", ".ipynb", ".svg", ".csv", ".xlsx", ".nc")
"""Endings of other formats, which are errors."""

ENDINGS = {".md": "markdown", ".markdown": "markdown", ".json": "json", ".png": "png"}


@partial(checked, fit=check_any_fits)
def report(
    fit: AbstractFit | Mapping[str, AbstractFit],
    path: str | Path,
    *,
    format: str | None = None,
    edition: str | None = None,
    question: str | None = None,
    along: str | None = None,
    labels: Mapping[str, str] | None = None,
    source: str | None = None,
    notes: Sequence[str] = (),
    date: str | None = None,
    calibration: SimulationCalibration | None = None,
    selection: HasCandidates | None = None,
) -> Path:
    """Path of the page that was written.

    The HTML page needs no network and no script, follows the reader's light or dark scheme, and
    prints. Its numbers are also in it as JSON, in the element ``#summary``. The same fit gives the
    same bytes.

    Parameters
    ----------
    fit : Fit or mapping of str to Fit
        Several fits are compared first, then reported one after the other.
    path : str or Path
        Where to write; a page that is there is replaced when the new one is complete.
    format : {"html", "markdown", "json", "png"}, optional
        By default from the ending of the path: ``.md``, ``.json``, ``.png``, HTML otherwise.
        Markdown has the content of the page, for figures their captions; JSON has the numbers. PNG
        is a picture of the first screen, 1280 x 900 pixels, and needs Chromium or Chrome.
    edition : {"short", "full"}, optional
        ``"short"`` ends after two printed pages: finding, checks, effects, model and code. By
        default the full edition follows, closed; with ``"full"`` it is open, also in print.
    question : str, optional
        Heading of the page, instead of the question made from the names of the columns.
    along : str, optional
        Covariate of the main result and the picture, instead of the one with the largest change of
        the response. With several fits, used for those that have it.
    labels : mapping of str to str, optional
        Labels by column, instead of names: ``{"educ": "Years of education"}``. A transformed
        response has a separate name: ``{"log(wage)": "Log hourly wage"}``. Formula, code and checks
        have the names.
    source : str, optional
        Where the data come from, for the line on the data: ``"Munich rent survey 1999"``.
    notes : sequence of str, optional
        Remarks of the author, in the section on limits: how the formula was chosen, for example.
    date : str, optional
        Printed above the title; there is none otherwise.
    calibration : SimulationCalibration, optional
        What ``bayesvb.sbc`` found of the model of a single fit, for a section of its own;
        several fits bring theirs with them, see ``Fit.with_sbc``.
    selection : Selection, optional
        What ``bayesvb.select`` returned, for the table of the numbers of components among which
        these fits were chosen; see ``Selection.report``.

    Raises
    ------
    DataError
        If the file cannot be written, a fit, the covariate ``along``, or the column of a
        label, no browser for a picture, or the calibration belongs to another model.

    References
    ----------
    Kruschke (2021), Bayesian Analysis Reporting Guidelines, doi:10.1038/s41562-021-01177-7.
    Depaoli, van de Schoot (2017), Improving transparency and replication in Bayesian statistics,
    doi:10.1037/met0000065.
    """
    target = check_writable(path)
    form = _format_of(target, format)
    if form == "png":
        find_browser()  # before the work
    fits = dict(fit) if isinstance(fit, Mapping) else {"": fit}
    if not fits:
        raise DataError("fit={} holds no fit", hint="give a fit, or {name: fit, ...}")
    if calibration is not None:
        if len(fits) > 1:
            raise DataError(
                f"calibration= does not state to which of {len(fits)} fits it belongs",
                hint="write {name: fit.with_sbc(calibration), ...}",
            )
        fits = {name: one.with_sbc(calibration) for name, one in fits.items()}
    named = {str(name): one for name, one in fits.items()}
    if edition is not None:
        check_choice("edition", edition, EDITIONS)
    choices = Choices(
        edition=edition, question=question, along=along, labels=labels, source=source, notes=notes,
        date=date,
    )  # fmt: skip
    return write_whole(FORMATS[form](page_summary(named, choices, selection)), target)


def _format_of(path: Path, given: str | None) -> str:
    """The given format, or the format of the ending."""
    if given is not None:
        check_choice("format", given, tuple(FORMATS))
        return given
    ending = path.suffix.lower()
    if ending in OTHER_FORMATS:
        raise DataError(
            f"path={str(path)!r}: a report is HTML, Markdown, JSON or PNG",
            hint=f"write {str(path.with_suffix('.html'))!r}"
            + (", and print that to a file from the browser" if ending == ".pdf" else ""),
        )
    return ENDINGS.get(ending, "html")
