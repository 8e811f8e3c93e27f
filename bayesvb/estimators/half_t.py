"""Half-t priors of the standard deviations of groups and of smooth curves, for one component."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from bayesvb.data.group_rows import GROUP_ROWS
from bayesvb.data.parts import MEAN
from bayesvb.data.standardised_blocks import Scales, without_offset
from bayesvb.errors import FormulaError
from bayesvb.estimators.priors import Priors
from bayesvb.factors.half_t import HALF_T_DOF
from bayesvb.factors.uniform_correlation import UniformCorrelation
from bayesvb.formula.design import Design
from bayesvb.models.half_t_mixture import HalfTMixture, can_integrate, with_half_t_scales
from bayesvb.models.mixture import Mixture
from bayesvb.numerics.arrays import BlockVector
from bayesvb.results.group_covariance import (
    GROUP_SD,
    block_scales,
    integrated_covariances,
    joint_terms,
    penalised_blocks,
)
from bayesvb.variational.descriptions import NamedParameter, ParameterText, PriorRow
from bayesvb.variational.local import Draws

GROUP_CORRELATION = "correlation of groups"
"""Name in tables of the correlations of the effects of a group."""

GROUP_SD_HEADING = {
    GROUP_SD: f"{GROUP_SD} (of each effect, in units of the response)",
    GROUP_CORRELATION: f"{GROUP_CORRELATION} (of two effects of a group, covariates at zero)",
}

MOST_NUMBERS = 12
"""Standard deviations and correlations that are integrated over together, where some are
correlations: of twelve 2,048 values of ``HalfTScales`` are enough as a rule, sometimes 8,192."""

TEXT = ParameterText(
    symbol="s",
    meaning="standard deviation of an effect over groups, in units of the response per unit of "
    "its multiplier",
    heading="Standard deviations of groups, in units of the response",
    caption="Standard deviation of each effect over groups, in units of the response",
)


OF_CORRELATIONS = ParameterText(
    symbol="ρ",
    meaning="correlation over groups of two effects, where the covariates of slopes are zero",
    heading="Correlations of effects of groups",
    caption="Correlation over groups of two effects, where the covariates of slopes are zero",
)


def with_half_t(mixture: Mixture, priors: Priors, design: Design, scales: Scales) -> Mixture:
    """The mixture with half-t priors of scales of groups; itself if they cannot be integrated."""
    if priors.scales != "between" or not can_integrate(mixture):
        return mixture
    membership = mixture.of_experts.membership  # type: ignore[attr-defined]
    unit, blocks = half_t_units(membership, priors, design), penalised_blocks(design)
    joint = joint_terms(design)
    check_numbers(len(blocks), joint, design)
    correlated = tuple(
        tuple(i for i, block in enumerate(blocks) if block.joint == term) for term in joint
    )
    curves = tuple(i for i, block in enumerate(blocks) if block.kind != "group")
    return with_half_t_scales(mixture, unit, curves, correlated)


def check_numbers(n_scales: int, joint: Sequence[str], design: Design) -> None:
    """Raise for more standard deviations and correlations than can be integrated over.

    Raises
    ------
    FormulaError
    """
    terms = [term for term in design.group_terms(MEAN) if term.term in joint]
    n_numbers = n_scales + sum(len(UniformCorrelation(len(t.effects)).pairs) for t in terms)
    if joint and n_numbers > MOST_NUMBERS:
        raise FormulaError(
            design.formula.text,
            f"smooth terms and groups have {n_scales} standard deviations and "
            f"{n_numbers - n_scales} correlations, more than the {MOST_NUMBERS} that can be "
            "integrated over",
            design.formula.place(MEAN),
            f"write `{joint[0].replace('|', '||')}` for independent effects",
        )


def half_t_units(
    membership: Float[np.ndarray, "blocks terms"], priors: Priors, design: Design
) -> BlockVector:
    """Scales of half-t priors of blocks: of the response, per unit of the blocks' columns."""
    if priors.standardize:
        return np.ones(len(membership))
    response = without_offset(design.responses, design.offset)
    groups = design.matrices.get(GROUP_ROWS, np.empty((design.n_rows, 1)))[:, 1:]
    columns = np.concatenate([design.matrices[MEAN], groups], axis=1)
    return np.asarray(response.std() / np.sqrt(membership @ (columns**2).mean(axis=0)))


def group_sds(core: object, draws: Draws, design: Design, scales: Scales) -> list[NamedParameter]:
    """Standard deviations of effects over groups in the data's units, where scales have half-t.

    Of effects with a full covariance where the covariates of slopes are zero, with their
    correlations; of independent effects where the covariates have their means.
    """
    sds, names, correlations, pairs = [], [], [], []
    for one in integrated_covariances(core, draws, design, scales):
        term, place = one.term, np.zeros(one.n_covariates) if one.correlated else one.term.centres
        covariance = one.at(place)
        sd = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
        sds.append(sd)
        names += [block.name for block in term.term_blocks]
        if one.correlated:
            for i, j in UniformCorrelation(sd.shape[1]).pairs:
                correlations.append(covariance[:, i, j] / (sd[:, i] * sd[:, j]))
                pairs.append(f"({term.effects[j]}, {term.effects[i]} | {term.grouping})")
    result = []
    if names:
        dims, coords = ("block_groups",), {"block_groups": names}
        result.append(
            NamedParameter("group_sd", np.hstack(sds), dims, TEXT, GROUP_SD, coords=coords)
        )
    if pairs:
        dims, coords = ("pair_groups",), {"pair_groups": pairs}
        values = np.stack(correlations, axis=1)
        result.append(
            NamedParameter(
                "group_correlation", values, dims, OF_CORRELATIONS, GROUP_CORRELATION,
                signed=True, coords=coords,
            )
        )  # fmt: skip
    return result


def half_t_rows(
    core: object, rows: Sequence[PriorRow], scales: Scales, design: Design
) -> list[PriorRow]:
    """Rows of the prior table; scales of groups have half-t priors in the units of the data."""
    if not isinstance(core, HalfTMixture):
        return list(rows)
    known = zip(penalised_blocks(design), core.unit, strict=True)
    groups = {block.name: (block, unit) for block, unit in known if block.kind == "group"}
    table = []
    for row in rows:
        if row.part == "scale" and row.term in groups:
            block, unit = groups[row.term]
            (block_scale,) = block_scales([block], design, scales)
            unit = unit * scales.response.scale[0] / block_scale
            words = f"half-Student t({HALF_T_DOF:g}) of the sd in units of the response"
            row = replace(row, prior=words, centre=0.0, scale=float(unit))
        elif row.prior.endswith(", learned scale"):
            row = replace(row, prior="Normal, learned scale", scale=np.nan)
        table.append(row)
    return table
