"""Rows of which only some are kept: averages over these, and a refusal of all else."""

import numpy as np
import pytest

from bayesvb.data.blocks import Block
from bayesvb.data.partly_kept import PartlyKept, holds_all_rows
from bayesvb.data.sources import InMemorySource
from bayesvb.errors import DataError


def rows(n):
    return InMemorySource.of(Block({"mean": np.arange(float(n))[None]}, np.zeros((1, n))))


def test_all_rows_are_counted_and_some_are_there():
    source = PartlyKept(rows(20), 100, 150.0)
    assert (source.n_rows, source.total_weight) == (100, 150.0)
    assert source.thinned(10).n_rows == 10
    assert source.empty().n_rows == 0
    assert holds_all_rows(rows(3)) and not holds_all_rows(source)


def test_what_goes_over_every_row_is_refused():
    source = PartlyKept(rows(20), 100, 150.0)
    asked = (
        source.whole, source.weights, lambda: source.map_reduce(lambda block: block),
        lambda: source.map_rows(lambda block: block.response), lambda: source.take(np.arange(2)),
        lambda: source.without(np.arange(2)).whole(),
    )  # fmt: skip
    for ask in asked:
        with pytest.raises(DataError, match="of which only 20 are kept"):
            ask()
