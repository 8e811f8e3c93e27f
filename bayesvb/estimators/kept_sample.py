"""A model of rows that are no longer in memory: from a sample, and a record of all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bayesvb.data.frame_streams import ReadCount
from bayesvb.data.partly_kept import PartlyKept
from bayesvb.data.sources import InMemorySource
from bayesvb.data.standardised_blocks import OBSERVED
from bayesvb.errors import DataError
from bayesvb.formula.design import AllRows, Design
from bayesvb.formula.passes.streamed_design import of_kept_rows
from bayesvb.models.pca.starts import PrincipalAxes
from bayesvb.numerics.arrays import Floats
from bayesvb.results.base import with_fields

Arrays = Mapping[str, Floats]


def restored(model: Any, scales: Arrays, state: Arrays, words: str) -> Any:
    """The model of a sample of rows, in the units of all of them.

    Parameters
    ----------
    model : AbstractEstimator
        Of the rows that were kept: the sample first, then those that show levels and ends.
    scales : mapping of str to ndarray, shape (2, columns)
        Centres and scales of the columns of each part.
    state : mapping of str to ndarray
        ``counts``, ``learned`` and perhaps ``gapped``; see ``sample_state``.
    words : str
        Source of the rows, in words.

    Raises
    ------
    DataError
        If the arrays do not go with the rows.
    """
    n_rows, n_missing, total, n_sample, times = _counts(state, model.design.n_rows)
    shown, missing = model.design.given.iloc[n_sample:], model.design.missing
    known = AllRows(n_rows, n_missing, words, ReadCount(times), total, shown, missing)
    design = of_kept_rows(model.design, state["learned"], known, n_sample)
    weights = None if model.weights is None else model.weights[:n_sample]
    design = replace(design, weights=weights)
    if hasattr(model, "scales"):
        units = {"scales": replace(model.scales.with_numbers(scales), rows=total)}
    else:
        units = {"scaling": model.scaling.with_numbers(scales["variables"])}
    weighted = with_fields(model, design=design, weights=weights, **units)
    source = _standing(weighted, design, total, gapped="gapped" in state)
    axes = {"axes": PrincipalAxes.of(source)} if hasattr(model, "axes") else {}
    whole = with_fields(weighted, source=source, all_rows=PartlyKept(source, n_rows, total), **axes)
    return whole.in_given_scales(scales) if "axes" in scales else whole


def _counts(state: Arrays, n_kept: int) -> tuple[int, int, float, int, int]:
    """The counts, refused if they cannot be."""
    counts = state["counts"].tolist()
    # Counts that describe a sample.
    if len(counts) != 5 or not all(number >= 0.0 for number in counts):
        raise DataError(f"counts are {counts}")
    n_rows, n_missing, total, n_sample, times = counts
    if not 0 < n_sample <= n_kept or n_rows < n_sample or not 0.0 < total < np.inf:
        raise DataError(f"counts are {counts} for {n_kept} rows")
    return int(n_rows), int(n_missing), float(total), int(n_sample), int(times)


def _standing(model: Any, design: Design, total: float, *, gapped: bool) -> InMemorySource:
    """The sample as rows that stand for all, of which some may lack values that these have."""
    everything = np.arange(design.n_rows)
    rows = design.rows_at(everything, response=design.response is not None)
    weights = np.ones(design.n_rows) if model.weights is None else model.weights
    block = replace(model.block(rows), weight=weights * (total / weights.sum()))
    if gapped and OBSERVED not in block.designs:
        seen = {OBSERVED: np.ones_like(block.designs["variables"])}
        block = replace(block, designs={**block.designs, **seen})
    return InMemorySource.of(block)
