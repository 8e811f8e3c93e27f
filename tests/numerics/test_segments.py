"""Sums over segments, by either library of arrays."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayesvb.numerics.segments import segment_sums

STARTS = np.array([0, 2, 3, 7])


def test_sums_are_those_of_slices():
    values = np.random.default_rng(1).normal(size=(2, 3, 9))
    ends = [2, 3, 7, 9]
    expected = [values[..., a:b].sum(axis=-1) for a, b in zip(STARTS, ends, strict=True)]
    assert_allclose(segment_sums(values, STARTS), np.stack(expected, axis=-1), rtol=1e-12)


def test_no_segments_have_no_sums():
    assert segment_sums(np.zeros((4, 0)), np.zeros(0, dtype=int)).shape == (4, 0)


@pytest.mark.mcmc
def test_jax_gives_the_same(x64):
    import jax

    values = np.random.default_rng(1).normal(size=(2, 3, 9))
    found = jax.jit(lambda x: segment_sums(x, STARTS))(values)
    assert_allclose(found, segment_sums(values, STARTS), rtol=1e-12)
