"""The panes of the page: each shows one part of its state, and computes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from htmltools import Tag

from bayesvb.interactive.state import State

from .checks import checks
from .code import code
from .compare import compare
from .components import components
from .effects import effects
from .offer import offer
from .picture import picture
from .predict import predicted, row
from .reading import reading, status
from .report import report
from .variables import data, variables

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
    Pane("report", report, ("preview", "reports", "history")),
    Pane("code", code, ("task", "table", "typed")),
)
