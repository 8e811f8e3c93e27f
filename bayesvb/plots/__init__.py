"""Plots of a fit and of effects. Each draws on the axes it is given, or on new ones.

May import: errors, argument_checks, drawing, data, distributions, evaluation, results, effects.
"""

from __future__ import annotations

from bayesvb.effects.plotting import effects
from bayesvb.plots.benchmark import benchmark
from bayesvb.plots.checks import checks
from bayesvb.plots.conditional import quantiles, ridges, weights
from bayesvb.plots.curves import curve, groups
from bayesvb.plots.diagnostics import calibration, replicates, residual
from bayesvb.plots.influence import influence
from bayesvb.plots.overview import conditional_effects, overview
from bayesvb.plots.survival import survival

__all__ = [
    "benchmark", "calibration", "checks", "conditional_effects", "curve", "effects", "groups",
    "influence", "overview", "quantiles", "replicates", "residual", "ridges", "survival", "weights",
]  # fmt: skip


def __dir__() -> list[str]:
    """Public names only, for completion."""
    return __all__
