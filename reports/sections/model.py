"""Model and priors: formula, likelihood and gate as formulas, every parameter with its prior."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd

from bayesvb.data.parts import GATING, MEAN, SIGMA, ZERO
from bayesvb.results.exact_draws import IntegratesScales
from bayesvb.results.printing import formula_text, gate_note
from bayesvb.results.summary import smooth_dof

from ..cells.numerals import numeral, powers_written_out, significant
from ..cells.plain import Summary
from ..cells.tables import table
from ..rows.sampling import gated

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit


def summary(fit: AbstractFit) -> Summary:
    """The model and its prior."""
    model, gate = fit.model, _gate(fit)
    return {
        "formula": formula_text(model),
        "gate_note": gate_note(model),
        "gating_given": model.formula.gating_given or not gated(fit) or model.size == 1,
        "description": model.description(),
        "n_components": fit.model.size,
        "likelihood": model.formula_template,
        "regression": "linear" if _is_linear(fit) else "generalised linear",
        **{"gate": None, "gate_formula": "other", **model.formula_names()},
        **gate,
        "classes": model.design.levels,
        "several_responses": len(model.design.response_names) > 1,
        "parameters": _parameters(fit),
        "prior_counts": fit.engine.prior_counts,
        "priors": _priors(fit),
        "tried": tried(fit),
        "scales": _scales(fit),
        "curves": _curves(fit),
        "standardized": model.priors.standardize,
        "scale": model.scale_words,
    }


def _is_linear(fit: AbstractFit) -> bool:
    """Whether the predictor is the mean of a number."""
    response = fit.model.response
    return response.link == "identity" and not response.is_discrete


def _gate(fit: AbstractFit) -> Summary:
    """Entries that depend on the gate, if there is one."""
    if not gated(fit):
        return {"gate_meaning": None, "gate_coefficients": False}
    first = fit.parts[0].fit  # restarts that are combined may have no common table of them
    return {
        "gate_meaning": fit.mixture.coefficient_meaning(),
        "gate_coefficients": bool(first.mixture.gate_coefficients(first.draws)),
    }


def _scales(fit: AbstractFit) -> Summary | None:
    """Parts whose coefficients have learned scales; None if there are none."""
    named, model = fit.named_draws, cast(Any, fit.model)
    known = (MEAN, "between", SIGMA, ZERO, GATING)
    parts = [part for part in known if f"scale_{part}" in named.parts]
    if not parts:
        return None
    return {
        "parts": parts,
        "half_t": isinstance(fit.core, IntegratesScales),
        "with_noise": "noise" in model.experts.scale_units,
    }


def _curves(fit: AbstractFit) -> str | None:
    """Effective degrees of freedom of each smooth curve, in each component."""
    found = smooth_dof(fit)
    if not found:
        return None
    return "; ".join(
        f"{name} {', '.join(numeral(float(one), 1) for one in each)}"
        for name, each in found.items()
    )


def _parameters(fit: AbstractFit) -> Summary:
    named = fit.named_draws
    rows = {
        text.symbol: (named.parts[name], int(np.prod(named.values[name].shape[1:])), text.meaning)
        for name, text in named.texts.items()
        if name != "share" or fit.core.n_components > 1
    }
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=["part", "numbers", "meaning"])
    caption = "Parameters: their names in the tables, and how many values they have."
    return table(frame.rename_axis("symbol"), caption)


def tried(fit: AbstractFit) -> str | None:
    """Multiples of the prior variance of the restarts that count; None if all have the same."""
    if "prior" not in fit.restarts:
        return None
    weights: dict[str, float] = {}
    for part in fit.parts:
        name = str(fit.restarts.loc[part.number, "prior"])
        weights[name] = weights.get(name, 0.0) + part.weight
    return ", ".join(f"{name} (weight {numeral(weight, 2)})" for name, weight in weights.items())


def _priors(fit: AbstractFit) -> Summary:
    frame = fit.model.prior_table()
    frame["prior"] = [powers_written_out(words) for words in frame["prior"]]
    same = "" if fit.model.size == 1 else ", the same for every component"
    caption = (
        f"Priors in the units of the data{same}. Centre and scale of the distribution that is "
        "named; of a Normal, mean and standard deviation."
    )
    scale = frame["scale"].fillna(frame["location"]).to_numpy(dtype=float)
    each = [significant([one], 3) for one in scale]
    return table(frame, caption, decimals={"location": each, "scale": each},
                 rest="model.prior_table()")  # fmt: skip
