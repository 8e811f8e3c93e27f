"""The panes of the page: each shows one part of its state, and computes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from htmltools import Tag

from bayesvb.interactive.state import State

from .checks import checks
from .fit import components, effects, picture
from .output import code, compare, files, preview
from .predict import predicted, row
from .request import data, offer, reading, status, variables

__all__ = ["PANES", "Pane"]


@dataclass(frozen=True)
class Pane:
    """A pane of the page.

    Attributes
    ----------
    name : str
        Of its output.
    draw : callable
        State -> tag.
    reads : tuple of str
        Parts of the state that it shows: it is drawn again when one of them has changed.
    """

    name: str
    draw: Callable[[State], Tag]
    reads: tuple[str, ...]


PANES = (
    Pane("data", data, ("table",)),
    Pane("offer", offer, ("offer",)),
    Pane("reading", reading, ("reading", "typed")),
    Pane("variables", variables, ("table",)),
    Pane("status", status, ("status",)),
    Pane("picture", picture, ("shown",)),
    Pane("checks", checks, ("judged", "task")),
    Pane("effects", effects, ("judged",)),
    Pane("row", row, ("controls",)),
    Pane("predicted", predicted, ("predicted",)),
    Pane("components", components, ("components",)),
    Pane("compare", compare, ("history", "task")),
    Pane("files", files, ("preview", "reports")),
    # Alone, so that a reader keeps the place in the frame while the files are written.
    Pane("preview", preview, ("preview",)),
    Pane("code", code, ("task", "table", "typed")),
)
