"""Gating part: the terms on which the mixing weights depend."""

from __future__ import annotations

from bayesvb.data.parts.base import Part
from bayesvb.data.parts.mean import MEAN

GATING = "gating"

GATING_PART = Part(
    name=GATING,
    synonyms=("gate", "mixing", "mixture", "weights", "concomitant", "theta"),
    default=MEAN,
    of_weights=True,
    coefficients="gamma",
    scale="gating scale",
    scale_meaning="a term's log odds {varying}",
    scale_rate="gating_scale_rate",
)
