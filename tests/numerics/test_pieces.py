"""Positions of a few items at a time."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bayesvb.numerics.pieces import pieces


@given(n=st.integers(0, 50), size=st.integers(0, 9), most=st.integers(1, 40))
def test_pieces_hold_every_item_once_and_few_numbers(n, size, most):
    items = np.arange(n)
    parts = [items[part] for part in pieces(n, size, most)]
    assert np.concatenate([items[:0], *parts]).tolist() == items.tolist()
    assert all(len(part) == 1 or 0 < len(part) * size <= most or not size for part in parts)
    assert len(parts) <= 1 or len(parts[0]) == max(most // max(size, 1), 1)
