"""The page as Markdown: read from its HTML, so that both say the same."""

from __future__ import annotations

from .page import markdown

__all__ = ["markdown"]
