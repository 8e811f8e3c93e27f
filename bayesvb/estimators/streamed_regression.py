"""Regressions on rows that are not all in memory: their scales, from moments and medians."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from bayesvb.data.blocks import Block
from bayesvb.data.column_moments import ROUNDING
from bayesvb.data.parts import GATING, MEAN
from bayesvb.data.scaling import NORMAL_MAD, Scaling
from bayesvb.data.standardised_blocks import Scales
from bayesvb.data.streamed_rows import EncodedRows
from bayesvb.errors import DataError
from bayesvb.estimators.streaming import StreamedKind
from bayesvb.experts.regression import AbstractRegressionExperts
from bayesvb.formula.design import Design
from bayesvb.formula.parser import RESPONSE
from bayesvb.formula.passes.streamed_design import TARGET, StreamedDesign
from bayesvb.numerics.order_statistics import quantiles

Experts = AbstractRegressionExperts[Any, Any]


def streamed_regression(
    experts: Callable[[Design], Experts], *, active: bool
) -> StreamedKind[Scales]:
    """A mixture of regressions on rows that are read in blocks.

    Parameters
    ----------
    experts : callable
        Makes the experts of a design.
    active : bool
        Whether columns and response are standardised.
    """
    return StreamedKind(partial(_regression_scales, experts, active), standardised)


def streamed_network(*, active: bool) -> StreamedKind[Scales]:
    """A network on rows that are read in blocks; classes stay the codes that they are.

    Parameters
    ----------
    active : bool
        Whether columns, and responses that are numbers, are standardised.
    """
    return StreamedKind(partial(_network_scales, active), _of_network, response="any")


def standardised(scales: Scales, rows: EncodedRows) -> Block:
    """A block of rows in the units of the model."""
    return scales.block(rows.matrices, rows.response, rows.weight, rows.offset)


def _of_network(scales: Scales, rows: EncodedRows) -> Block:
    """A block with one array for parts with one text: what is made of it is made once."""
    block = standardised(scales, rows)
    if rows.matrices[MEAN] is not rows.matrices[GATING]:
        return block
    return replace(block, designs=dict.fromkeys(block.designs, block.designs[MEAN]))


def _parts(streamed: StreamedDesign, *, active: bool, together: bool) -> dict[str, Scaling]:
    """Scales of the columns of every part; sets of them have one unit if they are ``together``."""
    design = streamed.design
    units, bases = design.together if together else {}, design.orthogonal
    return {
        part: Scaling.of_moments(
            streamed.moments[first],
            design.terms[part],
            active=active,
            together=units.get(part, ()),
            orthogonal=bases[part],
        )
        for part, first in design.parts_alike.items()
    }


def _network_scales(active: bool, streamed: StreamedDesign) -> Scales:
    """Scales of all rows; a response of numbers is centred, as the output has an intercept."""
    moved = active and streamed.design.levels is None
    response = Scaling.of_response_moments(streamed.moments[RESPONSE], centred=True, active=moved)
    return Scales(_parts(streamed, active=active, together=False), response)


def _regression_scales(
    experts: Callable[[Design], Experts], active: bool, streamed: StreamedDesign
) -> Scales:
    """Scales of all rows."""
    parts = _parts(streamed, active=active, together=True)
    centred = parts[MEAN].intercept is not None
    scaling = Scaling.of_response_moments(streamed.moments[TARGET], centred=centred, active=active)
    if experts(streamed.design).scaled_by_medians and active:
        scaling = _by_medians(streamed, scaling, centred=centred)
    return Scales(parts, scaling, float(streamed.moments[TARGET].weight))


def _by_medians(streamed: StreamedDesign, scaling: Scaling, *, centred: bool) -> Scaling:
    """Scaling by exact medians of all rows; see ``Scaling.of_response_by_medians``."""
    if streamed.rows.choice.weights is not None:
        raise DataError(
            "family='student' with weights needs all rows in memory: the scale of its response is "
            "a weighted median",
            hint="leave weights out, or read the table first: data=pandas.read_parquet(path)",
        )
    centre, scale = np.zeros_like(scaling.centre), scaling.scale.copy()
    for column in range(len(scale)):

        def values(column: int = column) -> Any:
            if streamed.responses is not None:
                yield streamed.responses[column]
                return
            for rows in streamed.encoded():
                assert rows.response is not None
                own = rows.response[:, column]
                yield own if rows.offset is None else own - rows.offset

        def away(middle: float, column: int = column) -> Any:
            return (np.abs(one - middle) for one in values(column))

        told = streamed.responses
        n_rows = streamed.rows.n_rows[1] if told is None else told.shape[1]
        middle = float(quantiles(values, n_rows, [0.5])[0]) if centred else 0.0
        deviation = float(quantiles(partial(away, middle), n_rows, [0.5])[0])
        centre[column] = middle
        if deviation > ROUNDING * abs(middle):
            scale[column] = NORMAL_MAD * deviation
    return replace(scaling, centre=centre, scale=scale)
