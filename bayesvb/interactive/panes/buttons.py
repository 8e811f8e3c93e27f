"""Buttons that set the controls: the script of the page reads their data."""

from __future__ import annotations

from htmltools import Tag, tags

from bayesvb.interactive.request import Request


def request_button(label: str, request: Request) -> Tag:
    """Return a button that sets the controls to a request."""
    return tags.button(label, type="button", class_="act", data_request=request.to_json())


def event_button(label: str, event: str, value: str, *, says: str) -> Tag:
    """Return a button that sends an event to the server; ``says`` is its accessible name."""
    data = {"data_event": event, "data_value": value}
    return tags.button(label, type="button", class_="act", aria_label=says, **data)
