"""Quadratic forms and sums of two designs, against sums over rows one at a time."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayesvb.data.blocks import Block
from bayesvb.models.network.shared_products import PairedProducts
from bayesvb.numerics.linalg import unpack


@pytest.fixture(params=["one design", "two designs", "kept products"])
def block(request, rng):
    x, z = rng.normal(size=(3, 11)), rng.normal(size=(4, 11))
    gating = z if request.param == "two designs" else x
    found = Block({"mean": x, "gating": gating}, x[:1])
    return found.with_products() if request.param == "kept products" else found


def test_forms_are_those_of_every_row(block, rng):
    matrices = [
        (root := rng.normal(size=(size, len(x), len(x)))) @ root.swapaxes(1, 2)
        for size, x in zip((2, 5), block.designs.values(), strict=False)
    ]
    found = PairedProducts.of(block, "mean", "gating").forms(*matrices)
    for name, matrix, form in zip(("mean", "gating"), matrices, found, strict=True):
        x = block.designs[name]
        assert_allclose(form, np.einsum("in,kij,jn->kn", x, matrix, x), rtol=1e-12)


def test_sums_are_over_all_rows(block, rng):
    weights = rng.normal(size=(2, 11)), rng.normal(size=(5, 11))
    found = PairedProducts.of(block, "mean", "gating").sums(*weights)
    for name, weight, total in zip(("mean", "gating"), weights, found, strict=True):
        x = block.designs[name]
        assert_allclose(unpack(total), np.einsum("kn,in,jn->kij", weight, x, x), atol=1e-12)
