"""Case weights: a row of weight w is w rows, in every model and in all that is said of a fit."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesvb as bvb
from bayesvb.engines.cavi import cavi
from bayesvb.engines.starts import sample_rows, seeds_start
from bayesvb.scaling import Scaling, moments

MODELS = {
    "density": lambda data, **options: bvb.DensityRegression(
        "y ~ x + z | gating(x)", data, n_components=2, **options
    ),
    "gaussians": lambda data, **options: bvb.GaussianMixture(
        "~ y + x", data, n_components=2, **options
    ),
    "normal": lambda data, **options: bvb.Normal("y ~ 1", data, **options),
    "pca": lambda data, **options: bvb.BayesianPCA("~ y + x + z", data, **options),
}


@pytest.fixture(scope="module")
def weight(regimes):
    """Whole numbers, zeros among them; the rows that count most have the largest responses."""
    return np.argsort(np.argsort(regimes["y"])).to_numpy() // 4 % 4


@pytest.fixture(scope="module")
def repeated(regimes, weight):
    return regimes.loc[regimes.index.repeat(weight)].reset_index(drop=True)


def test_weighted_moments_are_those_of_repeated_rows(rng):
    matrix = rng.normal(size=(40, 3)) * [1.0, 1e-3, 1e150] + [3.0, 0.0, 0.0]
    weight = np.arange(40.0) % 3
    matrix[weight == 0.0] *= 7.0
    for centred in (True, False):
        found = moments(matrix, weight, centred=centred)
        expected = moments(np.repeat(matrix, weight.astype(int), axis=0), centred=centred)
        assert_allclose(found, expected, rtol=1e-12)
        assert_allclose(moments(matrix, 2.5 * weight, centred=centred), expected, rtol=1e-12)


@pytest.mark.parametrize("common", [True, False])
def test_weighted_scales_of_gapped_columns_are_those_of_repeated_rows(rng, common):
    matrix = rng.normal(size=(40, 3)) * [1.0, 2.0, 0.0]
    matrix[rng.uniform(size=matrix.shape) < 0.2] = np.nan
    weight = np.arange(40.0) % 3
    matrix[0, 2] = 5.0  # varies only where nothing counts
    found = Scaling.of_gapped(matrix, common=common, weight=weight)
    expected = Scaling.of_gapped(np.repeat(matrix, weight.astype(int), axis=0), common=common)
    assert_allclose(found.centre, expected.centre, atol=1e-12)
    assert_allclose(found.scale, expected.scale, rtol=1e-12)


def test_a_column_that_no_row_of_weight_has_keeps_the_scale_one():
    matrix = np.array([[1.0, np.nan], [2.0, np.nan], [3.0, 8.0]])
    found = Scaling.of_gapped(matrix, common=False, weight=np.array([1.0, 1.0, 0.0]))
    assert found.scale[1] == 1.0


def ascent(model, start):
    core = model.core
    begin = model.source.map_reduce(lambda block: core.begin(block, start.responsibilities(block)))
    return cavi(core, model.source, core.start(begin), max_iter=20)


@pytest.mark.parametrize("name", MODELS)
def test_from_the_same_start_the_ascent_is_that_of_repeated_rows(name, regimes, repeated, weight):
    weighted, whole = MODELS[name](regimes, weights=weight), MODELS[name](repeated)
    assert weighted.log_unit == pytest.approx(whole.log_unit, rel=1e-12)
    sample = sample_rows(weighted.source, 100, np.random.default_rng(1))
    start = seeds_start(sample, weighted.core.n_components, np.random.default_rng(1))
    runs = [ascent(model, start) for model in (weighted, whole)]
    assert_allclose(runs[0].trace, runs[1].trace, rtol=1e-9)
    one, other = (run.sums.to_vector() for run in runs)
    assert_allclose(one, other, rtol=1e-8, atol=1e-8 * np.abs(other).max())


@pytest.mark.parametrize("name", MODELS)
def test_fits_are_those_of_repeated_rows(name, regimes, repeated, weight):
    options = {"seed": 1, "restarts": 3, "draws": 25, "tol": 1e-12, "covariance": "mean-field"}
    one = MODELS[name](regimes, weights=weight).fit(**options)
    two = MODELS[name](repeated).fit(**options)
    assert one.elbo == pytest.approx(two.elbo, rel=1e-8)
    pd.testing.assert_frame_equal(one.model.prior_table(), two.model.prior_table(), rtol=1e-8)
    assert_allclose(one.log_density(regimes), two.log_density(regimes), rtol=1e-5)
