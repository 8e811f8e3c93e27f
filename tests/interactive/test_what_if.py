"""The predictions of the page are those of the public verbs."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.interactive import what_if
from bayesvb.interactive.messages import WhatIf

RNG = np.random.default_rng(2)
ROWS = pd.DataFrame({"x": RNG.uniform(size=60)})
ROWS["y"] = 2.0 * ROWS["x"] + RNG.normal(size=60)
ROWS["wage"] = np.exp(ROWS["y"])
ROWS["count"] = RNG.poisson(3.0, size=60)
ROWS["event"] = RNG.integers(0, 2, size=60)
ROWS["class"] = RNG.choice(list("abc"), size=60)


def predicted(formula, model=bvb.DensityRegression, values=None, above="", **options):
    """A fit, and what the page says of its first response."""
    size = {} if model is not bvb.DensityRegression else {"n_components": 1}
    fit = model(formula, ROWS, **size, **options).fit(seed=1, draws=50, restarts=1)
    question = WhatIf(values={"x": "0.5"} if values is None else values, above=above)
    answer = what_if.predicted(fit, question)
    (prediction,) = answer.predictions
    return fit, answer, prediction, {one.name: one for one in prediction.quantities}


def test_a_number_has_mean_quantiles_and_probability_of_more_in_its_own_units():
    fit, answer, prediction, quantities = predicted("log(wage) ~ x", above="2.5")
    row = pd.DataFrame({"x": [0.5]})
    found = bvb.effects.predictions(fit, data=row, target="quantile", q=[0.5], transform="inverse")
    assert abs(float(quantities["50% quantile"].value) - found.summary["estimate"][0]) < 0.1
    above = fit.predict(row, "cdf", at=2.5, transform="inverse")[0]
    assert abs(float(quantities["P(wage > 2.5)"].value) - (1.0 - above)) < 0.05
    ends = fit.predict(row, "quantile", q=[0.25, 0.75], transform="inverse").to_numpy()[0]
    assert f"{ends[0]:.1f} to {ends[1]:.1f}" in prediction.sentence
    assert prediction.response == "wage" and ">wage</p>" in prediction.figure
    assert answer.notes == ()


@pytest.mark.parametrize(
    ("formula", "options", "names"),
    [
        ("count ~ x", {"family": "poisson"}, ["mean", "5% quantile", "25% quantile",
         "50% quantile", "75% quantile", "95% quantile"]),
        ("event ~ x", {"family": "bernoulli"}, ["probability of event = 1"]),
        pytest.param("class ~ x", {"model": bvb.ConditionalMixtureNetwork, "n_experts": 2},
         ["P(class = a)", "P(class = b)", "P(class = c)"], marks=pytest.mark.heavy),
        ("y ~ 1", {"model": bvb.Normal}, []),
    ],
)  # fmt: skip
def test_each_kind_of_response_has_its_quantities(formula, options, names):
    _, _, prediction, quantities = predicted(formula, **options)
    assert list(quantities) == names
    assert (not prediction.figure) == formula.startswith(("event", "class"))


def test_far_from_all_rows_a_prediction_is_an_extrapolation():
    assert predicted("y ~ x", values={"x": "9"})[1].notes == (what_if.EXTRAPOLATION,)
