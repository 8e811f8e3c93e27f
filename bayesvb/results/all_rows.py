"""Fits to rows that are not all in memory: results that a sample of the rows supports."""

from __future__ import annotations

import re
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np
import pandas as pd

from bayesvb.data.partly_kept import holds_all_rows
from bayesvb.data.sources import AbstractSource
from bayesvb.data.standardised_blocks import OBSERVED
from bayesvb.errors import DataError
from bayesvb.formula.design import Design
from bayesvb.numerics.arrays import Floats


@runtime_checkable
class HasRows(Protocol):
    """A model, as far as its rows go."""

    @property
    def design(self) -> Design:
        """Design of the rows in memory."""


def is_sample(model: HasRows) -> bool:
    """Whether the rows in memory are a sample of those that are fitted."""
    return model.design.is_sample


def has_all_rows(model: HasRows) -> bool:
    """Whether all rows that are fitted are in memory: no sample, none of sites or of an update."""
    return not is_sample(model) and holds_all_rows(fitted_rows(model))


def check_all_rows(model: HasRows, what: str, why: str) -> None:
    """Raise if a result needs all rows and only a sample of them is in memory.

    Raises
    ------
    DataError
        With the name of the result, and the reason why all rows are needed.
    """
    if not has_all_rows(model):
        raise DataError(
            f"{what} needs all rows in memory: {why}",
            hint="fit all rows together, as a table in memory",
        )


def fitted_rows(model: Any) -> AbstractSource:
    """The rows that a model is fitted to, in memory or not."""
    rows: AbstractSource = model.all_rows or model.source
    return rows


def rows_to_keep(model: HasRows) -> pd.DataFrame:
    """Rows by which a model can be made again: those in memory, and such as show levels and ends.

    The latter where the former are a sample, and behind them.
    """
    known = model.design.all_rows
    if known is None or not is_sample(model) or not len(known.shown):
        return model.design.given
    return pd.concat([model.design.given, known.shown])


def sample_state(model: HasRows) -> dict[str, Floats]:
    """Record of all rows where those in memory are a sample: counts and state of the formula.

    The counts are rows, excluded rows, the weight of all rows, rows of the sample, and the number
    of passes over all rows. A mark records whether any of them lacks a value.
    """
    known = model.design.all_rows
    if known is None or not is_sample(model):
        return {}
    from bayesvb.formula.passes.streamed_design import learned_of

    counts = [
        known.n_rows, known.n_missing, known.total_weight, model.design.n_rows, known.count.times,
    ]  # fmt: skip
    kept: AbstractSource = cast(Any, model).source
    gapped = OBSERVED in kept.empty().designs
    return {
        "sample.counts": np.array(counts, dtype=float),
        "sample.learned": learned_of(model.design),
        **({"sample.gapped": np.ones(1)} if gapped else {}),
    }


def rows_text(model: HasRows) -> str:
    """Number of fitted rows, and their source if they are not in memory."""
    known = model.design.all_rows
    if known is None:
        return _counted(model.design.n_rows)
    if re.fullmatch(r"one site|[0-9]+ sites", known.words):
        all_of_them = f"{_counted(known.n_rows)} of {known.words}"
        return f"{all_of_them}; results by row are for the {_counted(model.design.n_rows)} here"
    rows = f"{_counted(known.n_rows)} of {known.words}, read {known.count.times} times"
    if not is_sample(model):
        return rows
    return f"{rows}; results by row are for {_counted(model.design.n_rows)} chosen at random"


def _counted(n_rows: int) -> str:
    """Number of rows as text."""
    return f"{n_rows:,} rows"
