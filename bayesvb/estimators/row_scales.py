"""Scales and blocks of the rows of each kind of model: the one place that derives them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, cast

import numpy as np
from jaxtyping import Bool, Float

from bayesvb.data.blocks import Block
from bayesvb.data.column_moments import ColumnMoments
from bayesvb.data.group_rows import GATE_GROUPS, GROUP_ROWS
from bayesvb.data.parts import GATING, MEAN, PARTS, SIGMA_OFFSET, ZERO
from bayesvb.data.response_columns import INTERVAL, RESPONSE_COLUMNS, TRIALS
from bayesvb.data.scaling import Scaling
from bayesvb.data.sources import InMemorySource
from bayesvb.data.standardised_blocks import Scales, gapped_block, variables_block
from bayesvb.data.streamed_rows import EncodedRows
from bayesvb.errors import DataError
from bayesvb.experts.regression import AnyExperts
from bayesvb.formula.design import Design
from bayesvb.formula.parser import RESPONSE
from bayesvb.formula.passes.design_rows import (
    INFINITE,
    TARGET,
    AbstractDesignRows,
    distinct_parts,
)

VARIABLES = "variables"


class GappedScaling(NamedTuple):
    """Scaling of variables, which of them vary, and whether values are missing."""

    scaling: Scaling
    varying: Bool[np.ndarray, " dims"]
    gapped: bool


def regression_scales(
    experts: Callable[[Design], AnyExperts], active: bool, rows: AbstractDesignRows
) -> Scales:
    """Scales of a mixture of regressions: of the response as the experts derive it.

    Parameters
    ----------
    experts : callable
        Makes the experts of a design.
    active : bool
        Whether columns and response are standardised.
    rows : AbstractDesignRows

    Raises
    ------
    DataError
        If the family cannot have these responses.
    """
    family = experts(rows.design)
    _check_values(rows, family)
    parts = _parts(rows, active=active, together=True)
    for name in {GROUP_ROWS, GATE_GROUPS} & parts.keys():
        parts[name] = parts[name].with_numbers_kept(0)
    centred = parts[MEAN].intercept is not None
    scaling = family.response_scaling(rows.responses, centred=centred, active=active)
    for name in RESPONSE_COLUMNS.keys() & rows.design.matrices.keys():
        parts[name] = RESPONSE_COLUMNS[name].scaling(scaling)
    levelled = [name for name in parts if name in PARTS and PARTS[name].has_level]
    known = {name: rows.design.offset_columns(name) for name in levelled}
    return Scales(parts, scaling, rows.moments[TARGET].weight, family.reads_offset, known)


def _check_values(rows: AbstractDesignRows, family: AnyExperts) -> None:
    """Refuse responses that a family cannot have, in whichever row."""
    described, names = family.response, rows.design.response_names
    has_offset = rows.design.offset is not None and not family.reads_offset
    ends = rows.ends(RESPONSE)
    described.check(ends, names, has_offset=has_offset)
    if ZERO in rows.design.formula.parts and rows.is_whole:
        _check_zeros(names[0], float(ends.min()), counts=described.is_discrete)
    if INTERVAL in rows.design.matrices:
        if rows.is_whole:
            _check_intervals(rows.moments[INTERVAL].highest)
        if described.kind == "positive":
            _check_right_censored(rows)
    if described.kind == "successes" and TRIALS not in rows.design.matrices:
        _check_one_trial(names[0], float(ends.max()))
    if described.kind == "levels" and rows.is_whole:
        _check_levels(names[0], len(described.order))
    if described.is_discrete:
        for values, _ in rows.read_responses(as_given=True):
            described.check(values, names)


def _check_zeros(name: str, least: float, *, counts: bool) -> None:
    """Raise for a response without a zero, whose probability would be estimated as 0."""
    if least > 0.0:
        truncated = (
            "; if rows with 0 were not recorded, the counts are truncated, which no family models"
        )
        raise DataError(
            f"{ZERO}(...) describes zeros, and the response `{name}` is never 0",
            hint=f"omit {ZERO}(...){truncated if counts else ''}",
        )


def _check_intervals(farthest: Float[np.ndarray, " 2"]) -> None:
    """Raise if no row says how far the response goes up, or down."""
    for end, side in zip(farthest, ("left", "right"), strict=True):
        if end == INFINITE:
            raise DataError(
                f"all rows are {side} censored: the likelihood has no maximum",
                hint="is the status the other way round? cens(y, status) takes 1 or true for right "
                "censored, Surv(time, event) takes 1 or true for observed",
            )


def _check_right_censored(rows: AbstractDesignRows) -> None:
    """Raise for intervals with two ends and for left-censored rows of a positive response."""
    lowest, highest = rows.ends(INTERVAL)
    if lowest[0] or highest[0] or highest[1] > 0.0:
        raise DataError(
            "some rows are left or interval censored, but this family takes right censoring only",
            hint="choose family='gaussian' with the logarithm: cens(log(y), status)",
        )


def _check_levels(name: str, n_levels: int) -> None:
    """Raise for two levels, which are not an ordered response."""
    if n_levels < 3:
        raise DataError(
            f"`{name}` has {n_levels} levels, and an ordinal regression needs three or more",
            hint="with two levels write 0 and 1, and choose family='bernoulli'",
        )


def _check_one_trial(name: str, most: float) -> None:
    """Raise for several successes in a row that does not say among how many trials."""
    if most > 1.0:
        raise DataError(
            f"the response `{name}` holds {most:g}, but must be 0 or 1 without a number of trials",
            hint=f"write {name} | trials(n) ~ ..., or cbind({name}, failures) ~ ...; for counts "
            "without an upper limit choose family='poisson'",
        )


def network_scales(active: bool, rows: AbstractDesignRows) -> Scales:
    """Scales of a network; class codes stay unchanged.

    A numeric response is always centred: the output layer has an intercept of its own.
    """
    moved = active and rows.design.levels is None
    response = Scaling.of_response(rows.responses, centred=True, active=moved)
    return Scales(_parts(rows, active=active, together=False), response)


def _parts(rows: AbstractDesignRows, *, active: bool, together: bool) -> dict[str, Scaling]:
    """Scales of the columns of every part; sets of them have one unit if they are ``together``."""
    design = rows.design
    units, bases = design.together if together else {}, design.orthogonal
    return {
        part: Scaling.of_moments(
            rows.moments[first],
            design.terms[part],
            active=active,
            together=units.get(part, ()),
            orthogonal=bases.get(part, ()),
        )
        for part, first in distinct_parts(design.covariate_matrices).items()
    }


def variables_scaling(active: bool, rows: AbstractDesignRows) -> Scaling:
    """Scaling of variables that all have values.

    Raises
    ------
    DataError
        If none of them varies.
    """
    moments = rows.moments[VARIABLES]
    if (moments.lowest == moments.highest).all():
        raise DataError("all variables of the formula are constant: every row has the same values")
    return Scaling.of_columns(moments, active=active)


def gapped_scaling(common: bool, active: bool, rows: AbstractDesignRows) -> GappedScaling:
    """Scaling of variables from the values that are there.

    Parameters
    ----------
    common : bool
        One scale for all variables instead of one each.
    active : bool
        Whether they are standardised.
    rows : AbstractDesignRows
    """
    moments = rows.moments
    each: list[ColumnMoments] = (
        moments[VARIABLES].columns()
        if VARIABLES in moments
        else [moments[name] for name in rows.design.terms[VARIABLES]]
    )
    scaling = Scaling.of_gapped_moments(each, common=common, active=active)
    varying = np.array([one.lowest[0] < one.highest[0] for one in each])
    return GappedScaling(scaling, varying, rows.has_gaps or not varying.all())


def sample_scaling(active: bool, rows: AbstractDesignRows) -> Scaling:
    """Scaling of a response without covariates."""
    return Scaling.of_columns(rows.moments[RESPONSE], active=active)


def regression_block(scales: Scales, rows: EncodedRows) -> Block:
    """Rows in these scales; parts with a level of its own have no column of it, nor of offsets."""
    block = scales.block(rows.matrices, rows.response, rows.weight, rows.offset)
    designs = {}
    for name, columns in block.designs.items():
        if name in PARTS and PARTS[name].has_level:
            scaling, known = scales.parts[name], list(scales.known[name])
            designs[name] = np.delete(columns, [cast(int, scaling.intercept), *known], axis=0)
            if known:
                designs[SIGMA_OFFSET] = scaling.scale[None, known] @ columns[known]
    return replace(block, designs={**block.designs, **designs})


def read_by(n_components: int, source: InMemorySource) -> InMemorySource:
    """Rows in memory, without the columns of weights if there is a single component.

    Rows that are read in blocks keep these columns: they cannot be made again for a model of more
    components.
    """
    if n_components > 1:
        return source
    unread = {name for name, part in PARTS.items() if part.of_weights}

    def read(block: Block) -> Block:
        return replace(block, designs={k: v for k, v in block.designs.items() if k not in unread})

    return source.each(read)


def network_block(scales: Scales, rows: EncodedRows) -> Block:
    """Rows in these scales, one array for parts with one text: products are made once."""
    block = scales.block(rows.matrices, rows.response, rows.weight)
    if rows.matrices[MEAN] is not rows.matrices[GATING]:
        return block
    return replace(block, designs=dict.fromkeys(block.designs, block.designs[MEAN]))


def complete_block(scaling: Scaling, rows: EncodedRows) -> Block:
    """Variables in this scaling."""
    return variables_block(scaling, rows.matrices[VARIABLES], rows.weight)


def block_with_gaps(scales: GappedScaling, rows: EncodedRows) -> Block:
    """Variables in this scaling, of which values may be missing."""
    matrix = without_constants(rows.matrices[VARIABLES], scales.varying)
    return gapped_block(scales.scaling, matrix, rows.weight, gapped=scales.gapped)


def without_constants(
    matrix: Float[np.ndarray, "rows dims"], varying: Bool[np.ndarray, " dims"]
) -> Float[np.ndarray, "rows dims"]:
    """Variables with those that never vary as if no row had observed them."""
    return matrix if varying.all() else np.where(varying, matrix, np.nan)


def sample_block(scaling: Scaling, rows: EncodedRows) -> Block:
    """A response alone, in this scaling."""
    assert rows.response is not None
    return Block({}, scaling.rows_last(rows.response), rows.weight)
