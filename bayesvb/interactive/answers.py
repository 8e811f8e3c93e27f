"""Answers of a fit to the page: its picture, and its components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bayesvb.interactive.messages import ComponentTables, Picture
from bayesvb.interactive.picture_numbers import picture_numbers
from bayesvb.reports.fragments import figure_html, report_section
from bayesvb.reports.rows.profiles import compared
from bayesvb.reports.sections import SECTIONS
from bayesvb.reports.sections.finding import KINDS, finding

if TYPE_CHECKING:
    from bayesvb.estimators.fit import Fit
    from bayesvb.results.base import AbstractFit
    from bayesvb.results.checks.base import Check


ALONG = ("conditional", "classes")
"""Sections whose picture can be drawn along any covariate."""


def picture(fit: AbstractFit, along: str = "", checks: Sequence[Check] = ()) -> Picture:
    """Return the first sentences and the picture of a report.

    Parameters
    ----------
    fit : Fit
    along : str
        Covariate of the picture; the one that changes the response most if empty or not there.
    checks : sequence of Check
        Statements that they contradict are hedged.
    """
    first, drawn_along = _first(fit, along, checks)
    return Picture(
        figure=figure_html(first["figure"], "picture") if first["figure"] else "",
        sentences=tuple(first["sentences"]),
        along=drawn_along,
        covariates=tuple(compared(fit.model.design)),
        numbers=picture_numbers(fit, drawn_along),
    )


def sentences(fit: AbstractFit, along: str, checks: Sequence[Check]) -> tuple[str, ...]:
    """Return the sentences of ``picture``."""
    return tuple(_first(fit, along, checks)[0]["sentences"])


def _first(fit: AbstractFit, along: str, checks: Sequence[Check]) -> tuple[dict[str, Any], str]:
    """Summary of the main result, and the covariate along which it is drawn."""
    along = along if along in compared(fit.model.design) else ""
    for name in KINDS:
        make = SECTIONS[name].short
        section = make(fit, along) if along and name in ALONG else make(fit)
        if section is not None:
            break
    first, _ = finding(fit, {name: section}, checks=checks)
    stated = section["responses"][0] if "responses" in section else section
    return first, stated.get("along") or ""


def component_tables(fit: Fit) -> ComponentTables:
    """Return the components and the parameters as tables."""
    has_section = SECTIONS["components"].short(fit) is not None
    return ComponentTables(
        components=report_section(fit, "components").html if has_section else "",
        parameters=fit.table("html"),
    )
