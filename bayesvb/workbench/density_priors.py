"""Priors in the units of the data, and draws of the response before any data are seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from bayesvb.assembly import gating_sds
from bayesvb.scaling import Scaling

if TYPE_CHECKING:
    import pandas as pd

    from bayesvb.workbench.density import DensityRegression


def prior_table(model: DensityRegression) -> pd.DataFrame:
    """Prior of every parameter in the units of the data.

    Returns
    -------
    pandas.DataFrame
        Index (part, term); ``prior`` in words, and its ``centre`` and ``scale``: the noise is
        integrated out of a conjugate prior of an expert's coefficients, which leaves a Student t.
    """
    import pandas as pd

    rows = [*_experts(model), *_noise(model), *_gate(model)]
    table = pd.DataFrame(rows, columns=["part", "term", "prior", "centre", "scale"])
    return table.set_index(["part", "term"])


def spread(scaling: Scaling, sds: Float[np.ndarray, " columns"]) -> Float[np.ndarray, " columns"]:
    """Prior standard deviation in the data's units of independent standard coefficients."""
    change = scaling.coefficients(np.diag(sds))
    size = np.abs(change).max(axis=0)  # squares of extreme units overflow
    size[size == 0.0] = 1.0
    change /= size
    return np.asarray(size * np.sqrt((change * change).sum(axis=0)))


def _experts(model: DensityRegression) -> list[tuple[str, str, str, float, float]]:
    priors, scales = model.priors, model.scales
    noise, words = 1.0, "Normal"
    if priors.family == "conjugate":
        noise = np.sqrt(priors.noise_rate / priors.noise_shape)
        words = f"Student t({2.0 * priors.noise_shape:g})"
    mean = scales.parts["mean"]
    rows = []
    for response, unit in enumerate(scales.response.scale):
        sd = spread(mean, np.full(len(mean.scale), priors.coefficient_sd * noise * unit))
        for number, term in enumerate(model.design.terms["mean"]):
            centre = scales.response.centre[response] if number == mean.intercept else 0.0
            rows.append(
                ("mean", _of(model, response, term), words, float(centre), float(sd[number]))
            )
    return rows


def _of(model: DensityRegression, response: int, term: str) -> str:
    names = model.design.response_names
    return term if len(names) == 1 else f"{names[response]}: {term}"


def _noise(model: DensityRegression) -> list[tuple[str, str, str, float, float]]:
    priors = model.priors
    rows = []
    for response, unit in enumerate(model.scales.response.scale):
        rate = priors.noise_rate * unit * unit
        words = f"1/sigma^2 ~ Gamma({priors.noise_shape:g}, {rate:.3g})"
        typical = float(np.sqrt(rate / priors.noise_shape))
        rows.append(("sigma", _of(model, response, ""), words, typical, np.nan))
    return rows


def _gate(model: DensityRegression) -> list[tuple[str, str, str, float, float]]:
    if model.gate == "dirichlet":
        words = f"Dirichlet({model.priors.concentration:g})"
        return [("gating", "", words, 1.0 / model.n_components, np.nan)]
    scaling = model.scales.parts["gating"]
    sd = spread(scaling, gating_sds(scaling, model.priors))
    words = "Normal"
    return [
        ("gating", term, words, 0.0, float(sd[number]))
        for number, term in enumerate(model.design.terms["gating"])
    ]
