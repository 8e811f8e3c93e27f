"""Priors of a conditional mixture network, in the units of the data where they have any."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesvb.workbench.density_priors import spread

if TYPE_CHECKING:
    import pandas as pd

    from bayesvb.workbench.network import ConditionalMixtureNetwork

Row = tuple[str, str, str, float, float]


def prior_table(model: ConditionalMixtureNetwork) -> pd.DataFrame:
    """Prior of every parameter.

    Returns
    -------
    pandas.DataFrame
        Index (part, term); ``prior`` in words, its ``centre`` and ``scale``. Coefficients of the
        experts are per unit of the term, in units of the latent vector, which has none of its own;
        noise is integrated out, which leaves a Student t. Intercepts of sticks have centres that
        differ by stick.
    """
    import pandas as pd

    output = _labels(model) if model.design.levels else _numbers(model)
    rows = [*_experts(model), *_gate(model), *output]
    table = pd.DataFrame(rows, columns=["part", "term", "prior", "centre", "scale"])
    return table.set_index(["part", "term"])


def _experts(model: ConditionalMixtureNetwork) -> list[Row]:
    priors, scaling = model.priors, model.scales.parts["mean"]
    noise = np.sqrt(priors.latent_rate / priors.latent_shape)
    sds = np.full(len(scaling.scale), np.sqrt(priors.coefficient_variance) * noise)
    words = f"Student t({2.0 * priors.latent_shape:g})"
    rows: list[Row] = [
        ("mean", term, words, 0.0, float(sd))
        for term, sd in zip(model.design.terms["mean"], spread(scaling, sds), strict=True)
    ]
    law = f"1/sigma^2 ~ Gamma({priors.latent_shape:g}, {priors.latent_rate:g})"
    return [*rows, ("sigma", "", law, float(noise), np.nan)]


def _gate(model: ConditionalMixtureNetwork) -> list[Row]:
    priors, scaling = model.priors, model.scales.parts["gating"]
    sds = spread(scaling, np.full(len(scaling.scale), np.sqrt(priors.gating_variance)))
    return [
        _stick("gating", term, float(sd), centred=number == scaling.intercept and _even(model))
        for number, (term, sd) in enumerate(zip(model.design.terms["gating"], sds, strict=True))
    ]


def _even(model: ConditionalMixtureNetwork) -> bool:
    return model.priors.even_sticks


def _stick(part: str, term: str, sd: float, *, centred: bool) -> Row:
    if centred:
        return part, term, "Normal(-log(choices left), sd)", np.nan, sd
    return part, term, "Normal", 0.0, sd


def _labels(model: ConditionalMixtureNetwork) -> list[Row]:
    sd = float(np.sqrt(model.priors.output_variance))
    return [
        _stick("output", "latent", sd, centred=False),
        _stick("output", "Intercept", sd, centred=_even(model)),
    ]


def _numbers(model: ConditionalMixtureNetwork) -> list[Row]:
    priors, response = model.priors, model.scales.response
    noise = np.sqrt(priors.noise_rate / priors.noise_shape)
    words = f"Student t({2.0 * priors.noise_shape:g})"
    rows: list[Row] = []
    for name, centre, unit in zip(
        model.design.response_names, response.centre, response.scale, strict=True
    ):
        of = "" if len(response.scale) == 1 else f"{name}: "
        sd = float(np.sqrt(priors.output_variance) * noise * unit)
        rate = priors.noise_rate * unit * unit
        law = f"1/output_sd^2 ~ Gamma({priors.noise_shape:g}, {rate:.3g})"
        rows += [
            ("output", f"{of}latent", words, 0.0, sd),
            ("output", f"{of}Intercept", words, float(centre), sd),
            ("output_sd", of.rstrip(": "), law, float(noise * unit), np.nan),
        ]
    return rows
