"""Zero part: the terms on which the probability of a structural zero depends."""

from __future__ import annotations

from bayesvb.data.parts.base import Part

ZERO = "zero"

ZERO_PART = Part(
    name=ZERO,
    synonyms=("zi", "hu", "inflation", "zeros", "zeroinfl", "hurdle"),
    coefficients="beta_zero",
    coefficient_sd="zero_sd",
    is_common=True,
    scale="zero scale",
    scale_meaning="a smooth's log odds {varying}",
    scale_rate="gating_scale_rate",
)
