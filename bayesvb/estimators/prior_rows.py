"""Rows of the prior table of a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from bayesvb.data.parts import GATING, PARTS
from bayesvb.data.standardised_blocks import Scales
from bayesvb.estimators.group_effects import effect_rows
from bayesvb.estimators.half_t import half_t_rows
from bayesvb.estimators.learned_scales import LearnedScales
from bayesvb.experts.regression import AnyExperts, RegressionUnits
from bayesvb.formula.design import Design
from bayesvb.gates import GATES
from bayesvb.gates.base import GatePrior
from bayesvb.variational.descriptions import PriorRow


def prior_rows(
    model: Any,
    learned: LearnedScales | None,
    experts: AnyExperts,
    gate: GatePrior,
    units: RegressionUnits,
) -> list[PriorRow]:
    """Rows of the experts, of the gate where there are several components, and of prior scales."""
    if learned is not None:
        experts, gate = learned.at_typical(experts, gate)
    rows = experts.prior_rows(units)
    if model.n_components > 1:
        scaling, terms = model.scales.parts[GATING], model.design.terms[GATING]
        gate_rows = GATES[model.gate].prior_rows(model.n_components, gate, scaling, terms)
        rows = [*rows, *gate_rows, *effect_rows(model.design, gate, model.scales)]
    if learned is None:
        return rows
    return half_t_rows(model.core, learned.prior_rows(rows), model.scales, model.design)


def name_margins(rows: Sequence[PriorRow], design: Design, scales: Scales) -> list[PriorRow]:
    """Rows of the prior table; rows of terms with margins name them.

    Parameters
    ----------
    rows : sequence of PriorRow
    design : Design
    scales : Scales
        Parts without a basis have independent priors of the columns as they stand.
    """
    margins = {
        (PARTS[part].label if part in PARTS else part, label): words
        for part, scaling in scales.parts.items()
        if scaling.basis is not None
        for label, words in _margins(design, part)
    }
    return [
        replace(row, prior=f"{row.prior}, residualised on {margins[row.part, row.term]}")
        if (row.part, row.term) in margins
        else row
        for row in rows
    ]


def _margins(design: Design, part: str) -> Iterator[tuple[str, str]]:
    """Labels of the columns of terms with margins, and these margins."""
    names, responses = design.terms[part], design.response_names
    for term in design.orthogonal[part]:
        known = set(term.margins)
        blocks = [one for one in design.term_blocks[part] if known.issuperset(one.columns)]
        words = ", ".join(one.name for one in blocks)
        for name in (names[column] for column in term.columns if words):
            yield name, words
            yield from ((f"{response}: {name}", words) for response in responses)
