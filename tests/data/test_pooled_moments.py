"""Moments of parts of the rows are together those of all rows."""

import numpy as np
import pytest

from bayesvb.data.pooled_moments import ColumnMoments
from bayesvb.data.scaling import Scaling

RNG = np.random.default_rng(1)
MATRIX = np.column_stack([np.ones(60), RNG.normal(1e6, 1.0, 60), np.full(60, 3.0)])
NAMES = ("Intercept", "x", "flat")


@pytest.mark.parametrize("weight", [None, RNG.integers(0, 4, 60).astype(float)])
@pytest.mark.parametrize("centred", [True, False])
def test_pooled_scales_are_those_of_all_rows(weight, centred):
    cuts = (slice(0, 7), slice(7, 30), slice(30, 60))
    parts = [ColumnMoments.of(MATRIX[s], None if weight is None else weight[s]) for s in cuts]
    whole = ColumnMoments.pooled(parts)
    names = NAMES if centred else ("one", *NAMES[1:])
    centre, scale = whole.scaling(centred=centred, intercept=0 if centred else None)
    expected = Scaling.of(MATRIX, names, weight=weight)
    np.testing.assert_allclose(centre, expected.centre, rtol=1e-12)
    np.testing.assert_allclose(scale, expected.scale, rtol=1e-9)
