"""Models of rows that are not all in memory: what is learned of all of them, a sample beside."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import BLOCK_ROWS, Block
from bayesvb.data.case_weights import CaseWeights
from bayesvb.data.frame_kinds import frames_of
from bayesvb.data.frame_streams import AbstractFrames
from bayesvb.data.site_frames import SiteFrames
from bayesvb.data.sources import AbstractSource, InMemorySource
from bayesvb.data.streamed_rows import EncodedRows, recut
from bayesvb.errors import DataError
from bayesvb.estimators.scale_checks import check_columns
from bayesvb.formula.design import Design
from bayesvb.formula.parser import RESPONSE, Formula
from bayesvb.formula.passes.site_design import site_design
from bayesvb.formula.passes.streamed_design import StreamedDesign, streamed_design
from bayesvb.formula.responses import ResponseKind

ScalesT = TypeVar("ScalesT")


@dataclass(frozen=True)
class RowOptions:
    """Arguments of a model that say which rows there are, and what they count."""

    weights: object
    weights_are: str
    missing: str
    context: Mapping[str, object] | None
    group: str | None = None


@dataclass(frozen=True)
class ModelRows(Generic[ScalesT]):
    """What a model knows of its rows.

    Attributes
    ----------
    design : Design
        Of the rows in memory: all of them, or a sample.
    weights : CaseWeights
        Of these rows.
    scales : Scales or Scaling
        Of all rows.
    source : InMemorySource
        The rows in memory; a sample stands for all rows by its weights.
    all_rows : AbstractSource or None
        What is fitted; None where all rows are in memory.
    """

    design: Design
    weights: CaseWeights
    scales: ScalesT
    source: InMemorySource
    all_rows: AbstractSource | None = None

    @property
    def fitted(self) -> AbstractSource:
        """All rows."""
        return self.all_rows or self.source


@dataclass(frozen=True)
class StreamedKind(Generic[ScalesT]):
    """What a kind of model makes of rows that are read in blocks.

    Attributes
    ----------
    scales : callable
        Finds the scales of a design.
    block : callable
        Makes a block of some rows in these scales.
    response : {"numeric", "any", "none"}
        What the model explains.
    warn : bool
        Whether constant and collinear columns are worth a warning to it.
    """

    scales: Callable[[StreamedDesign], ScalesT]
    block: Callable[[ScalesT, EncodedRows], Block]
    response: ResponseKind = "numeric"
    warn: bool = True


def model_rows(
    formula: Formula,
    data: object,
    rows: RowOptions,
    kind: StreamedKind[ScalesT],
    in_memory: Callable[[Formula, object, RowOptions], ModelRows[ScalesT]],
) -> ModelRows[ScalesT]:
    """Rows of a table: in memory, or read in blocks.

    Parameters
    ----------
    formula : Formula
    data : table
    rows : RowOptions
    kind : StreamedKind
        What is made of rows that are read in blocks.
    in_memory : callable
        Makes the rows of a table in memory.

    Raises
    ------
    DataError
        If the data cannot be used.
    """
    frames = frames_of(data)
    if frames is None:
        return in_memory(formula, data, rows)
    return streamed_model(formula, frames, kind, rows)


def streamed_model(
    formula: Formula, frames: AbstractFrames, kind: StreamedKind[ScalesT], rows: RowOptions
) -> ModelRows[ScalesT]:
    """A model of rows that are read in blocks.

    Parameters
    ----------
    formula : Formula
    frames : AbstractFrames
    kind : StreamedKind
    rows : RowOptions

    Raises
    ------
    DataError
        If the data cannot be used, or an option is not to be had with rows that are not all in
        memory.
    """
    asked: dict[str, Any] = {
        "response": kind.response,
        "context": rows.context,
        "missing": rows.missing,
        "weights": _weight_column(rows),
    }
    if isinstance(frames, SiteFrames):
        streamed = site_design(formula, frames, **asked)
    else:
        streamed = streamed_design(formula, frames, warn=kind.warn, **asked)
    _check_ends(streamed)
    scales = kind.scales(streamed)
    block = partial(kind.block, scales)
    source = InMemorySource(tuple(map(block, _sample(streamed))))
    given = CaseWeights(streamed.weight, "frequency")
    n_rows, design = streamed.rows.n_rows[1], replace(streamed.design, weights=streamed.weight)
    if not design.is_sample:
        return ModelRows(design, given, scales, source)
    counted = n_rows, streamed.rows.total_weight
    everything = frames.source(streamed.encoding, streamed.rows.choice.read, block, counted)
    return ModelRows(design, given, scales, source, everything)


def _check_ends(streamed: StreamedDesign) -> None:
    """Refuse columns whose numbers cannot be squared."""
    design, moments = streamed.design, streamed.moments
    named = {first: design.terms[first] for first in design.parts_alike.values()}
    if RESPONSE in moments and design.levels is None:
        named[RESPONSE] = design.response_names
    if not named.keys() <= moments.keys():  # where values are missing each column has its own
        named = {name: (name,) for name in moments}
    for key, names in named.items():
        check_columns(np.stack([moments[key].lowest, moments[key].highest]), names)


def _sample(streamed: StreamedDesign) -> Iterator[EncodedRows]:
    """Rows of the sample, in pieces as large as blocks."""
    design = streamed.design
    response = None
    if design.response is not None:
        response = np.asarray(design.response, dtype=float).reshape(design.n_rows, -1)
    rows = EncodedRows(design.matrices, response, _standing(streamed), design.offset)
    return recut(iter([rows]), BLOCK_ROWS)


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
