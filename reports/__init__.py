"""Reports: a fit as one self-contained HTML page."""

from .report import report

__all__ = ["report"]
