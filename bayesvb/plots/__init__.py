"""Plots of a fit and of effects. Each draws on the axes it is given, or on new ones.

May import: errors, argument_checks, drawing, data, distributions, results, effects.
"""

from __future__ import annotations

from bayesvb.effects.plotting import effects
from bayesvb.plots.benchmark import benchmark
from bayesvb.plots.conditional import quantiles, ridges, weights
from bayesvb.plots.curves import curve, groups
from bayesvb.plots.influence import influence

__all__ = [
    "benchmark", "curve", "effects", "groups", "influence", "quantiles", "ridges", "weights",
]  # fmt: skip
