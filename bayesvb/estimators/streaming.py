"""Models of rows that are not all in memory: scales from moments, a sample beside a stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.data.case_weights import CaseWeights
from bayesvb.data.column_moments import ROUNDING
from bayesvb.data.frame_streams import AbstractFrames
from bayesvb.data.scaling import NORMAL_MAD, Scaling
from bayesvb.data.sources import AbstractSource, InMemorySource
from bayesvb.data.standardised_blocks import Scales, source_of
from bayesvb.data.streamed_rows import EncodedRows
from bayesvb.errors import DataError
from bayesvb.estimators.scale_checks import check_columns
from bayesvb.experts.regression import AbstractRegressionExperts
from bayesvb.formula.design import Design
from bayesvb.formula.parser import RESPONSE, Formula
from bayesvb.formula.passes.streamed_design import TARGET, StreamedDesign, streamed_design
from bayesvb.numerics.order_statistics import quantiles

Experts = AbstractRegressionExperts[Any, Any]


@dataclass(frozen=True)
class RowOptions:
    """Arguments of a model that say which rows there are, and what they count."""

    weights: object
    weights_are: str
    group: str | None
    missing: str
    context: Mapping[str, object] | None


@dataclass(frozen=True)
class StreamedRegression:
    """What a regression knows of rows that are not all in memory.

    Attributes
    ----------
    design : Design
        Of a sample.
    weights : CaseWeights
        Of the sample.
    scales : Scales
        Of all rows.
    source : InMemorySource
        The sample, which stands for all rows by its weights.
    all_rows : AbstractSource or None
        What is fitted; None where the sample is all rows.
    """

    design: Design
    weights: CaseWeights
    scales: Scales
    source: InMemorySource
    all_rows: AbstractSource | None


def streamed_regression(
    formula: Formula,
    frames: AbstractFrames,
    experts: Callable[[Design], Experts],
    rows: RowOptions,
    *,
    active: bool,
) -> StreamedRegression:
    """A regression on rows that are read in blocks.

    Parameters
    ----------
    formula : Formula
    frames : AbstractFrames
    experts : callable
        Makes the experts of a design.
    rows : RowOptions
    active : bool
        Whether columns and response are standardised.

    Raises
    ------
    DataError
        If the data cannot be used, or an option is not to be had with rows that are not all in
        memory.
    """
    streamed = streamed_design(
        formula,
        frames,
        context=rows.context,
        missing=rows.missing,
        weights=_weight_column(rows),
    )
    design = streamed.design
    for part, first in design.parts_alike.items():
        if part == first:
            ends = streamed.moments[part]
            check_columns(np.stack([ends.lowest, ends.highest]), design.terms[part])
    ends = streamed.moments[RESPONSE]
    check_columns(np.stack([ends.lowest, ends.highest]), design.response_names)
    scales = _scales(streamed, experts(design), active=active)
    response = np.asarray(design.response, dtype=float)
    source = source_of(scales, design.matrices, response, _standing(streamed), design.offset)
    given = CaseWeights(streamed.weight, "frequency")
    n_rows = streamed.rows.n_rows[1]
    if design.n_rows == n_rows:
        return StreamedRegression(design, given, scales, source, None)
    counted = n_rows, streamed.rows.total_weight
    everything = frames.source(
        streamed.encoding, streamed.rows.choice.read, partial(standardised, scales), counted
    )
    return StreamedRegression(design, given, scales, source, everything)


def standardised(scales: Scales, rows: EncodedRows) -> Block:
    """A block of rows in the units of the data."""
    return scales.block(rows.matrices, rows.response, rows.weight, rows.offset)


def _weight_column(rows: RowOptions) -> str | None:
    """The column of case weights.

    Raises
    ------
    DataError
        If weights are not a column, or an option needs all rows together.
    """
    if rows.group is not None:
        raise DataError(
            f"group={rows.group!r} needs all rows in memory: those of a group may be in any block",
            hint="read the table first: data=pandas.read_parquet(path)",
        )
    if rows.weights_are != "frequency":
        raise DataError(
            f"weights_are={rows.weights_are!r} needs all rows in memory: its covariance is "
            "made of what the fit loses without each of them",
            hint="read the table first: data=pandas.read_parquet(path)",
        )
    if rows.weights is None or isinstance(rows.weights, str):
        return rows.weights
    raise DataError(
        "weights are numbers, and rows that are not all in memory have none beside them",
        hint="name their column: weights='w'",
    )


def _standing(streamed: StreamedDesign) -> Float[np.ndarray, " sample"] | None:
    """Weights with which the sample stands for all rows."""
    own, total = streamed.weight, streamed.rows.total_weight
    if streamed.design.n_rows == streamed.rows.n_rows[1]:
        return own
    own = np.ones(streamed.design.n_rows) if own is None else own
    return np.asarray(own * (total / own.sum()))


def _scales(streamed: StreamedDesign, experts: Experts, *, active: bool) -> Scales:
    """Scales of all rows."""
    design = streamed.design
    parts = {
        part: Scaling.of_moments(
            streamed.moments[first],
            design.terms[part],
            active=active,
            together=design.together.get(part, ()),
        )
        for part, first in design.parts_alike.items()
    }
    centred = parts["mean"].intercept is not None
    scaling = Scaling.of_response_moments(streamed.moments[TARGET], centred=centred, active=active)
    if experts.scaled_by_medians and active:
        scaling = _by_medians(streamed, scaling, centred=centred)
    return Scales(parts, scaling)


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
            for rows in streamed.encoded():
                assert rows.response is not None
                own = rows.response[:, column]
                yield own if rows.offset is None else own - rows.offset

        def away(middle: float, column: int = column) -> Any:
            return (np.abs(one - middle) for one in values(column))

        n_rows = streamed.rows.n_rows[1]
        middle = float(quantiles(values, n_rows, [0.5])[0]) if centred else 0.0
        deviation = float(quantiles(partial(away, middle), n_rows, [0.5])[0])
        centre[column] = middle
        if deviation > ROUNDING * abs(middle):
            scale[column] = NORMAL_MAD * deviation
    return replace(scaling, centre=centre, scale=scale)
