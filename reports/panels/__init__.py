"""Panels next to the picture of the first screen, those that apply to a fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..cells.plain import Summary
from .clusters import clusters_panel
from .effects import effects_panel
from .exact import exact_panel
from .groups import groups_panel
from .loadings import loadings_panel
from .subjects import subjects_panel

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

__all__ = ["PANELS", "panels"]

PANELS: tuple[Callable[[AbstractFit], Summary | None], ...] = (
    subjects_panel,
    effects_panel,
    groups_panel,
    clusters_panel,
    loadings_panel,
    exact_panel,
)
"""Functions that make the panels, from the top; None where a panel does not apply."""


def panels(fit: AbstractFit) -> list[Summary]:
    """Panels of a fit, from the top."""
    return [panel for make in PANELS if (panel := make(fit)) is not None]
