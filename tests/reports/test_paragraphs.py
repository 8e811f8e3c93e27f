"""Methods and results as prose."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.estimators.priors import SCALES
from bayesvb.reports.prior_clauses import DIFFERENCES, SCALE, prior_sentence


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    x = rng.normal(size=90)
    frame = pd.DataFrame({"x": x, "y": 2.0 * x + rng.normal(size=90)})
    return frame.assign(g=np.where(frame["y"] > 0, "up", "down"))


def test_both_paragraphs_say_what_was_done_and_found(data):
    priors = bvb.Priors(scale_rate=0.01, scales="learned")
    holes = data.assign(x=data["x"].mask(data.index < 2))
    model = bvb.DensityRegression("y ~ x", holes, n_components=1, priors=priors)
    fit = model.fit(seed=7, restarts=1, draws=300)
    methods, results = fit.report_text().split("\n\n")
    assert (
        "the formula y ~ x was fitted to 88 rows (2 omitted for missing values of `x` in 2) by"
        in methods
    )
    assert "(seed 7)" in methods and "1/s² ~ Gamma(0.5, 0.01)" in methods
    assert f"Intervals: exact ({fit.sampler.words})." in methods
    assert "central 89% intervals" in methods
    assert "linear-response covariance" in fit.with_covariance("linear-response").report_text()
    assert "the mean of y rises by" in results
    loo = fit.loo()
    total = loo.elpd_loo if hasattr(loo, "elpd_loo") else loo.elpd
    assert f"density was −{abs(total):.1f} nats (SE " in results
    assert results.endswith(" checks that count towards the verdict passed.")


def test_what_did_not_pass_is_named():
    x = np.linspace(0.0, 1.0, 90)
    frame = pd.DataFrame(
        {"x": x, "y": np.sin(9.0 * x) + 0.1 * np.random.default_rng(1).normal(size=90)}
    )
    fit = bvb.DensityRegression("y ~ x", frame, n_components=1).fit(seed=1, restarts=1, draws=50)
    results = fit.report_text().split("\n\n")[1]
    assert "count towards the verdict passed; problems: " in results and "Mean by x" in results


@pytest.mark.parametrize("scales", SCALES)
@pytest.mark.parametrize("n_components", [1, 2])
@pytest.mark.quick(n_components=(2,), scales=("between",))
def test_the_actual_priors_are_stated(data, scales, n_components):
    priors = bvb.Priors(scales=scales, coefficient_sd=7.0, noise_rate=0.03)
    model = bvb.DensityRegression("y ~ x", data, n_components=n_components, priors=priors)
    fit = model.fit(seed=1, restarts=1, draws=50)
    text = prior_sentence(fit)
    noise = "σ" if n_components == 1 else "σ_k"
    independent = n_components == 1 and scales != "learned"
    assert (
        "N(0, 7²)" if independent else f"N(0, (7{noise})²)"
    ) in text and "1/σ² ~ Gamma(0.5, 0.03)" in text
    assert "weakly informative" not in fit.report_text()
    learned = bool({SCALE, DIFFERENCES} & set(fit.named_draws.parts.values()))
    assert ("learned" in text.partition("the noise")[0]) == learned
    assert (scales == "fixed") <= (not learned)
    assert ("gate intercepts N(0, 5²)" in text) == (n_components == 2)


def test_a_family_is_named_with_the_prior_of_its_own_parameter(data):
    counts = data.assign(n=np.arange(len(data)) % 7)
    model = bvb.DensityRegression("n ~ x", counts, n_components=1, family="negbinomial")
    text = model.fit(seed=1, restarts=1, draws=50, covariance="mean-field").report_text()
    assert text.startswith("Negative binomial regression: the formula n ~ x was fitted")
    assert "; dispersion log-normal, sd of the log 2, median " in text


def test_terms_that_the_formula_penalises_are_named_with_their_scales(data):
    fit = bvb.DensityRegression("y ~ s(x, k=4) + (1 | g)", data, n_components=1)
    text = prior_sentence(fit.fit(seed=1, restarts=1, draws=50))
    assert "(1 | g)" in text and "other coefficients N(0, 10²)" in text
    product = bvb.DensityRegression("y ~ x * g", data, n_components=1)
    assert "orthogonal" in prior_sentence(product.fit(seed=1, restarts=1, draws=50))


@pytest.mark.parametrize(("model", "formula", "words", "prior"), [
    (bvb.ConditionalMixtureNetwork, "g ~ x", "the probability of g = ", "N(0, 10 / τ_k)"),
    (bvb.GaussianMixture, "~ x + y", "2 clusters hold ", "mixing weights Dirichlet(0.5)"),
    (bvb.BayesianPCA, "~ x + y", "of the variance", "α ~ Gamma(0.01, 0.001)"),
    (bvb.Normal, "y ~ 1", "The mean of y is ", "mean N(0, σ² / 0.01)"),
], ids=["network", "mixture", "pca", "normal"])  # fmt: skip
def test_every_model_has_its_sentence_and_its_priors(data, model, formula, words, prior):
    options = {} if model in (bvb.Normal, bvb.BayesianPCA) else {"n_components": 2}
    if model is bvb.ConditionalMixtureNetwork:
        options = {"n_experts": 2}
    fit = model(formula, data, **options).fit(seed=1, restarts=2, draws=50)
    methods, results = fit.report_text().split("\n\n")
    assert "with 2 random initialisations by" in methods or model in (bvb.Normal, bvb.BayesianPCA)
    assert words in results.split(". ")[0] + "." and prior in methods


def test_estimates_without_a_prior_have_none(data):
    model = bvb.DensityRegression("y ~ x", data, n_components=1)
    fit = model.fit(method="em", prior=False, seed=1, restarts=1)
    assert prior_sentence(fit) == "The estimates maximise the likelihood: no prior enters."


@pytest.mark.parametrize("n_components", [1, 2])
def test_one_component_has_no_gate_in_words(data, n_components):
    model = bvb.DensityRegression("y ~ x", data, n_components=n_components)
    text = model.fit(seed=1, restarts=1, draws=50).report_text()
    assert ("experts and of the gate" in text) == (n_components == 2)
