"""Products with second derivatives of rows: by a matrix, and by the derivatives of each row."""

from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesvb as bvb
from bayesvb.sensitivity.curvature import Curving


@pytest.mark.parametrize(("family", "n_components"), [("gamma", 1), ("gamma", 2), ("gaussian", 2)])
def test_products_by_a_matrix_and_by_rows_agree(family, n_components, monkeypatch):
    rng = np.random.default_rng(2)
    data = pd.DataFrame({"x": rng.normal(size=40), "y": rng.gamma(2.0, size=40)})
    options = {"family": family, "n_components": n_components}
    model = bvb.DensityRegression("y ~ x", data, **options)
    core, source = model.core, model.source
    share = rng.dirichlet(np.ones(n_components), size=40).T
    stats = core.first_stats(core.partition_stats(source.whole(), share))
    changes = rng.normal(size=(3, stats.to_vector().size))
    curving = Curving(core, source, core.update(stats))
    by_matrix = curving.times(changes)
    monkeypatch.setattr(import_module("bayesvb.sensitivity.curvature"), "FEW_ENTRIES", 0)
    by_rows = Curving(core, source, curving.posterior).times(changes)
    assert_allclose(by_matrix, by_rows, rtol=1e-8, atol=1e-10 * np.abs(by_rows).max())
    assert np.abs(by_rows).max() > 1.0


@pytest.mark.parametrize(
    ("formula", "family", "n_components"),
    [
        ("y ~ x + (1 | g)", "gaussian", 2),
        ("y ~ x + (1 | g)", "poisson", 1),
        ("y ~ x | zero((1 | g))", "poisson", 2),
    ],
)
def test_products_that_no_row_has_are_omitted(formula, family, n_components, monkeypatch):
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"g": np.repeat(np.arange(20), 4), "x": rng.normal(size=80)})
    noise = 0.1 * rng.normal(size=80) if family == "gaussian" else 0.0
    data["y"] = rng.poisson(2.0, size=80) + noise

    def curving():
        model = bvb.DensityRegression(formula, data, n_components=n_components, family=family)
        share = np.random.default_rng(5).dirichlet(np.ones(n_components), size=80).T
        stats = model.core.first_stats(model.core.partition_stats(model.source.whole(), share))
        return Curving(model.core, model.source, model.core.update(stats))

    few = curving()
    features = sum(len(part.features) for part in few._first.scalars)
    assert features < few._first.n_entries / 2
    monkeypatch.setattr(import_module("bayesvb.numerics.linalg"), "MANY_TERMS", 10**9)
    every = curving()
    assert sum(len(part.features) for part in every._first.scalars) > 1.5 * features
    changes = rng.normal(size=(3, few._first.n_entries))
    assert_allclose(few.times(changes), every.times(changes), rtol=1e-9, atol=1e-9)
