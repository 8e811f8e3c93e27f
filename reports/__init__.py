"""Reports: a fit as one self-contained HTML page.

May import: errors, argument_checks, drawing, numerics, storage, data, formula, factors,
distributions, evaluation, sensitivity, engines, models, results, effects.
"""

from __future__ import annotations

from .report import report

__all__ = ["report"]
