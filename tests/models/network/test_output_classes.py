"""The output layer for classes: its first update from guessed latent vectors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayesvb.data.blocks import Block
from bayesvb.factors import Normal
from bayesvb.models.network.output_classes import ClassOutput
from bayesvb.numerics.linalg import pack


@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_first_update_is_a_newton_step_of_logistic_regression_from_zero(n_classes, rng):
    """At zero logits the quadratic bound has the curvature of the likelihood itself."""
    n_rows, n_latents = 60, 2
    latents = np.vstack([rng.normal(size=(n_latents, n_rows)), np.ones(n_rows)])
    codes = rng.integers(0, n_classes, n_rows)
    precision = 0.7 * np.eye(n_latents + 1)
    prior = Normal.from_precision(
        np.zeros((n_classes - 1, n_latents + 1)), np.tile(precision, (n_classes - 1, 1, 1))
    )
    output = ClassOutput(prior)
    moments = pack(np.einsum("in,jn->nij", latents, latents)).T[:, None]
    shares = rng.dirichlet(np.ones(3), n_rows).T  # of components; they sum to one
    block = Block({}, codes[None].astype(float))
    found = output.update(output.partition_stats(block, moments, shares))
    for stick in range(n_classes - 1):
        reached = latents[:, codes >= stick]
        slope = reached @ ((codes[codes >= stick] == stick) - 0.5)
        curvature = 0.25 * reached @ reached.T + precision
        assert_allclose(found.mean[stick], np.linalg.solve(curvature, slope), rtol=1e-10)
        assert_allclose(found.covariance[stick], np.linalg.inv(curvature), rtol=1e-10)
