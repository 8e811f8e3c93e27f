"""Case weights: a row of weight w is w rows, in every model and in all that is said of a fit."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesvb as bvb
from bayesvb.comparison import ranked
from bayesvb.elpd import Elpd, compare, elpd_data, read_elpd
from bayesvb.engines.cavi import cavi
from bayesvb.engines.starts import sample_rows, seeds_start
from bayesvb.errors import DataError
from bayesvb.reports.baseline import leave_one_out
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


@pytest.mark.parametrize("criterion", ["loo", "waic", "corrected"])
def test_criteria_of_weighted_rows_are_those_of_repeated_rows(regimes, repeated, weight, criterion):
    fit = MODELS["density"](regimes, weights=weight).fit(seed=1, restarts=2, draws=200)
    same = replace(fit, model=MODELS["density"](repeated))  # the same draws, other rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        one, other = (
            read_elpd(
                each.waic() if criterion == "waic" else each.loo(corrected=criterion != "loo")
            )
            for each in (fit, same)
        )
    assert one.elpd == pytest.approx(other.elpd, rel=1e-8)
    assert one.se == pytest.approx(other.se, rel=1e-8)
    assert one.p == pytest.approx(other.p, rel=1e-8)
    assert_allclose(np.repeat(one.pointwise, weight), other.pointwise, rtol=1e-8)
    assert one.n_rows == (weight > 0).sum() and other.n_rows == weight.sum()
    if criterion != "waic":
        assert np.isnan(one.pareto_k[weight == 0]).all()
        assert_allclose(np.repeat(one.pareto_k, weight), other.pareto_k, rtol=1e-6, atol=1e-6)
    assert fit.khat == pytest.approx(same.khat, rel=1e-6)


def test_comparisons_of_weighted_rows_are_those_of_repeated_rows(rng):
    weight = rng.integers(0, 4, 60)
    found, expected = ({}, {})
    for name, level in (("a", 0.0), ("b", 0.1), ("c", 1.0)):
        pointwise = rng.normal(size=60) - level
        found[name] = Elpd("loo", pointwise, 1.0, 100, False, weights=weight.astype(float))
        expected[name] = Elpd("loo", np.repeat(pointwise, weight), 1.0, 100, False)
    tables = [
        compare({name: elpd_data(one) for name, one in elpds.items()})
        for elpds in (found, expected)
    ]
    assert_allclose(tables[0]["weight"], tables[1]["weight"], atol=2e-3)
    weightless = [table.drop(columns="weight") for table in tables]
    pd.testing.assert_frame_equal(*weightless, rtol=1e-8)
    numbered = [dict(enumerate(elpds.values(), start=1)) for elpds in (found, expected)]
    pd.testing.assert_frame_equal(*map(ranked, numbered), rtol=1e-8)
    with pytest.raises(DataError, match="'a' and 'b' have different weights"):
        compare({"a": elpd_data(found["a"]), "b": elpd_data(replace(found["b"], weights=None))})


def test_the_baseline_of_weighted_rows_is_that_of_repeated_rows(regimes, weight):
    x, y = np.column_stack([np.ones(150), regimes[["x", "z"]]]), regimes["y"].to_numpy()
    found = leave_one_out(x, y, weight.astype(float))
    expected = leave_one_out(np.repeat(x, weight, axis=0), np.repeat(y, weight))
    assert_allclose(np.repeat(found, weight), expected, rtol=1e-8)
