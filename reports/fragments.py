"""Figures, panels and sections as HTML of their own, for pages that are made elsewhere."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

from bayesvb.argument_checks import check_choice, check_positive, checked, shown
from bayesvb.errors import DataError, without_controls

from .cells.plain import Summary, numbers_only, plain
from .figures.standalone import standalone
from .page import _environment, identified
from .rows.profiles import compared
from .sections import SECTIONS

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

__all__ = ["ReportSection", "figure_html", "panel_html", "report_section"]


def figure_html(figure: Summary, name: str) -> str:
    """Return a figure with its caption.

    Parameters
    ----------
    figure : mapping
        As the summary of a section has it.
    name : str
        Beginning of its ids, unique in the page that shows it.
    """
    named = identified({name: figure}, "")[name]
    macros = _environment().get_template("macros.html").module
    return str(getattr(macros, "figure")(named))  # noqa: B009 (a template has no such attribute)


def panel_html(panel: Summary) -> str:
    """Return a panel: a table with a dot on a bar in each row.

    Parameters
    ----------
    panel : mapping
        One of ``reports.panels.panels``.
    """
    return str(_environment().get_template("panel.html").render(panel=panel, prefix=""))


@dataclass(frozen=True, kw_only=True)
class ReportSection:
    """One section of a report.

    Attributes
    ----------
    html : str
        The section as the report has it, without a heading; the style sheet of the report
        styles it.
    svg : str
        Its first figure as a picture of its own; empty if it has none.
    alt, caption : str
        What that figure shows in words, and how to read it; empty if there is none.
    numbers : dict
        The numbers of the section, as in the JSON of the report.
    """

    html: str
    svg: str
    alt: str
    caption: str
    numbers: dict[str, Any]

    def _repr_html_(self) -> str:
        """Picture and caption for notebooks, or the whole section where it has no picture."""
        if not self.svg:
            return self.html
        return f"<figure>{self.svg}<figcaption>{escape(self.caption)}</figcaption></figure>"


@partial(checked, width=check_positive)
def report_section(
    fit: AbstractFit, name: str, *, along: str | None = None, width: int = 640
) -> ReportSection:
    """Return one section of the report of a fit.

    Parameters
    ----------
    fit : Fit
    name : str
        ``"conditional"``, ``"classes"``, ``"components"``, ``"calibration"``, ... : a section of
        the report, by the name that it has there as an id.
    along : str, optional
        Covariate of ``"conditional"`` and ``"classes"``; by default the one with the largest change
        of the response.
    width : int
        Width of the picture in pixels; text has the same size whatever it is.

    Raises
    ------
    DataError
        If the section does not exist, does not apply to the fit, or has no such covariate.

    Examples
    --------
    >>> import bayesvb as bvb
    >>> data = bvb.datasets.load("faithful")
    >>> fit = bvb.DensityRegression("waiting ~ eruptions", data, n_components=1).fit(seed=1)
    >>> section = bvb.report_section(fit, "conditional", width=480)
    >>> section.alt[:50]
    'Predictive quantiles of waiting against eruptions;'
    """
    check_choice("name", name, tuple(SECTIONS))
    summary = SECTIONS[name].summary
    content = summary(fit) if along is None else _drawn_along(fit, name, along)
    if content is None:
        raise DataError(
            f"name={name!r}: the report of this {type(fit.model).__name__} has no such section",
            hint="fit.report(path) writes those that it has",
        )
    content = identified(plain(content), name)
    figure: Summary = next(_figures(content), {"alt": "", "caption": ""})
    svg = standalone(figure, width) if figure["alt"] else ""
    template = _environment().from_string(f'{{% include "{name}.html" %}}')
    # Several fits are compared: only then a section has all that the page says elsewhere.
    html = template.render(s=content, summary={"comparison": True}, prefix="")
    return ReportSection(
        html=without_controls(html),
        svg=without_controls(svg),
        alt=figure["alt"],
        caption=figure["caption"],
        numbers=numbers_only(content),
    )


def _drawn_along(fit: AbstractFit, name: str, along: str) -> Summary | None:
    """The section along a covariate."""
    make: Any = SECTIONS[name].summary
    if "along" not in inspect.signature(make).parameters:
        raise DataError(f"along={shown(along)}: section {name!r} has no covariate", hint="omit it")
    check_choice("along", along, compared(fit.model.design))
    found: Summary | None = make(fit, along)
    return found


def _figures(content: object) -> Iterator[Summary]:
    """Figures of a section in their order."""
    if isinstance(content, dict):
        if "drawing" in content or "drawings" in content:
            yield content
            return
        content = list(content.values())
    if isinstance(content, list):
        for one in content:
            yield from _figures(one)
