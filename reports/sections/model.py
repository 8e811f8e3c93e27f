"""Model and priors: formula, likelihood and gate as formulas, every parameter with its prior."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ..numerals import numeral, powers_written_out, significant
from ..plain import Summary
from ..sampling import gated
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


LIKELIHOODS = {
    "ConditionalMixtureNetwork": "network",
    "DensityRegression": "density",
    "GaussianMixture": "gaussian",
    "BayesianPCA": "components",
    "Normal": "normal",
}
"""Model -> the template with the formula of its likelihood."""

MEANINGS = {
    "beta": ("β", "coefficients of each component's line, in units of the response per unit of "
             "the term"),
    "sigma": ("σ", "standard deviation of the response around each component's line"),
    "noise": ("σ", "standard deviation of what the components leave over"),
    "spread": ("σ", "standard deviation of the response"),
    "gamma": ("γ", "coefficients of the weights"),
    "mean": ("μ", "mean of each variable in each component"),
    "sd": ("sd", "standard deviation of each variable in each component"),
    "correlation": ("ρ", "correlation of each pair of variables in each component"),
    "loadings": ("w", "change of each variable when the score of a component goes up by one, its "
                 "standard deviation"),
    "centre": ("m", "mean of each variable"),
    "mu": ("μ", "mean of the response"),
    "expert": ("A", "coefficients of each component's latent vector per unit of the term; the "
               "latent vector has no unit"),
    "latent": ("σ", "standard deviation of each entry of the latent vector around its line"),
    "output": ("B", "from the latent vector to log odds of classes, or to the response"),
    "output_sd": ("s", "standard deviation of the response given the latent vector"),
    "share": ("π", "weights of the components; the share is their average over the rows"),
}  # fmt: skip
"""Name of the draws -> their symbol and what they mean."""

OTHER_NAMES = {
    ("BayesianPCA", "sigma"): "noise",
    ("ConditionalMixtureNetwork", "beta"): "expert",
    ("ConditionalMixtureNetwork", "sigma"): "latent",
    ("Normal", "sigma"): "spread",
}
"""Model and name of the draws -> the name above, where the same name means something else."""


UNIDENTIFIED = ("expert", "latent", "output")
"""Of these a map of the latent vector makes others, while all predictions stay as they are."""


def identified(fit: Fit, name: str) -> bool:
    """Whether single numbers of this parameter mean something."""
    return OTHER_NAMES.get((type(fit.model).__name__, name), name) not in UNIDENTIFIED


def summary(fit: Fit) -> Summary:
    """What was fitted, and what was believed before."""
    model, options = fit.model, fit.model.options()
    gate = options.get("gate")
    meaning = fit.core.coefficient_meaning() if gated(fit) else None
    return {
        "formula": model.formula.canonical(),
        "gating_given": model.formula.gating_given or not gated(fit),
        "description": model.description(),
        "n_components": n_components_of(fit),
        "likelihood": LIKELIHOODS.get(type(model).__name__, "other"),
        "gate": gate,
        "gate_formula": GATE_FORMULAS.get(str(gate), "other"),
        "gate_meaning": meaning,
        "classes": model.design.levels,
        "several_responses": len(model.design.response_names) > 1,
        "parameters": _parameters(fit, meaning),
        "priors": _priors(fit),
        "tried": _tried(fit),
        "standardized": model.priors.standardize,
    }


def n_components_of(fit: Fit) -> int:
    """Components of the model as the user counts them: one if it has none."""
    return int(getattr(fit.model, "n_components", 1))


def _parameters(fit: Fit, meaning: str | None) -> Summary:
    named, kind = fit.model.named_draws(fit), type(fit.model).__name__
    rows = {}
    for name, part in named.parts.items():
        symbol, words = MEANINGS.get(OTHER_NAMES.get((kind, name), name), (name, ""))
        if name == "gamma" and meaning:
            words = f"{words}: {meaning}"
        rows[symbol] = (part, int(np.prod(named.values[name].shape[1:])), words)
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=["part", "numbers", "meaning"])
    caption = "Parameters: what they are called in the tables, how many numbers they are."
    return table(frame.rename_axis("symbol"), caption)


def _tried(fit: Fit) -> str | None:
    """Which of several priors the restarts that count have; None if all have the same."""
    if "prior" not in fit.restarts:
        return None
    weights: dict[str, float] = {}
    for part in fit.parts:
        name = str(fit.restarts.loc[part.number, "prior"])
        weights[name] = weights.get(name, 0.0) + part.weight
    return ", ".join(f"{name} (weight {numeral(weight, 2)})" for name, weight in weights.items())


def _priors(fit: Fit) -> Summary:
    frame = fit.model.prior_table()
    frame["prior"] = [powers_written_out(words) for words in frame["prior"]]
    same = "" if n_components_of(fit) == 1 else ", the same for every component"
    caption = (
        f"Priors in the units of the data{same}. Centre and scale are those "
        "of the distribution named; where a standard deviation is meant, it is the scale of a "
        "Normal."
    )
    scale = frame["scale"].fillna(frame["centre"]).to_numpy(dtype=float)
    each = [significant([one], 3) for one in scale]
    return table(frame, caption, decimals={"centre": each, "scale": each},
                 rest="model.prior_table()")  # fmt: skip
