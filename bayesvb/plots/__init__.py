"""Plots of a fit and of effects. Each draws on the axes it is given, or on new ones."""

from bayesvb.plots.conditional import quantiles, ridges, weights
from bayesvb.plots.of_effects import effects

__all__ = ["effects", "quantiles", "ridges", "weights"]
