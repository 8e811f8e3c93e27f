"""Answers of a fit to the page: its picture, and its components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from bayesvb.effects.covariates import covariate, quantiles
from bayesvb.effects.curve_settings import CURVES
from bayesvb.interactive.messages import ComponentTables, Picture, PictureNumbers
from bayesvb.reports.cells.numerals import PROBABILITY, Decimals, numeral, significant
from bayesvb.reports.fragments import figure_html, report_section
from bayesvb.reports.rows.profiles import Profile, compared, labels, profile
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


def picture_numbers(fit: AbstractFit, along: str) -> PictureNumbers | None:
    """Return quantiles of the first response, or probabilities, along a covariate.

    None without a response.
    """
    design = fit.model.design
    if not along or not design.response_names:
        return None
    one = covariate(design, along)
    # Levels of a covariate that have a row, the first ones.
    values: list[object] = (
        list(one.values)[:12]
        if one.discrete
        else [float(value) for value in dict.fromkeys(quantiles(design, along, CURVES.quantiles))]
    )
    rows = profile(fit, along, values)
    label = design.label(design.response_names[0])
    titles, cells = _cells(fit, rows)
    kind = "Quantiles" if titles[0] == "5%" else "Probabilities"
    heads = labels(_dated(fit, along, values))
    return PictureNumbers(
        caption=f"{kind} of {label}" + (f", other covariates {rows.fixed}." if rows.fixed else "."),
        titles=(design.label(along), *titles),
        rows=tuple((head, *line) for head, line in zip(heads, cells, strict=True)),
    )


def _dated(fit: AbstractFit, along: str, values: list[object]) -> list[object]:
    """Dates as text, other values as they are."""
    design = fit.model.design
    if along not in design.dates:
        return values
    return [str(design.date_of(along, value))[:10] for value in values]


def _cells(fit: AbstractFit, rows: Profile) -> tuple[tuple[str, ...], list[list[str]]]:
    """Titles of the columns, and text of their cells."""
    response = fit.model.response
    if response.level_names:
        each = fit.predict(rows.frame, "probability").to_numpy(dtype=float).T
        return response.level_names, _texts(rows.averaged(each).T, PROBABILITY)
    predictive = rows.predictive(fit, fit.model.design.response_names[0])
    if response.is_probability:
        return ("probability",), _texts(predictive.mean()[:, None], PROBABILITY)
    result = predictive.quantile(np.array(CURVES.quantiles)).T
    decimals = 0 if response.is_discrete else significant([float(np.ptp(result)) or 1.0])
    return tuple(f"{100 * p:g}%" for p in CURVES.quantiles), _texts(result, decimals)


def _texts(values: Float[np.ndarray, "rows columns"], decimals: Decimals) -> list[list[str]]:
    return [[numeral(float(value), decimals) for value in row] for row in values]
