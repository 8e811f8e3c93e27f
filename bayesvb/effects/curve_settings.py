"""Points, quantiles and margins of curves, grids and densities: one record, for plots as well."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class CurveSettings:
    """Numbers of points at which effects are evaluated and drawn."""

    points: int = 101
    """Points of a curve."""

    most_points: int = 1_000_000
    """Points that a curve may have; more take memory and show nothing."""

    grid_points: int = 50
    """Evenly spaced values of the first covariate of a grid, from its smallest to its largest."""

    grid_quantiles: tuple[float, ...] = (0.1, 0.5, 0.9)
    """Quantiles that stand for a number which is not the first covariate of a grid."""

    density_points: int = 241
    """Points of a density."""

    quantiles: tuple[float, ...] = (0.05, 0.25, 0.5, 0.75, 0.95)
    """Quantiles of the response that are drawn, and of a covariate at which densities are."""

    step: float = 1e-4
    """Half the width of a central difference, in ranges of the covariate.

    The third derivative then enters with 1e-8, rounding with 1e-12, and the tolerance of a quantile
    with 1e-5.
    """

    series: int = 12
    """Largest number of curves in one panel; more cannot be distinguished."""

    named_groups: int = 60
    """Groups that are named on an axis; of more there is only their order."""

    margin: float = 0.08
    """Part of the data's range by which axes exceed it."""

    level_width: float = 0.28
    """Half the width over which the rows of one level are spread."""

    supported: float = 0.5
    """Part of the rows of an average that is supported where it is not hatched."""

    outer: float = 0.001
    """Replicated values beyond these quantiles of all do not widen the axis."""

    whole_numbers: tuple[float, float] = (1e4, 1e15)
    """Numbers within this range are written without a fraction, beyond it as powers of ten."""


CURVES = CurveSettings()
