"""The largest average effects, as the first screen of a report has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from htmltools import HTML, Tag, tags

from bayesvb.interactive.state import State
from bayesvb.reports.fragments import panel_html


def effects(state: State) -> Tag:
    """Return the panels of the fit whose checks are seen."""
    if state.judged is None or not state.judged.panels:
        return tags.p("No covariate has an average effect yet.", class_="note")
    panels = [tags.div(HTML(_linked(panel)), class_="effects") for panel in state.judged.panels]
    return tags.div(*panels, id="panels")


def _linked(panel: Mapping[str, Any]) -> str:
    """Return a panel whose link to all effects leads to the report, which has them."""
    html: str = panel_html(dict(panel))
    return html.replace('href="#effects"', 'href="#report"')
