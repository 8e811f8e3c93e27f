"""Targets of effects: labels, columns, and values of other software."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import bayesvb as bvb
from bayesvb import effects
from bayesvb.distributions.response import CONTINUOUS, Response
from bayesvb.effects.estimands import estimand


@pytest.mark.parametrize(
    ("target", "options", "words", "column"),
    [
        ("mean", {}, "mean of y", None),
        ("sd", {}, "standard deviation of y", None),
        ("quantile", {"q": [0.1, 0.9]}, "quantile of y at q = 0.1, 0.9", "q"),
        ("probability", {"above": 2.0}, "P(y > 2)", None),
        ("probability", {"below": [2.0]}, "P(y < 2)", "below"),
        ("density", {"at": 0.25}, "density of y at 0.25", None),
        ("weights", {}, "weights of the components", "component"),
    ],
)
def test_a_quantity_is_said_in_words_and_told_apart_by_a_column(target, options, words, column):
    found = estimand(target, options, CONTINUOUS)
    assert found.words("y") == words
    assert found.entries(2)[0] == column


def test_of_classes_it_is_the_probability_of_each_level():
    found = estimand(None, {}, Response(kind="classes", levels=("a", "b", "c")))
    assert found.words("kind") == "probability of each level of kind"
    assert found.entries(2) == ("level", ("a", "b", "c"))


def test_units_are_told_of_what_is_in_them():
    def label(name):
        return f"{name} (g)"

    assert estimand("mean", {}, CONTINUOUS).words("y", label) == "mean of y (g)"
    assert estimand("probability", {"above": 3.0}, CONTINUOUS).words("y", label) == "P(y > 3)"


REFERENCES = {
    "count": {
        "slope": ([0.69318], [0.05366]),
        "difference": ([0.74504, -0.16157, -0.90661], [0.13267, 0.11428, 0.12946]),
        "average": ([1.38, 2.13, 1.225], [0.08307, 0.1032, 0.07826]),
        "simultaneous": ([0.44521, 0.0365, -0.4087], [0.21391, 0.22720, 0.20348]),
    },
    "hit": {
        "slope": ([0.09445], [0.01548]),
        "difference": ([0.08416, -0.0112, -0.09536], [0.04697, 0.04842, 0.04803]),
        "average": ([0.55, 0.635, 0.54], [0.03351, 0.03293, 0.03496]),
        "simultaneous": ([0.36892, -0.06357, -0.43248], [0.50227, 0.48497, 0.49169]),
    },
}
"""Estimates and standard errors: avg_slopes, avg_comparisons, and avg_predictions of Python's
marginaleffects 0.6.0; half widths of pairs(adjust="mvt") on the link scale of emmeans 1.8.4."""


@pytest.mark.heavy
@pytest.mark.parametrize(("response", "family"), [("count", "poisson"), ("hit", "bernoulli")])
def test_effects_with_wide_priors_are_those_of_marginaleffects_and_emmeans(response, family):
    n = np.arange(600)
    x, u = np.linspace(-2.0, 2.0, 600), (0.618033988749895 * (n + 1)) % 1.0
    eta = 0.2 + 0.5 * x + 0.4 * (n % 3 == 1) - 0.3 * x * (n % 3 == 2)
    y = {"count": np.floor(2.0 * np.exp(eta) * u + 0.5), "hit": (u < expit(eta)) * 1.0}[response]
    data = pd.DataFrame({"x": x, "g": np.array(list("abc"))[n % 3], response: y})
    priors = bvb.Priors(coefficient_sd=100.0)
    model = bvb.DensityRegression(
        f"{response} ~ x * g", data, n_components=1, family=family, priors=priors
    )
    fit = model.fit(seed=1, draws=4000)
    simultaneous = effects.predictions(fit, "g", target="link", prob=0.95).pairs().summary
    half = (simultaneous["upper"] - simultaneous["lower"]) / 2.0
    found = {
        "slope": effects.slopes(fit, "x", by=True).summary,
        "difference": effects.comparisons(fit, {"g": ["a", "b", "c"]}, by=True).summary,
        "average": effects.predictions(fit, by="g").summary,
        "simultaneous": simultaneous.assign(sd=half),
    }
    for name, (estimate, se) in REFERENCES[response].items():
        np.testing.assert_allclose(found[name]["estimate"], estimate, atol=0.06 * min(se))
        np.testing.assert_allclose(found[name]["sd"], se, rtol=0.06)  # 4,000 draws
