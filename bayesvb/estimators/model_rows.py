"""Rows of a model: of a table, of one that is read in blocks, or of a site, on one path.

The formula converts all of them into an ``AbstractDesignRows``; later code does not depend on where
the rows are. Scales, checks and blocks belong to the kind of model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar

from bayesvb.data.blocks import Block
from bayesvb.data.case_weights import CaseWeights, check_meaning, scaled, weights_and_frame
from bayesvb.data.frame_kinds import frames_of
from bayesvb.data.frame_streams import AbstractFrames
from bayesvb.data.grouping import Grouping
from bayesvb.data.sources import AbstractSource, InMemorySource
from bayesvb.data.streamed_rows import EncodedRows, in_memory_source
from bayesvb.errors import DataError
from bayesvb.estimators.groups import grouped, source_of_groups, without_groups
from bayesvb.formula.checks import warn_of_unweighted
from bayesvb.formula.design import Design, build_design
from bayesvb.formula.parser import Formula
from bayesvb.formula.passes.design_rows import (
    AbstractDesignReader,
    AbstractDesignRows,
    RowsInMemory,
)
from bayesvb.formula.responses import ResponseKind

ScalesT = TypeVar("ScalesT")

IMPUTE = "impute"
"""Policy by which missing values of covariates are imputed."""

MISSING = ("drop", "raise", IMPUTE)
"""Policies for rows that lack a value."""


@dataclass(frozen=True)
class RowOptions:
    """Arguments of a model that select its rows and their weights."""

    weights: object
    weight_type: str
    missing: str
    context: Mapping[str, object] | None
    group: str | None = None


@dataclass(frozen=True)
class ModelRows(Generic[ScalesT]):
    """Rows of a model.

    Attributes
    ----------
    design : Design
        Of the rows in memory: all of them, or a sample.
    weights : CaseWeights
        Of these rows.
    scales : Scales or Scaling
        Of all rows.
    source : AbstractSource
        The rows in memory; the weights of a sample sum to the weight of all rows.
    all_rows : AbstractSource or None
        All rows; None where they are in memory.
    grouping : Grouping or None
        Groups of rows that share one component.
    """

    design: Design
    weights: CaseWeights
    scales: ScalesT
    source: AbstractSource
    all_rows: AbstractSource | None = None
    grouping: Grouping | None = None

    @property
    def fitted(self) -> AbstractSource:
        """All rows."""
        return self.all_rows or self.source


@dataclass(frozen=True)
class RowKind(Generic[ScalesT]):
    """State that a kind of model derives from its rows.

    Attributes
    ----------
    scales : callable
        Derives the scales from all rows.
    block : callable
        Makes a block of some rows in these scales.
    response : {"numeric", "any", "none"} or Ordered
        Kind of the model's response.
    warn : bool
        Whether constant and collinear columns are worth a warning to it.
    eliminates_groups : bool
        Whether it takes effects of groups without columns.
    prepared : callable, optional
        Returns the design without columns that the model does not use.
    kept : callable, optional
        Part of the rows that is stored if all are in memory.
    """

    scales: Callable[[AbstractDesignRows], ScalesT]
    block: Callable[[ScalesT, EncodedRows], Block]
    response: ResponseKind = "numeric"
    warn: bool = True
    eliminates_groups: bool = False
    prepared: Callable[[Design], Design] = lambda design: design
    kept: Callable[[InMemorySource], InMemorySource] = lambda source: source


def model_rows(
    formula: Formula, data: object, options: RowOptions, kind: RowKind[ScalesT]
) -> ModelRows[ScalesT]:
    """Rows of a model, wherever they are.

    Parameters
    ----------
    formula : Formula
    data : table
    options : RowOptions
    kind : RowKind

    Raises
    ------
    DataError
        If the data cannot be used, or an option needs all rows in memory.
    """
    check_meaning(options.weight_type, options.weights)
    frames, grouping = frames_of(data), None
    rows: AbstractDesignRows
    if frames is not None:
        rows = _elsewhere(formula, frames, options, kind)
        weights = CaseWeights(rows.design.weights, "frequency")
    else:
        rows, weights, grouping = _of_table(formula, data, options, kind)
    rows.check()
    scales = kind.scales(rows)
    block = partial(kind.block, scales)
    source, everything = in_memory_source(block, rows.in_memory), rows.source(block)
    if everything is None:
        source = kind.kept(source)
    units = source_of_groups(source, rows.design, grouping)
    return ModelRows(rows.design, weights, scales, units, everything, grouping)


def _of_table(
    formula: Formula, data: object, options: RowOptions, kind: RowKind[ScalesT]
) -> tuple[RowsInMemory, CaseWeights, Grouping | None]:
    """Complete rows of a table, their case weights and their groups."""
    table, labels = without_groups(options.group, formula, data)
    given, frame = weights_and_frame(options.weights, table)
    design = build_design(
        formula,
        frame,
        response=kind.response,
        context=options.context,
        missing=options.missing,
        warn=kind.warn,
        eliminates_groups=kind.eliminates_groups,
    )
    kept = None if given is None else given[design.complete]
    design = kind.prepared(replace(design, weights=kept))
    if kept is not None:
        warn_of_unweighted(design.frame, design.column_levels, kept)
    sampling = options.weight_type == "sampling"
    weights = CaseWeights(scaled(kept) if sampling else kept, options.weight_type)
    design, weights, grouping = grouped(labels, design, weights)
    return RowsInMemory(design, weights.values), weights, grouping


def _elsewhere(
    formula: Formula, frames: AbstractFrames, options: RowOptions, kind: RowKind[ScalesT]
) -> AbstractDesignRows:
    """Complete rows that are read in blocks, or rows of a site."""
    asked: dict[str, Any] = {
        "response": kind.response,
        "context": options.context,
        "missing": options.missing,
        "weights": _weight_column(options),
    }
    rows: AbstractDesignRows
    if isinstance(frames, AbstractDesignReader):
        rows = frames.design_rows(formula, **asked)
    else:
        from bayesvb.formula.passes.streamed_design import rows_in_blocks

        rows = rows_in_blocks(formula, frames, warn=kind.warn, **asked)
    return replace(rows, design=kind.prepared(rows.design))


def _weight_column(options: RowOptions) -> str | None:
    """The column of case weights.

    Raises
    ------
    DataError
        If weights are not a column, or an option needs all rows together.
    """
    if options.group is not None:
        raise DataError(
            f"group={options.group!r} needs all rows in memory: rows of a group may be in any "
            "block",
            hint="read the table first: data=pandas.read_parquet(path)",
        )
    if options.weight_type != "frequency":
        raise DataError(
            f"weight_type={options.weight_type!r} needs all rows in memory: its covariance needs "
            "the influence of each row",
            hint="read the table first: data=pandas.read_parquet(path)",
        )
    if options.weights is None or isinstance(options.weights, str):
        return options.weights
    raise DataError(
        "weights= is a list of numbers, but must name a column where rows are read in blocks",
        hint="name their column: weights='w'",
    )
