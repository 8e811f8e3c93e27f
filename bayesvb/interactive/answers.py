"""Questions of the page to a fit, and its answers.

An answer is small and plain, so that it can be sent to the page; the fit itself never is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from bayesvb.interactive.picture_numbers import PictureNumbers, picture_numbers
from bayesvb.reports.fragments import report_section
from bayesvb.reports.rows.profiles import compared
from bayesvb.reports.sections import SECTIONS
from bayesvb.reports.sections.finding import KINDS, finding

if TYPE_CHECKING:
    from bayesvb.estimators.fit import Fit
    from bayesvb.results.base import AbstractFit
    from bayesvb.results.checks.base import Check


ALONG = ("conditional", "classes")
"""Sections whose picture can be drawn along any covariate."""


@runtime_checkable
class Question(Protocol):
    """A question to a fit."""

    def answer(self, fit: Fit, checks: Sequence[Check]) -> object:
        """Return the answer; the checks of the fit are known."""


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
    numbers : PictureNumbers or None
        The same as a table.
    """

    figure: dict[str, object] | None
    sentences: tuple[str, ...]
    along: str
    covariates: tuple[str, ...]
    numbers: PictureNumbers | None = None


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
    drawn_along = stated.get("along") or ""
    return Picture(
        figure=first["figure"],
        sentences=tuple(first["sentences"]),
        along=drawn_along,
        covariates=tuple(compared(fit.model.design)),
        numbers=picture_numbers(fit, drawn_along),
    )


@dataclass(frozen=True, kw_only=True)
class Along:
    """Question for the picture along another covariate."""

    along: str

    def answer(self, fit: Fit, checks: Sequence[Check]) -> Picture:
        """Draw the picture."""
        return picture(fit, self.along, checks)


@dataclass(frozen=True, kw_only=True)
class ComponentTables:
    """Components and parameters of a fit as HTML.

    Attributes
    ----------
    components : str
        Section of the report; empty for a model of one component.
    parameters : str
        Table of all parameters with their intervals.
    """

    components: str
    parameters: str


@dataclass(frozen=True, kw_only=True)
class Components:
    """Question for the components and the parameters."""

    def answer(self, fit: Fit, checks: Sequence[Check]) -> ComponentTables:
        """Make the tables."""
        has_section = SECTIONS["components"].short(fit) is not None
        return ComponentTables(
            components=report_section(fit, "components").html if has_section else "",
            parameters=fit.table("html"),
        )
