"""Derivatives that the softmax gates share."""

import numpy as np
from numpy.testing import assert_allclose

from bayesvb.gates.softmax_base import NormaliserDerivatives


def test_the_anchor_is_the_second_derivative_of_half_the_squared_mean_of_the_logits(rng):
    values = rng.normal(size=(2, 4, 5))
    squares = rng.normal(size=(4, 4, 4, 5))
    plain = NormaliserDerivatives(*values, *squares)
    direction = rng.normal(size=4)
    added = plain.anchored().share_by_logit - plain.share_by_logit
    assert_allclose(np.einsum("i,ijn,j->n", direction, added, direction), direction.mean() ** 2)
