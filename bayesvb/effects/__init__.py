"""Effects of covariates on the conditional distribution: predictions, comparisons, slopes."""

from bayesvb.effects.requests import comparisons, predictions, slopes
from bayesvb.effects.result import Effects

__all__ = ["Effects", "comparisons", "predictions", "slopes"]
