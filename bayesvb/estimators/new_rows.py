"""Rows that come later, in the units of a fit: of a table, or of one that is read in blocks."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesvb.data.blocks import Block
from bayesvb.data.case_weights import weights_and_frame
from bayesvb.data.frame_kinds import frames_of
from bayesvb.data.frame_streams import AbstractFrames
from bayesvb.data.sources import AbstractSource, InMemorySource
from bayesvb.data.streamed_rows import EncodedRows
from bayesvb.errors import DataError
from bayesvb.formula.design import Rows

if TYPE_CHECKING:
    import pandas as pd


def new_rows(model: Any, data: object, weights: object) -> AbstractSource:
    """Complete new rows in the units of a model.

    Parameters
    ----------
    model : AbstractEstimator
    data : table
        In memory, or one that is read in blocks.
    weights : str or sequence of float or None
        Case weights; a column's name where rows are read in blocks.

    Raises
    ------
    DataError
        If no row is complete, or the rows of the model have case weights and these have none.
    """
    if weights is None and model.weights is not None:
        raise DataError(
            "weights=None, and the rows of the fit have case weights",
            hint="name their column, or give ones",
        )
    frames = frames_of(data)
    if frames is not None:
        return _read_in_blocks(model, frames, weights)
    own, frame = weights_and_frame(weights, data, missing="drop")
    rows = model.rows(frame, response=model.formula.response is not None)
    if not rows.complete.any():
        raise _none_complete()
    block = model.block(rows)
    if own is not None:
        block = replace(block, weight=own[rows.complete])
    return InMemorySource.of(block)


def _none_complete() -> DataError:
    """What is said of rows all of which lack a value."""
    return DataError("data have no row with all values that the formula reads")


def _read_in_blocks(model: Any, frames: AbstractFrames, weights: object) -> AbstractSource:
    """Rows that are read whenever they are gone over; a first pass counts them."""
    if weights is not None and not isinstance(weights, str):
        raise DataError(
            "weights are numbers, and rows that are not all in memory have none beside them",
            hint="name their column: weights='w'",
        )
    names = list(map(str, model.design.frame.columns))
    read = [*names, *([] if weights is None or weights in names else [weights])]
    encode = partial(_encoded, model, weights)
    n_rows, total = 0, 0.0
    for count, weight in frames.map(partial(_counted, encode), read):
        n_rows, total = n_rows + count, total + weight
    if not n_rows:
        raise _none_complete()
    return frames.source(encode, read, partial(_block, model), (n_rows, total))


def _encoded(model: Any, weights: str | None, number: int, frame: pd.DataFrame) -> EncodedRows:
    """Matrices of the complete rows of a frame."""
    own, rest = weights_and_frame(weights, frame, missing="drop")
    given = model.rows(rest, response=model.formula.response is not None)
    response = None
    if given.response is not None:
        response = np.asarray(given.response, dtype=float)
        response = response[:, None] if response.ndim == 1 else response
    weight = None if own is None else own[given.complete]
    return EncodedRows(given.matrices, response, weight, given.offset)


def _counted(encode: Any, number: int, frame: pd.DataFrame) -> tuple[int, float]:
    """Complete rows of a frame, and the sum of their weights."""
    rows = encode(number, frame)
    return len(rows), float(len(rows) if rows.weight is None else rows.weight.sum())


def _block(model: Any, rows: EncodedRows) -> Block:
    """Rows in the units of the model."""
    import pandas as pd

    index, complete = pd.RangeIndex(len(rows)), np.ones(len(rows), dtype=bool)
    block: Block = model.block(Rows(index, complete, rows.matrices, rows.response, rows.offset))
    return replace(block, weight=rows.weight)
