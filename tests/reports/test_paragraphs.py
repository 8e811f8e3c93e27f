"""Methods and results as prose."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    x = rng.normal(size=90)
    frame = pd.DataFrame({"x": x, "y": 2.0 * x + rng.normal(size=90)})
    return frame.assign(g=np.where(frame["y"] > 0, "up", "down"))


def test_both_paragraphs_say_what_was_done_and_found(data):
    priors = bvb.Priors(scale_rate=0.01)
    holes = data.assign(x=data["x"].mask(data.index < 2))
    model = bvb.DensityRegression("y ~ x", holes, n_components=1, priors=priors)
    methods, results = model.fit(seed=7, restarts=1, draws=300).report_text().split("\n\n")
    assert "the formula y ~ x was fitted to 88 rows (2 left out" in methods
    assert "(seed 7)" in methods and "but for scale_rate=0.01." in methods
    assert "linear-response covariance" in methods and "central 89\u202f% intervals" in methods
    assert "the median of y rises from" in results
    loo = model.fit(seed=7, restarts=1, draws=300).loo()
    assert f"{abs(loo.elpd_loo if hasattr(loo, 'elpd_loo') else loo.elpd):.1f} in all" in results
    assert results.endswith(".") and "checks of the fit were in order" in results


@pytest.mark.parametrize(("model", "formula", "words"), [
    (bvb.ConditionalMixtureNetwork, "g ~ x", "the probability of g = "),
    (bvb.GaussianMixture, "~ x + y", "components "),
    (bvb.BayesianPCA, "~ x + y", "of the variance"),
    (bvb.Normal, "y ~ 1", "y has mean "),
], ids=["network", "mixture", "pca", "normal"])  # fmt: skip
def test_every_model_has_its_sentence(data, model, formula, words):
    options = {} if model in (bvb.Normal, bvb.BayesianPCA) else {"n_components": 2}
    if model is bvb.ConditionalMixtureNetwork:
        options = {"n_experts": 2}
    fit = model(formula, data, **options).fit(seed=1, restarts=2, draws=50)
    methods, results = fit.report_text().split("\n\n")
    assert words in results.split(". ")[0] + "." and "Priors were the weakly" in methods
