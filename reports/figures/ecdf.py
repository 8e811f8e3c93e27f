"""ECDFs of values that should be uniform, minus the uniform one, over their simultaneous band."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayesvb.evaluation.calibration import PitEcdf

from .plot import Canvas, number_axis, series, spread_axis


def ecdf_canvas(shown: Sequence[PitEcdf]) -> Canvas:
    """Curves of some variables over the band of the first; several have the styles of series."""
    band = shown[0]
    heights = [band.lower, band.upper, *(one.difference for one in shown)]
    canvas = Canvas(number_axis(0.0, 1.0), spread_axis(np.concatenate(heights)))
    canvas.band("shade", band.points, band.lower, band.upper)
    canvas.across("axis", 0.0)
    for number, one in enumerate(shown):
        kind = f"curve {series(number)}" if len(shown) > 1 else "curve"
        canvas.line(kind, one.points, one.difference)
    return canvas
