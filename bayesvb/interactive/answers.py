"""What a fit answers: picture and sentence of the finding, as a report has them.

An answer is small and plain, so that it can be sent to the page; the fit itself never is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bayesvb.estimators.loading import load
from bayesvb.reports.rows.profiles import compared
from bayesvb.reports.sections import SECTIONS
from bayesvb.reports.sections.finding import KINDS, finding

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit
    from bayesvb.results.checks.base import Check


ALONG = ("conditional", "classes")
"""Sections whose picture can be drawn along any covariate."""


@dataclass(frozen=True, kw_only=True)
class Picture:
    """What a report of a fit says first.

    Attributes
    ----------
    figure : mapping or None
        As the summary of a section has it.
    sentences : tuple of str
    along : str
        Covariate along which it is drawn; empty if there is none.
    covariates : tuple of str
        Along which it can be drawn.
    """

    figure: dict[str, object] | None
    sentences: tuple[str, ...]
    along: str
    covariates: tuple[str, ...]


def picture(fit: AbstractFit, along: str = "", checks: Sequence[Check] = ()) -> Picture:
    """Return the first sentences and the picture of a report.

    Parameters
    ----------
    fit : Fit
    along : str
        Covariate of the picture; the one that changes the response most if empty or not there.
    checks : sequence of Check
        What they contradict is hedged.
    """
    along = along if along in compared(fit.model.design) else ""
    for name in KINDS:
        make = SECTIONS[name].short
        section = make(fit, along) if along and name in ALONG else make(fit)
        if section is not None:
            break
    first, _ = finding(fit, {name: section}, checks=checks)
    stated = section["responses"][0] if "responses" in section else section
    return Picture(
        figure=first["figure"],
        sentences=tuple(first["sentences"]),
        along=stated.get("along") or "",
        covariates=tuple(compared(fit.model.design)),
    )


@dataclass(frozen=True, kw_only=True)
class ReportTask:
    """The report of a saved fit, as the work of a process.

    Attributes
    ----------
    path : Path
        File of the fit.
    source : str
        Where the data come from.
    """

    path: Path
    source: str

    @property
    def page(self) -> Path:
        """Path of the report: beside the fit."""
        return self.path.with_suffix(".html")

    def messages(self, tell: Callable[[object], None]) -> Iterator[object]:
        """Yield the path of the report when it is written."""
        yield load(self.path).report(self.page, source=self.source)
