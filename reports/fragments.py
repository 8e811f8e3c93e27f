"""Figure and panels of the first screen as HTML of their own, for pages that are made elsewhere."""

from __future__ import annotations

from itertools import count

from .cells.plain import Summary
from .page import _environment, _identified


def figure_html(figure: Summary, name: str) -> str:
    """Return a figure with its caption.

    Parameters
    ----------
    figure : mapping
        As the summary of a section has it.
    name : str
        Beginning of its ids, unique in the page that shows it.
    """
    named = _identified({name: figure}, "", count())[name]
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
