"""Effects of covariates on the conditional distribution: predictions, comparisons, slopes.

May import: errors, argument_checks, drawing, numerics, data, formula, distributions, results.
"""

from __future__ import annotations

from bayesvb.effects.curves import curves, groups, smoothness
from bayesvb.effects.marginal_effects import comparisons, predictions, slopes
from bayesvb.effects.result import Effects

__all__ = ["Effects", "comparisons", "curves", "groups", "predictions", "slopes", "smoothness"]


def __dir__() -> list[str]:
    """Public names only, for completion."""
    return __all__
