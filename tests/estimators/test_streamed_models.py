"""Other models on rows that are read in blocks: the fits of the same rows in memory."""

import functools
import itertools

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesvb as bvb
from bayesvb.errors import DataError, DesignWarning
from bayesvb.evaluation.elpd import read_elpd
from bayesvb.formula.passes import representatives

QUICK = {"seed": 1, "restarts": 1, "draws": 50, "max_iter": 25}
SAMPLE = 200

pytestmark = pytest.mark.filterwarnings("ignore::bayesvb.errors.ConvergenceWarning")

Network = functools.partial(bvb.ConditionalMixtureNetwork, n_experts=2)
Diagonal = functools.partial(bvb.GaussianMixture, covariance="diagonal", n_components=2)

MODELS = {
    "mixture": (bvb.GaussianMixture, "~ y + x", {"n_components": 2, "weights": "w"}),
    "diagonal": (Diagonal, "~ y + np.exp(x)", {}),
    "normal": (bvb.Normal, "y ~ 1", {"weights": "w"}),
    "components": (bvb.BayesianPCA, "~ y + x + z", {"weights": "w"}),
    "complete components": (bvb.BayesianPCA, "~ y + x + z", {"missing": "drop", "scale": True}),
    "network": (Network, "y ~ x", {}),
    "network of classes": (Network, "h ~ x + g", {}),
    "network of codes": (Network, "C(k) ~ x | gating(g)", {"weights": "w"}),
}
QUICKER = {"mixture", "normal"}


def rows(n_rows=500, seed=0):
    """Two lines with levels, weights, classes and codes; values are missing."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=n_rows), rng.random(n_rows)
    upper = rng.random(n_rows) < 1.0 / (1.0 + np.exp(-x))
    y = np.where(upper, 1.0 + x, -1.0 - z) + 0.4 * rng.normal(size=n_rows)
    frame = pd.DataFrame({"y": y, "x": x, "z": z, "w": rng.integers(1, 4, n_rows)})
    frame["g"] = rng.choice(["a", "b", "c"], n_rows, p=[0.49, 0.5, 0.01])
    frame.loc[rng.integers(0, n_rows, 5), "x"] = np.nan
    frame["h"] = np.where(frame["y"] > 0.0, "high", "low")
    frame["k"] = (frame["y"] > 0.0).astype(int) + (frame["z"] > 0.5)
    frame.loc[::7, "z"] = np.nan
    return frame


def pieces(frame):
    """Three tables."""
    cuts = np.linspace(0, len(frame), 4).astype(int)
    return [frame.iloc[a:b] for a, b in itertools.pairwise(cuts)]


@functools.cache
def fits(name):
    """A fit whose rows are read in blocks, and that of the same rows in memory."""
    kind, formula, options = MODELS[name]
    frame = rows()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(representatives, "SAMPLE_ROWS", SAMPLE)
        model = kind(formula, lambda: pieces(frame), **options)
    return model.fit(**QUICK), kind(formula, frame, **options).fit(**QUICK)


@pytest.mark.parametrize(
    "name", [pytest.param(k, marks=[] if k in QUICKER else [pytest.mark.heavy]) for k in MODELS]
)
def test_it_is_the_fit_of_the_rows_in_memory(name):
    found, expected = fits(name)
    assert found.model.design.n_rows == SAMPLE < expected.model.design.n_rows
    assert found.model.design.n_missing == expected.model.design.n_missing
    assert found.model.all_rows.total_weight == expected.model.source.total_weight
    assert_allclose(found.elbo, expected.elbo, rtol=1e-12)
    for mine, theirs in zip(found.parts, expected.parts, strict=True):
        leaves = dict(mine.fit.stats.leaves())
        for key, leaf in theirs.fit.stats.leaves():
            assert_allclose(leaves[key], leaf, rtol=1e-10, atol=1e-10, err_msg=key)
    new = rows(50).dropna()
    assert_allclose(found.log_density(new), expected.log_density(new), rtol=1e-8)


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore:Pareto k", "ignore:.* of 200 rows change the fit")
@pytest.mark.parametrize("name", ["mixture", "normal", "components"])
def test_rows_left_out_of_the_sample_are_left_out_of_the_fit_to_all_rows(name):
    found, expected = fits(name)
    each = pd.Series(read_elpd(expected.loo()).pointwise, expected.model.design.index)
    mine = read_elpd(found.loo()).pointwise
    assert_allclose(mine, each.loc[found.model.design.index], atol=0.05)


@pytest.mark.heavy
@pytest.mark.parametrize("name", ["mixture", "components", "network"])
def test_the_page_is_of_the_sample(name, tmp_path):
    page = fits(name)[0].report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "a random sample of" in page


def test_weights_are_summed_over_all_rows():
    found, expected = fits("normal")
    total = f"total weight {expected.model.source.total_weight:g}"
    assert total in str(found) and total in str(expected)


def test_a_block_without_any_value_of_a_variable():
    frame = rows(600)
    frame.loc[:250, "z"] = np.nan
    model = bvb.BayesianPCA("~ y + x + z", lambda: pieces(frame))
    expected = bvb.BayesianPCA("~ y + x + z", frame)
    assert_allclose(model.scaling.scale, expected.scaling.scale, rtol=1e-12)
    assert_array_equal(model.source.whole().designs["observed"][2].sum(), frame["z"].count())


HOSTILE = {
    "nothing to mix": (
        bvb.GaussianMixture,
        "~ one",
        "all variables of the formula are constant",
    ),
    "one class": (Network, "word ~ x", "one class only"),
    "classes": (bvb.DensityRegression, "h ~ x", "holds classes"),
    "numbers": (bvb.GaussianMixture, "~ h", "holds text"),
    "no value": (bvb.BayesianPCA, "~ gone + lost", "no row has a value"),
    "one variable": (bvb.BayesianPCA, "~ x", "one variable only"),
    "several": (bvb.Normal, "y + x ~ 1", "one sample has one response"),
    "class per row": (Network, "id ~ x", "every row has its own"),
}


@pytest.mark.filterwarnings("ignore::bayesvb.errors.DesignWarning")
@pytest.mark.parametrize("what", HOSTILE)
def test_what_cannot_be_fitted_says_so(what):
    kind, formula, why = HOSTILE[what]
    frame = rows(300).assign(one=1.0, word="a", gone=np.nan, lost=np.nan)
    frame["id"] = [f"row {number}" for number in range(300)]
    with pytest.raises(bvb.errors.BayesVBError, match=why):
        kind(formula, lambda: pieces(frame))


def test_constant_variables_are_told():
    frame = rows(300).assign(one=1.0)
    with pytest.warns(DesignWarning, match="constant variables"):
        bvb.BayesianPCA("~ y + x + one", lambda: pieces(frame))


@pytest.mark.parametrize("kind", [bvb.GaussianMixture, bvb.BayesianPCA])
def test_sampling_weights_need_all_rows(kind):
    with pytest.raises(DataError, match="weight_type='sampling' needs all"):
        kind("~ y + x", pieces(rows(300)), weights="w", weight_type="sampling")


def test_a_model_of_few_rows_keeps_them():
    frame = rows(300)
    found = bvb.GaussianMixture("~ y + x", pieces(frame), n_components=2).fit(**QUICK)
    expected = bvb.GaussianMixture("~ y + x", frame, n_components=2).fit(**QUICK)
    assert found.model.all_rows is None
    assert_array_equal(found.stats.to_vector(), expected.stats.to_vector())
