"""Half-t priors of the standard deviations of groups and of smooth curves, for one component."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from bayesvb.data.parts import MEAN
from bayesvb.data.standardised_blocks import Scales, without_offset
from bayesvb.estimators.priors import Priors
from bayesvb.factors.half_t import HALF_T_DOF
from bayesvb.formula.design import Design
from bayesvb.models.half_t_mixture import HalfTMixture, can_integrate, with_half_t_scales
from bayesvb.models.mixture import Mixture
from bayesvb.variational.descriptions import NamedParameter, ParameterText, PriorRow
from bayesvb.variational.local import Draws

__all__ = ["GROUP_SD_HEADING", "group_sds", "half_t_rows", "with_half_t"]

GROUP_SD = "sd of groups"
"""What tables call the standard deviations of effects of groups."""

GROUP_SD_HEADING = {GROUP_SD: f"{GROUP_SD} (of each effect, in units of the response)"}

TEXT = ParameterText(
    symbol="s",
    meaning="standard deviation of an effect over groups, in units of the response per unit of "
    "what the effect is multiplied by",
    heading="Standard deviations of groups, in units of the response",
    caption="Standard deviation of each effect over groups, in units of the response",
)


def with_half_t(mixture: Mixture, priors: Priors, design: Design, scales: Scales) -> Mixture:
    """The mixture with half-t priors of its scales; itself where they cannot be integrated."""
    if priors.scales != "between" or not can_integrate(mixture):
        return mixture
    membership: Any = mixture.of_experts.membership  # type: ignore[attr-defined]
    return with_half_t_scales(mixture, half_t_units(membership, priors, design))


def half_t_units(
    membership: Float[np.ndarray, "blocks terms"], priors: Priors, design: Design
) -> Float[np.ndarray, " blocks"]:
    """Scales of half-t priors of blocks: of the response, per unit of the blocks' columns."""
    if priors.standardize:
        return np.ones(len(membership))
    response = without_offset(np.asarray(design.response, dtype=float), design.offset)
    squares = membership @ (design.matrices[MEAN] ** 2).mean(axis=0)
    return np.asarray(response.std() / np.sqrt(squares))


def group_sds(core: object, draws: Draws, design: Design, scales: Scales) -> list[NamedParameter]:
    """Standard deviations of effects over groups in the data's units, where scales have half-t."""
    blocks = [b for b in design.term_blocks[MEAN] if b.kind in ("group", "smooth")]
    groups = [(i, block) for i, block in enumerate(blocks) if block.kind == "group"]
    if not isinstance(core, HalfTMixture) or not groups or "term_precision" not in draws:
        return []
    at = [i for i, _ in groups]
    unit = scales.response.scale[0] / scales.parts[MEAN].scale[[b.columns[0] for _, b in groups]]
    sd = unit / np.sqrt(draws["term_precision"][:, at] * draws["precision"][:, :, 0])
    names = [block.name for _, block in groups]
    coords = {"block_groups": names}
    return [NamedParameter("group_sd", sd, ("block_groups",), TEXT, GROUP_SD, coords=coords)]


def half_t_rows(
    core: object, rows: Sequence[PriorRow], scales: Scales, design: Design
) -> list[PriorRow]:
    """Rows of the prior table, those of scales with their half-t priors in the data's units."""
    if not isinstance(core, HalfTMixture):
        return list(rows)
    blocks = {b.name: b for b in design.term_blocks[MEAN] if b.kind in ("group", "smooth")}
    units = dict(zip(blocks, core.unit, strict=True))
    found = []
    for row in rows:
        if row.part == "scale" and row.term in blocks:
            column = blocks[row.term].columns[0]
            unit = units[row.term] * scales.response.scale[0] / scales.parts[MEAN].scale[column]
            words = f"half-Student t({HALF_T_DOF:g}) of the sd in units of the response"
            row = replace(row, prior=words, centre=0.0, scale=float(unit))
        elif row.prior.endswith(", learned scale"):
            row = replace(row, prior="Normal, learned scale", scale=np.nan)
        found.append(row)
    return found
