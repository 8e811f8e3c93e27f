"""Mean part: the terms of the components' regression lines."""

from __future__ import annotations

from bayesvb.data.parts.base import Part

MEAN = "mean"

MEAN_PART = Part(
    name=MEAN,
    coefficients="beta",
    scale="scale",
    scale_meaning="a term's coefficients {varying}, in {units}",
    scale_rate="scale_rate",
)
