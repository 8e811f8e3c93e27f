"""Model and priors: formula, likelihood and gate as formulas, every parameter with its prior."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from ..numerals import significant
from ..plain import Summary
from ..tables import table

if TYPE_CHECKING:
    from bayesvb.fit import Fit

GATE_FORMULAS = {
    "softmax": "softmax",
    "softmax-jensen": "softmax",
    "softmax-bouchard": "softmax",
    "stick-breaking": "stick-breaking",
    "dirichlet": "dirichlet",
}
"""Gate -> the template with its formula; a gate that is not here is described in words."""


def summary(fit: Fit) -> Summary:
    """What was fitted, and what was believed before."""
    model = fit.model
    several = len(model.design.response_names) > 1
    return {
        "formula": model.formula.canonical(),
        "gating_given": model.formula.gating_given,
        "n_components": model.n_components,
        "gate": model.gate,
        "gate_formula": GATE_FORMULAS.get(model.gate, "other"),
        "gate_meaning": fit.mixture.gate.coefficient_meaning(),
        "several_responses": several,
        "responses": list(model.design.response_names),
        "parameters": _parameters(fit),
        "priors": _priors(fit),
        "standardized": model.priors.standardize,
    }


def _parameters(fit: Fit) -> Summary:
    terms = fit.model.design.terms
    k = fit.model.n_components
    n_responses = len(fit.model.design.response_names)
    rows = {
        "β": ("mean", k * n_responses * len(terms["mean"]),
              "coefficients of each component's regression line, in units of the response per "
              "unit of the term"),
        "σ": ("sigma", k * n_responses,
              "standard deviation of the response around each component's line"),
    }  # fmt: skip
    logits = len(fit.mixture.gate.coefficients(fit.q_draws["gate"]))
    if logits:
        meaning = f"coefficients of the weights: {fit.mixture.gate.coefficient_meaning()}"
        rows["γ"] = ("gating", logits * len(terms["gating"]), meaning)
    rows["π"] = ("share", k, "weights of the components; the share is their average over the rows")
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=["part", "numbers", "meaning"])
    caption = "Parameters: what they are called in the tables, how many numbers they are."
    return table(frame.rename_axis("symbol"), caption)


def _priors(fit: Fit) -> Summary:
    frame = fit.model.prior_table()
    caption = (
        "Priors in the units of the data, the same for every component. Centre and scale are those "
        "of the distribution named; where a standard deviation is meant, it is the scale of a "
        "Normal."
    )
    scale = frame["scale"].fillna(frame["centre"]).to_numpy(dtype=float)
    each = [significant([one], 3) for one in scale]
    return table(frame, caption, decimals={"centre": each, "scale": each},
                 rest="model.prior_table()")  # fmt: skip
