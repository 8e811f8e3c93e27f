"""Plots of a fit and of effects. Each draws on the axes it is given, or on new ones.

May import: errors, drawing, data, distributions, results, effects.
"""

from __future__ import annotations

from bayesvb.effects.plotting import effects
from bayesvb.plots.conditional import quantiles, ridges, weights

__all__ = ["effects", "quantiles", "ridges", "weights"]
