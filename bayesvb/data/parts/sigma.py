"""Sigma part: the terms on which the spread of the response around each line depends."""

from __future__ import annotations

from bayesvb.data.parts.base import Part

SIGMA = "sigma"

LOG_SIGMA = "log sigma"
"""Name in tables of the coefficients: ``sigma`` is the level of the noise."""

SIGMA_OFFSET = "sigma offset"
"""Name in blocks of the known summand of the log standard deviation."""

SIGMA_PART = Part(
    name=SIGMA,
    synonyms=("scale", "sd", "dispersion", "disp", "shape", "spread", "noise"),
    coefficients="beta_sigma",
    coefficient_sd="sigma_sd",
    table=LOG_SIGMA,
    has_level=True,
    scale="sigma scale",
    scale_meaning="a smooth's log sd {varying}",
    scale_rate="sigma_scale_rate",
)
