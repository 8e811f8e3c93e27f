"""Rows of the prior table of a density regression."""

from __future__ import annotations

from typing import Any

from bayesvb.data.parts import GATING
from bayesvb.estimators.group_effects import effect_rows
from bayesvb.estimators.half_t import half_t_rows
from bayesvb.estimators.learned_scales import LearnedScales
from bayesvb.experts.regression import AbstractRegressionExperts, RegressionUnits
from bayesvb.gates import GATES
from bayesvb.gates.base import GatePrior
from bayesvb.variational.descriptions import PriorRow

__all__ = ["prior_rows"]


def prior_rows(
    model: Any,
    learned: LearnedScales | None,
    experts: AbstractRegressionExperts[Any, Any],
    gate: GatePrior,
    units: RegressionUnits,
) -> list[PriorRow]:
    """Rows of the experts, of the gate where there are several components, and of prior scales."""
    if learned is not None:
        experts, gate = learned.at_typical(experts, gate)
    rows = experts.prior_rows(units)
    if model.n_components > 1:
        scaling, terms = model.scales.parts[GATING], model.design.terms[GATING]
        own = GATES[model.gate].prior_rows(model.n_components, gate, scaling, terms)
        rows = [*rows, *own, *effect_rows(model.design, gate, model.scales)]
    if learned is None:
        return rows
    return half_t_rows(model.core, learned.prior_rows(rows), model.scales, model.design)
