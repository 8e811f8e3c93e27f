"""The largest average effects, as the first screen of a report has them."""

from __future__ import annotations

from htmltools import HTML, Tag, tags

from bayesvb.interactive.state import State


def effects(state: State) -> Tag:
    """Return the panels of the fit whose checks are seen."""
    if state.judged is None or not state.judged.panels:
        return tags.p("No covariate has an average effect yet.", class_="note")
    # The link to all effects leads to the report, which has them.
    panels = [html.replace('href="#effects"', 'href="#report"') for html in state.judged.panels]
    return tags.div(*[tags.div(HTML(html), class_="effects") for html in panels], id="panels")
